// A completion as the card writes it, in the words of verbs.
#pragma once

#include <array>
#include <cstddef>

#include <endian.h>
#include <infiniband/verbs.h>

#include "nic/formats.h"

namespace weft::verbs {

inline ibv_wc_status status_of(const nic::Completion& c) {
  static constexpr std::array table{
      IBV_WC_SUCCESS,     IBV_WC_LOC_LEN_ERR,   IBV_WC_LOC_QP_OP_ERR,     IBV_WC_LOC_PROT_ERR,    IBV_WC_WR_FLUSH_ERR,
      IBV_WC_MW_BIND_ERR, IBV_WC_BAD_RESP_ERR,  IBV_WC_LOC_ACCESS_ERR,    IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_ACCESS_ERR,
      IBV_WC_REM_OP_ERR,  IBV_WC_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_REM_ABORT_ERR,   IBV_WC_FATAL_ERR};
  static_assert(table.size() == static_cast<std::size_t>(nic::Status::fatal) + 1);
  return table[static_cast<std::size_t>(c.status)];
}

inline ibv_wc_opcode opcode_of(const nic::Completion& c) {
  static constexpr std::array table{IBV_WC_SEND,      IBV_WC_RDMA_WRITE, IBV_WC_RDMA_READ,
                                    IBV_WC_COMP_SWAP, IBV_WC_FETCH_ADD,  IBV_WC_BIND_MW,
                                    IBV_WC_LOCAL_INV, IBV_WC_RECV,       IBV_WC_RECV_RDMA_WITH_IMM};
  static_assert(table.size() == static_cast<std::size_t>(nic::CompletionKind::receive_write_immediate) + 1);
  return table[static_cast<std::size_t>(c.kind)];
}

inline unsigned flags_of(const nic::Completion& c) {
  const auto flag = [](bool set, unsigned bit) { return set ? bit : 0U; };
  return flag(c.has_grh, IBV_WC_GRH) | flag(c.has_immediate, IBV_WC_WITH_IMM) |
         flag(c.has_invalidated, IBV_WC_WITH_INV);
}

// Immediate data in network order, or the key that was invalidated, as a number.
inline std::uint32_t immediate_of(const nic::Completion& c) {
  return c.has_immediate ? htobe32(c.immediate) : c.immediate;
}

// Which rule was broken: a Refusal (wire/refusal.h).
inline std::uint32_t vendor_error_of(const nic::Completion& c) { return static_cast<std::uint32_t>(c.reason); }

// What drivers of RoCE cards say in the service level, which RoCE does not have: which header the GRH area holds. UCX
// finds the addresses in it by that.
enum class RouteHeader : std::uint8_t { none = 0, ipv6 = 1, ipv4 = 2 };

inline std::uint8_t service_level_of(const nic::Completion& c, RouteHeader header) {
  return static_cast<std::uint8_t>(c.has_grh ? header : RouteHeader::none);
}

inline void fill(ibv_wc& wc, const nic::Completion& c, RouteHeader header) {
  wc.wr_id = c.id;
  wc.status = status_of(c);
  wc.opcode = opcode_of(c);
  wc.vendor_err = vendor_error_of(c);
  wc.byte_len = c.bytes;
  wc.imm_data = immediate_of(c);
  wc.qp_num = c.qpn.raw();
  wc.src_qp = c.source_qpn.raw();
  wc.wc_flags = flags_of(c);
  wc.pkey_index = 0;
  wc.slid = 0;
  wc.sl = service_level_of(c, header);
  wc.dlid_path_bits = 0;
}

}  // namespace weft::verbs
