// The packet memory of a switch: one for all its ports, in which each has a share that shrinks as the memory fills (a
// dynamic threshold). Without PFC the shares are those of the ways out, and what goes beyond a share is dropped. With
// PFC they are those of the ways in: what goes beyond goes to the headroom that each way in has for itself, and the
// neighbour is paused until nothing is there any more. So do switches with SONiC (Azure, NSDI 2023, section 6.2).
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <vector>

#include "world/sim/link_queue.h"

namespace weft::sim {

// At least the bytes of the largest packet on the wire: its payload, and more than all headers.
inline constexpr std::uint32_t kLargestPacket = 4096 + 160;

struct BufferSpec {
  std::uint64_t bytes = 0;  // 0: without end
  double alpha = 0;         // a share is so much of what is free
  bool pause = false;       // PFC
};

class SharedBuffer {
 public:
  explicit SharedBuffer(const BufferSpec& spec) : spec_(spec), free_(spec.bytes) {}
  [[nodiscard]] bool pauses() const { return spec_.pause; }

  // A port's share, and the headroom of its way in. False: they have no room.
  [[nodiscard]] bool add(LinkIndex link, std::uint64_t headroom) {
    if (headroom > free_) return false;
    free_ -= headroom;
    if (shares_.size() <= link) shares_.resize(link + std::size_t{1});
    shares_[link].headroom = headroom;
    return true;
  }

  // False: there is no room.
  [[nodiscard]] bool take(LinkIndex link, std::uint32_t bytes) {
    Share& share = shares_[link];
    if (share.above == 0 && share.shared + bytes <= threshold()) {
      assert(bytes <= free_);
      free_ -= bytes;
      share.shared += bytes;
      return true;
    }
    if (share.above + bytes > share.headroom) return false;
    share.above += bytes;
    return true;
  }
  void give_back(LinkIndex link, std::uint32_t bytes) {
    Share& share = shares_[link];
    const std::uint64_t above = std::min<std::uint64_t>(share.above, bytes);
    assert(share.shared >= bytes - above);
    share.above -= above;
    share.shared -= bytes - above;
    free_ += bytes - above;
  }

  // The neighbour at the other end of this way in is to be paused, and is not yet.
  [[nodiscard]] bool begins_pause(LinkIndex link) {
    Share& share = shares_[link];
    if (share.above == 0 || share.paused) return false;
    share.paused = true;
    paused_.push_back(link);
    return true;
  }
  // Calls go_on(link) for all that need not wait any longer: whose share has room for two packets again, as in DCQCN's
  // testbed (SIGCOMM 2015, section 4), or that have nothing here.
  template <class GoOn>
  void end_pauses(GoOn&& go_on) {
    std::erase_if(paused_, [&](LinkIndex link) {
      Share& share = shares_[link];
      if (share.above > 0 || (share.shared > 0 && share.shared + 2 * kLargestPacket > threshold())) return false;
      share.paused = false;
      go_on(link);
      return true;
    });
  }

 private:
  struct Share {
    std::uint64_t shared = 0, above = 0, headroom = 0;
    bool paused = false;
  };
  [[nodiscard]] std::uint64_t threshold() const {
    return std::min(free_, static_cast<std::uint64_t>(spec_.alpha * static_cast<double>(free_)));
  }

  BufferSpec spec_;
  std::uint64_t free_;
  std::vector<Share> shares_;  // by link
  std::vector<LinkIndex> paused_;
};

}  // namespace weft::sim
