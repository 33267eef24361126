#include "verbs/ibverbs/qp_attributes.h"

#include <bit>

#include "verbs/ibverbs/limits.h"
#include "verbs/ibverbs/path.h"
#include "verbs/ibverbs/raw_enum.h"
#include "verbs/ibverbs/rights.h"

namespace weft::verbs {
namespace {

using Mask = host::QpMask;
static_assert(same_number(+Mask::state, IBV_QP_STATE) && same_number(+Mask::current_state, IBV_QP_CUR_STATE));
static_assert(same_number(+Mask::drain_notify, IBV_QP_EN_SQD_ASYNC_NOTIFY));
static_assert(same_number(+Mask::rights, IBV_QP_ACCESS_FLAGS) && same_number(+Mask::port, IBV_QP_PORT));
static_assert(same_number(+Mask::pkey_index, IBV_QP_PKEY_INDEX) && same_number(+Mask::qkey, IBV_QP_QKEY));
static_assert(same_number(+Mask::path, IBV_QP_AV) && same_number(+Mask::mtu, IBV_QP_PATH_MTU));
static_assert(same_number(+Mask::ack_timeout, IBV_QP_TIMEOUT) && same_number(+Mask::retry_count, IBV_QP_RETRY_CNT));
static_assert(same_number(+Mask::rnr_retry, IBV_QP_RNR_RETRY) && same_number(+Mask::receive_psn, IBV_QP_RQ_PSN));
static_assert(same_number(+Mask::max_reads, IBV_QP_MAX_QP_RD_ATOMIC));
static_assert(same_number(+Mask::alternate_path, IBV_QP_ALT_PATH));
static_assert(same_number(+Mask::min_rnr_timer, IBV_QP_MIN_RNR_TIMER) && same_number(+Mask::send_psn, IBV_QP_SQ_PSN));
static_assert(same_number(+Mask::max_peer_reads, IBV_QP_MAX_DEST_RD_ATOMIC));
static_assert(same_number(+Mask::migration, IBV_QP_PATH_MIG_STATE) && same_number(+Mask::capabilities, IBV_QP_CAP));
static_assert(same_number(+Mask::peer_qpn, IBV_QP_DEST_QPN));
static_assert(same_number(nic::QpState::reset, IBV_QPS_RESET) && same_number(nic::QpState::init, IBV_QPS_INIT));
static_assert(same_number(nic::QpState::rtr, IBV_QPS_RTR) && same_number(nic::QpState::rts, IBV_QPS_RTS));
static_assert(same_number(nic::QpState::sqd, IBV_QPS_SQD) && same_number(nic::QpState::sqe, IBV_QPS_SQE));
static_assert(same_number(nic::QpState::error, IBV_QPS_ERR));

constexpr std::uint16_t bytes_of(int mtu) {
  return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? static_cast<std::uint16_t>(128U << mtu) : 0;
}
static_assert(bytes_of(IBV_MTU_256) == 256 && bytes_of(IBV_MTU_4096) == 4096);

bool is_state(int s) { return s >= IBV_QPS_RESET && s <= IBV_QPS_ERR; }

}  // namespace

bool translate(const ibv_qp_attr& from, std::uint32_t& mask, host::QpAttributes& to) {
  const auto given = [&mask](std::uint32_t bit) { return (mask & bit) != 0; };
  if (given(Mask::state) && !is_state(raw(from.qp_state))) return false;
  if (given(Mask::current_state) && !is_state(raw(from.cur_qp_state))) return false;
  // Every path here is the migrated one; to say so asks for nothing.
  if (given(Mask::migration) && raw(from.path_mig_state) == IBV_MIG_MIGRATED) mask &= ~Mask::migration;
  if (given(Mask::path)) {
    PathAttributes path;
    if (!path_of(from.ah_attr, path)) return false;
    to.peer = path.peer;
    to.gid_index = path.gid_index;
    to.traffic_class = path.traffic_class;
    to.service_level = path.service_level;
    to.hop_limit = path.hop_limit;
    to.flow_label = path.flow_label;
    to.udp_source_port = path.udp_source_port;
  }
  to.state = static_cast<nic::QpState>(raw(from.qp_state));
  to.current_state = static_cast<nic::QpState>(raw(from.cur_qp_state));
  to.rights = rights_of(from.qp_access_flags);
  to.mtu = bytes_of(raw(from.path_mtu));
  to.peer_qpn = wire::Qpn(from.dest_qp_num);
  to.receive_psn = wire::Psn(from.rq_psn);
  to.send_psn = wire::Psn(from.sq_psn);
  to.qkey = wire::Qkey(from.qkey);
  to.pkey_index = from.pkey_index;
  to.port = from.port_num;
  to.ack_timeout = from.timeout;
  to.retry_count = from.retry_cnt;
  to.rnr_retry = from.rnr_retry;
  to.min_rnr_timer = from.min_rnr_timer;
  to.max_reads = from.max_rd_atomic;
  to.max_peer_reads = from.max_dest_rd_atomic;
  to.drain_notify = from.en_sqd_async_notify != 0;
  return true;
}

ibv_qp_attr translate(const host::QpAttributes& from) {
  ibv_qp_attr to{};
  to.qp_state = static_cast<ibv_qp_state>(from.state);
  to.cur_qp_state = static_cast<ibv_qp_state>(from.current_state);
  to.path_mtu = static_cast<ibv_mtu>(std::countr_zero(from.mtu) - 7);
  to.path_mig_state = IBV_MIG_MIGRATED;
  to.qkey = from.qkey.raw();
  to.rq_psn = from.receive_psn.raw();
  to.sq_psn = from.send_psn.raw();
  to.dest_qp_num = from.peer_qpn.raw();
  to.qp_access_flags = static_cast<unsigned>(from.rights);
  ibv_global_route& grh = to.ah_attr.grh;
  std::copy(from.peer.bytes.begin(), from.peer.bytes.end(), grh.dgid.raw);
  grh.flow_label = from.flow_label;
  grh.sgid_index = from.gid_index;
  grh.hop_limit = from.hop_limit;
  grh.traffic_class = from.traffic_class;
  to.ah_attr.is_global = 1;
  to.ah_attr.sl = from.service_level;
  to.ah_attr.port_num = to.port_num = kPort;
  to.pkey_index = from.pkey_index;
  to.en_sqd_async_notify = from.drain_notify;
  to.sq_draining = from.draining;
  to.max_rd_atomic = from.max_reads;
  to.max_dest_rd_atomic = from.max_peer_reads;
  to.min_rnr_timer = from.min_rnr_timer;
  to.timeout = from.ack_timeout;
  to.retry_cnt = from.retry_count;
  to.rnr_retry = from.rnr_retry;
  return to;
}

ibv_qp_cap capabilities_of(const host::QpOptions& o) {
  const host::QpLimits& l = o.limits;
  return {.max_send_wr = l.send_entries,
          .max_recv_wr = o.srq != nullptr ? 0 : l.receive_entries,
          .max_send_sge = l.send_sges,
          .max_recv_sge = o.srq != nullptr ? 0 : l.receive_sges,
          .max_inline_data = l.inline_bytes};
}

}  // namespace weft::verbs
