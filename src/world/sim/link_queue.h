// The queue in front of a link that can be paused, or whose packets stand in a buffer with an end until they have left.
// Other links need none: on them it is known when a packet is offered when it will arrive (link.h).
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <deque>
#include <utility>

#include "base/time.h"
#include "world/sim/parcel.h"

namespace weft::sim {

using LinkIndex = std::uint32_t;
inline constexpr LinkIndex kNoLink = 0xFFFF'FFFF;

class LinkQueue {
 public:
  struct Packet {
    ParcelId id{};
    std::uint32_t bytes = 0;
    LinkIndex share = kNoLink;  // of the switch's buffer that it stands in (shared_buffer.h)
    Time earliest = 0;
  };

  // `back`: the link the other way, which says that this one should pause.
  explicit LinkQueue(LinkIndex back) : back_(back) {}
  [[nodiscard]] LinkIndex back() const { return back_; }

  void add(const Packet& packet) {
    bytes_ += packet.bytes;
    waiting_.push_back(packet);
  }
  [[nodiscard]] bool has_next() const { return !paused_ && !waiting_.empty(); }
  // When the first may leave, if the wire is free.
  [[nodiscard]] Time next_at() const { return std::max(waiting_.front().earliest, open_since_); }
  // The first packet goes onto the wire, and is in the buffer until it has left.
  ParcelId take_next() {
    assert(has_next() && on_wire_.share == kNoLink);
    on_wire_ = waiting_.front();
    waiting_.pop_front();
    bytes_ -= on_wire_.bytes;
    return on_wire_.id;
  }
  Packet take_left() { return std::exchange(on_wire_, {}); }
  [[nodiscard]] std::uint32_t bytes() const { return bytes_; }  // that wait

  void pause(Time now) {
    if (!std::exchange(paused_, true)) paused_since_ = now;
  }
  void go_on(Time now) {
    if (!std::exchange(paused_, false)) return;
    open_since_ = now;
    paused_for_ += now - paused_since_;
  }
  [[nodiscard]] bool paused() const { return paused_; }
  // All pauses until now.
  [[nodiscard]] Time paused_for(Time now) const { return paused_for_ + (paused_ ? now - paused_since_ : 0); }

  // When the wire is free again: for the next packet, or to make room for others.
  [[nodiscard]] bool has_to_look() const { return has_next() || on_wire_.share != kNoLink; }
  // Does nobody look after it by then? Then somebody will.
  [[nodiscard]] bool look_at(Time at) {
    if (at >= look_at_) return false;
    look_at_ = at;
    return true;
  }
  void looked(Time now) {
    if (look_at_ <= now) look_at_ = kNever;
  }

 private:
  LinkIndex back_;
  std::deque<Packet> waiting_;
  std::uint32_t bytes_ = 0;
  Packet on_wire_;
  bool paused_ = false;
  Time paused_since_ = 0, paused_for_ = 0, open_since_ = 0;
  Time look_at_ = kNever;
};

}  // namespace weft::sim
