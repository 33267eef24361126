// From what a program asks for to a work entry: every check, then the entry at its place in the ring.
// Who asks is read where it lies: a WorkRequest (poster.cc) or verbs' own (verbs/ibverbs/post.cc), so that nothing is
// built in between. A `Source` has
//   id(), kind(), flags()   the last of nic::WorkFlags;
//   sges(), pieces()        lists, by size() and [], of nic::Sge and, if the flags say so, of inline nic::Fragment;
//   to()                    where a datagram goes;
//   aim(work, context)      writes what each kind has of its own: word, key and target, which are zeros before.
#pragma once

#include <cstdint>
#include <cstring>
#include <new>

#include "host/error.h"
#include "nic/card_state.h"
#include "nic/ring_entry.h"
#include "nic/world.h"

namespace weft::host {

// Calls of the peer's kernels. What only the card posts is no program's.
[[nodiscard]] inline Error judge_call(const nic::Context& c, nic::WorkKind kind, std::uint64_t length) {
  if (!nic::is_call(kind)) return Error::invalid_argument;
  if (c.service != wire::Service::rc || !c.may_call || c.dialect == nic::Dialect::star) return Error::not_supported;
  if (kind == nic::WorkKind::rpc_write) return Error::none;
  if (length < sizeof(nic::CallHead)) return Error::invalid_argument;
  return length > nic::path_mtu(c) ? Error::limit_exceeded : Error::none;
}

template <class Source>
[[nodiscard]] Error judge_work(const nic::Context& c, const nic::PortAttributes& port, const Source& from,
                               std::uint64_t& length) {
  const nic::WorkKind kind = from.kind();
  const auto sges = from.sges();
  if (sges.size() > c.max_send_sges) return Error::invalid_argument;
  length = 0;
  if ((from.flags() & nic::WorkFlags::inline_data) != 0) {
    const auto pieces = from.pieces();
    for (std::size_t i = 0; i < pieces.size(); ++i) length += pieces[i].bytes;
    if (length > c.max_inline) return Error::invalid_argument;
    if (nic::reads_back(kind) || nic::is_local(kind)) return Error::invalid_argument;
  } else {
    // Most work has one element, and a vectorized loop costs more to enter than that.
    if (sges.size() == 1) {
      length = sges[0].length;
    } else {
      for (std::size_t i = 0; i < sges.size(); ++i) length += sges[i].length;
    }
  }
  if (length > nic::kMaxMessage) return Error::invalid_argument;
  if (kind >= nic::WorkKind::rpc) [[unlikely]]
    return judge_call(c, kind, length);
  if (c.service == wire::Service::ud) [[unlikely]] {
    if (kind != nic::WorkKind::send && kind != nic::WorkKind::send_immediate) return Error::invalid_argument;
    return port.reaches(from.to().destination, from.to().gid_index) ? Error::none : Error::invalid_argument;
  }
  if (c.service == wire::Service::uc) [[unlikely]] {
    if (nic::reads_back(kind) || kind == nic::WorkKind::send_invalidate) return Error::invalid_argument;
  }
  if (nic::is_atomic(kind) && length != 8) return Error::invalid_argument;
  return Error::none;
}

// Whoever calls it sees to the doorbell.
template <class Source>
[[nodiscard]] Error write_work(nic::Context& c, const nic::PortAttributes& port, const Source& from) {
  using nic::QpState;
  if (c.state == QpState::reset || c.state == QpState::init || c.state == QpState::rtr) [[unlikely]]
    return Error::bad_state;
  std::uint64_t length = 0;
  if (const Error e = judge_work(c, port, from, length); e != Error::none) return e;
  if (c.sq_posted - c.sq_done >= 1U << (c.sq_shift - c.serves)) [[unlikely]]
    return Error::queue_full;

  std::byte* const entry = nic::ring_entry(c.sq, c.sq_posted, c.sq_shift, c.sq_stride);
  const bool is_inline = (from.flags() & nic::WorkFlags::inline_data) != 0;
  const std::size_t count = is_inline ? 0 : from.sges().size();
  // In place: built elsewhere and copied, it would stall on its own bytes.
  nic::Work& w = *new (entry) nic::Work(from.id(), from.kind(), from.flags(), static_cast<std::uint8_t>(count),
                                        static_cast<std::uint32_t>(length));
  from.aim(w, c);
  std::byte* tail = entry + sizeof w;
  if (is_inline) {
    const auto pieces = from.pieces();
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const nic::Fragment f = pieces[i];
      std::memcpy(tail, f.data, f.bytes);
      tail += f.bytes;
    }
  } else {
    const auto sges = from.sges();
    for (std::size_t i = 0; i < count; ++i) {
      const nic::Sge s = sges[i];
      std::memcpy(tail, &s, sizeof s);
      tail += sizeof s;
    }
  }
  ++c.sq_posted;
  return Error::none;
}

// What every Source writes of a datagram, whose queue pair is scheduled by the service level of the last one posted.
inline void aim_datagram(nic::Work& w, nic::Context& c, const nic::AddressVector& to, std::uint8_t service_level,
                         wire::Qpn qpn, wire::Qkey qkey) {
  w.key = qpn.raw();
  w.datagram = {to, qkey.raw()};
  c.service_level = static_cast<std::uint8_t>(service_level % nic::kServiceLevels);
}

}  // namespace weft::host
