// Public values and the card's own. They are of different types so that programs depend on no header of ours; where
// they are the same numbers, the compiler checks that here.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>

#include "host/error.h"
#include "host/queue_pair.h"
#include "nic/formats.h"
#include "nic/rights.h"
#include "nic/world.h"
#include "weft/completion_queue.h"
#include "weft/event.h"
#include "weft/queue_pair.h"
#include "weft/work.h"
#include "wire/grh.h"
#include "wire/types.h"

namespace weft::native {

template <class A, class B>
constexpr bool same(A a, B b) {
  return static_cast<std::uint64_t>(a) == static_cast<std::uint64_t>(b);
}
static_assert(same(Error::invalid_argument, host::Error::invalid_argument));
static_assert(same(Error::not_supported, host::Error::not_supported) &&
              same(Error::queue_full, host::Error::queue_full));
static_assert(same(Access::local_write, nic::Rights::local_write) && same(kRemoteAccess, nic::kRemoteRights));
static_assert(same(Access::bind_window, nic::Rights::bind_window) && same(Access::zero_based, nic::Rights::zero_based));
static_assert(same(Service::rc, wire::Service::rc) && same(Service::uc, wire::Service::uc));
static_assert(same(Service::ud, wire::Service::ud));
static_assert(same(QpState::reset, nic::QpState::reset) && same(QpState::ready_to_send, nic::QpState::rts));
static_assert(same(QpState::send_queue_error, nic::QpState::sqe) && same(QpState::error, nic::QpState::error));
static_assert(same(QpMask::state, host::QpMask::state) && same(QpMask::peer_qpn, host::QpMask::peer_qpn));
static_assert(same(QpMask::min_rnr_timer, host::QpMask::min_rnr_timer) && same(QpMask::path, host::QpMask::path));
static_assert(same(Verb::send, nic::WorkKind::send) && same(Verb::read, nic::WorkKind::read));
static_assert(same(Verb::local_invalidate, nic::WorkKind::local_invalidate));
static_assert(same(Verb::bind_window, nic::WorkKind::bind_window));
static_assert(same(Verb::rpc, nic::WorkKind::rpc) && same(Verb::rpc_write, nic::WorkKind::rpc_write));
static_assert(same(CompletionStatus::flushed, nic::Status::flushed) &&
              same(CompletionStatus::fatal, nic::Status::fatal));
static_assert(same(CompletionKind::receive_write_immediate, nic::CompletionKind::receive_write_immediate));
static_assert(same(Event::cq_error, nic::EventKind::cq_error) && same(Event::srq_error, nic::EventKind::srq_error));
static_assert(kGrhBytes == wire::kGrhBytes);

// The same numbers in the same width: made from the largest value, both keep all that the other keeps.
template <class Public, class Ours>
constexpr bool same_numbers = Public(0xFFFF'FFFF).raw() == Ours(0xFFFF'FFFF).raw() && Public().raw() == Ours().raw();
static_assert(same_numbers<Qpn, wire::Qpn> && same_numbers<Psn, wire::Psn> && same_numbers<Key, wire::Key> &&
              same_numbers<Qkey, wire::Qkey>);

static_assert(sizeof(Sge) == sizeof(nic::Sge) && offsetof(Sge, length) == offsetof(nic::Sge, length) &&
              offsetof(Sge, key) == offsetof(nic::Sge, key));

constexpr wire::Qpn ours(Qpn n) { return wire::Qpn(n.raw()); }
constexpr wire::Psn ours(Psn n) { return wire::Psn(n.raw()); }
constexpr wire::Key ours(Key n) { return wire::Key(n.raw()); }
constexpr wire::Qkey ours(Qkey n) { return wire::Qkey(n.raw()); }
constexpr wire::Address ours(const Address& a) { return {a.bytes}; }
constexpr nic::Rights ours(Access a) { return static_cast<nic::Rights>(a); }
constexpr nic::Sge ours(const Sge& s) { return std::bit_cast<nic::Sge>(s); }

constexpr Qpn theirs(wire::Qpn n) { return Qpn(n.raw()); }
constexpr Psn theirs(wire::Psn n) { return Psn(n.raw()); }
constexpr Key theirs(wire::Key n) { return Key(n.raw()); }
constexpr Qkey theirs(wire::Qkey n) { return Qkey(n.raw()); }
constexpr Address theirs(const wire::Address& a) { return {a.bytes}; }
constexpr Access theirs(nic::Rights r) { return static_cast<Access>(r); }

host::QpAttributes ours(const QpAttributes& a);
QpAttributes theirs(const host::QpAttributes& a);

// Room for the elements of one work request, on the stack and not written to before it is used.
template <class T>
class Elements {
 public:
  Elements() {}  // NOLINT(modernize-use-equals-default): a defaulted one would be deleted
  // False: more than any queue pair takes.
  template <class List>
  [[nodiscard]] bool assign(const List& list) {
    if (list.size() > nic::kMaxSges) return false;
    for (const auto& item : list) std::construct_at(&items_[size_++], convert(item));
    return true;
  }
  [[nodiscard]] std::span<const T> span() const { return {items_, size_}; }

 private:
  static nic::Sge convert(const Sge& sge) { return ours(sge); }
  static nic::Fragment convert(Bytes piece) {  // what is too long for 32 bits is too long anyway
    return {piece.data(), static_cast<std::uint32_t>(std::min<std::size_t>(piece.size(), UINT32_MAX))};
  }

  union {
    T items_[nic::kMaxSges];
  };
  std::size_t size_ = 0;
};

}  // namespace weft::native
