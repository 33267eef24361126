// The responder's half of a stream in recovery: which packets are here. When the oldest missing one has come, the card
// may move on to the next gap.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "host/recovery/bitmap.h"

namespace weft::host {

class ReceiverRecord {
 public:
  ReceiverRecord() = default;
  explicit ReceiverRecord(wire::Psn expected) { restart(expected); }
  void restart(wire::Psn expected);

  // A packet is here. The new expected PSN, if that changes it.
  [[nodiscard]] std::optional<wire::Psn> arrived(wire::Psn psn, wire::Psn expected);

  // For requesters that keep no bitmaps: ranges that they must be told of now.
  struct Gap {
    wire::Psn psn;
    std::uint16_t count;
  };
  template <class Tell>
  void each_new_gap(Tell&& tell) {
    for (const Gap& gap : news_) tell(gap);
    news_.clear();
  }

  [[nodiscard]] std::size_t bytes() const { return sizeof *this; }

 private:
  struct Hole {
    wire::Psn psn;
    std::uint32_t told;  // in which order requesters were told; 0: not yet, it may only be late
  };
  static constexpr std::int32_t kRoom = 3;  // packets that may overtake one that is not lost (nic/congestion/peers.h)
  void note(wire::Psn psn);
  void note_gap(wire::Psn from, wire::Psn end);
  void tell_of_lost();
  void tell(Hole& hole);
  void note_filled(wire::Psn psn);
  void move_base(wire::Psn to);

  wire::Psn base_{}, end_{};  // expected; one past the newest
  PacketBitmap here_;
  std::vector<Hole> holes_;
  std::vector<Gap> news_;
  std::uint32_t tellings_ = 0;
};

}  // namespace weft::host
