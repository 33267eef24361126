// How long payloads reach this lane from another program by shared memory. Two ways compete:
//   ring:      the sender copies them into the ring while the receiver copies earlier ones out of it;
//   one copy:  the receiver has the kernel copy them from the sender's memory.
// The first keeps two processors busy, the second makes one copy but must find and pin pages. Which one is faster
// differs from processor to processor, so the receiver measures both on the traffic itself and asks for the faster one.
// A pure machine: bytes and ticks come in, the way to ask for comes out.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace weft::real {

// Ticks that `bytes` would have taken per kCostBytes: the unit of all costs here. No bytes say nothing of it: 0.
inline constexpr std::uint64_t kCostBytes = 64 * 1024;
constexpr std::uint32_t copy_cost(std::uint64_t ticks, std::uint64_t bytes) {
  if (bytes == 0) return 0;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(ticks * kCostBytes / bytes, ~std::uint32_t{0}));
}

class CopyChoice {
 public:
  enum class Way : std::uint8_t { ring, one_copy };

  static constexpr std::uint64_t kSample = 256 * 1024;            // bytes whose time is one sample
  static constexpr std::size_t kSamples = 8;                      // a trial takes so many; its median counts
  static constexpr std::uint64_t kKept = std::uint64_t{1} << 30;  // bytes between two trials
  static constexpr std::uint32_t kBetter = 20;                    // the other way must be cheaper by 1/20

  // Ring and one copy are both possible: the first trial begins.
  void begin() { phase_ = Phase::chosen_way; }
  // Only the ring is left.
  void end() { *this = {}; }

  // What the sender should do.
  [[nodiscard]] Way wanted() const { return phase_ == Phase::other_way ? other(chosen_) : chosen_; }
  // Whether took() wants to hear how long things take.
  [[nodiscard]] bool measures() const { return phase_ == Phase::chosen_way || phase_ == Phase::other_way; }

  // A long payload has come.
  void came(Way way, std::uint64_t bytes) {
    if (phase_ == Phase::keeps) {
      if ((kept_ += bytes) >= kKept) start(Phase::chosen_way);
      return;
    }
    (way == wanted() ? bytes_ : foreign_) += bytes;
  }
  // What has come since the last call took so many ticks to be carried out. `senders` is what writing to the ring costs
  // the sender; 0: not known. True: wanted() has changed.
  bool took(std::uint64_t ticks, std::uint32_t senders) {
    const bool mixed = std::exchange(foreign_, 0) != 0;  // of the other way, sent before the sender changed it
    if (mixed || bytes_ == sampled_) {
      bytes_ = sampled_;
      return false;
    }
    sampled_ = bytes_;
    ticks_ += ticks;
    if (bytes_ < kSample) return false;
    samples_[count_++] = copy_cost(ticks_, bytes_);
    bytes_ = sampled_ = ticks_ = 0;
    return count_ == kSamples && finish_trial(senders);
  }

 private:
  enum class Phase : std::uint8_t { off, chosen_way, other_way, keeps };
  static constexpr Way other(Way way) { return way == Way::ring ? Way::one_copy : Way::ring; }

  void start(Phase phase) {
    phase_ = phase;
    count_ = 0;
    bytes_ = sampled_ = foreign_ = ticks_ = kept_ = 0;
  }
  // In the ring both ends copy at the same time: the slower one decides.
  bool finish_trial(std::uint32_t senders) {
    std::nth_element(samples_.begin(), samples_.begin() + kSamples / 2, samples_.end());
    std::uint32_t cost = samples_[kSamples / 2];
    if (wanted() == Way::ring) cost = std::max(cost, senders);
    const Way before = wanted();
    if (phase_ == Phase::chosen_way) {
      cost_ = cost;
      start(Phase::other_way);
    } else {
      if (cost < cost_ - cost_ / kBetter) chosen_ = other(chosen_);
      start(Phase::keeps);
    }
    return wanted() != before;
  }

  Phase phase_ = Phase::off;
  Way chosen_ = Way::ring;
  std::size_t count_ = 0;
  std::array<std::uint32_t, kSamples> samples_{};
  std::uint32_t cost_ = 0;                               // of the chosen way, in this trial
  std::uint64_t bytes_ = 0, sampled_ = 0, foreign_ = 0;  // of this sample; with their ticks; the other way
  std::uint64_t ticks_ = 0, kept_ = 0;
};

}  // namespace weft::real
