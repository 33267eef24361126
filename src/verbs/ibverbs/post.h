// From verbs' work requests to the host's: shared by ibv_post_send, ibv_bind_mw and the builders of ibv_wr_*.
#pragma once

#include "verbs/ibverbs/objects.h"

namespace weft::verbs {

// As nic::WorkFlags, which have verbs' numbers.
constexpr std::uint8_t work_flags(unsigned flags) {
  using F = nic::WorkFlags;
  static_assert(F::signaled == IBV_SEND_SIGNALED && F::solicited == IBV_SEND_SOLICITED);
  static_assert(F::fence == IBV_SEND_FENCE && F::inline_data == IBV_SEND_INLINE);
  return static_cast<std::uint8_t>(flags & (F::signaled | F::solicited | F::fence | F::inline_data));
}

// The same without inline data, which a WorkRequest names itself.
inline void set_flags(host::WorkRequest& r, unsigned flags) {
  r.signaled = (flags & IBV_SEND_SIGNALED) != 0;
  r.solicited = (flags & IBV_SEND_SOLICITED) != 0;
  r.fence = (flags & IBV_SEND_FENCE) != 0;
}

inline void set_destination(host::WorkRequest& r, ibv_ah& ah, std::uint32_t qpn, std::uint32_t qkey) {
  r.to = ours(&ah).to;
  r.hop_limit = ours(&ah).hop_limit;
  r.service_level = ours(&ah).service_level;
  r.remote_qpn = wire::Qpn(qpn);
  r.remote_qkey = wire::Qkey(qkey);
}

// 0 or errno.
[[nodiscard]] int set_binding(nic::WindowBinding& binding, ibv_mw& mw, std::uint32_t new_key,
                              const ibv_mw_bind_info& info);

inline nic::Sge sge_of(const ibv_sge& s) { return {s.addr, s.length, wire::Key(s.lkey)}; }

// Elements of a verbs list, as the card's.
struct SgeList {
  const ibv_sge* first;
  std::size_t count;
  [[nodiscard]] std::size_t size() const { return count; }
  [[nodiscard]] nic::Sge operator[](std::size_t i) const { return sge_of(first[i]); }
};

}  // namespace weft::verbs
