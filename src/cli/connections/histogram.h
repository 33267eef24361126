// How long things took, counted in buckets that are 1/32 wide: a percentile is right within 3 %, and counting costs a
// few instructions.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace weft::connections {

class Histogram {
 public:
  void add(std::uint64_t value) {
    ++buckets_[bucket_of(value)];
    ++count_;
  }
  void clear() {
    buckets_.fill(0);
    count_ = 0;
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }

  // The value that `share` of all do not exceed; 0 if there is none.
  [[nodiscard]] double percentile(double share) const {
    const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(count_));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      seen += buckets_[i];
      if (buckets_[i] > 0 && seen >= wanted) return middle_of(i);
    }
    return 0;
  }

 private:
  static constexpr std::uint32_t kBits = 5;    // of a value that tell buckets apart, below its first one
  static constexpr std::uint32_t kWidth = 44;  // bits of the largest value that is told from larger ones
  static constexpr std::uint64_t kParts = 1U << kBits, kLargest = (std::uint64_t{1} << kWidth) - 1;

  // Small values have a bucket each; others share one with those of the same first six bits.
  static constexpr std::size_t bucket_of(std::uint64_t value) {
    value = std::min(value, kLargest);
    if (value < kParts) return value;
    const auto shift = static_cast<std::uint32_t>(std::bit_width(value)) - 1 - kBits;
    return (shift + 1) * kParts + ((value >> shift) - kParts);
  }
  static constexpr double middle_of(std::size_t bucket) {
    if (bucket < kParts) return static_cast<double>(bucket);
    const std::size_t shift = bucket / kParts - 1;
    const std::uint64_t least = (kParts + bucket % kParts) << shift;
    return static_cast<double>(least) + static_cast<double>((std::uint64_t{1} << shift) - 1) / 2;
  }

  std::array<std::uint64_t, (kWidth - kBits + 1) * kParts> buckets_{};
  std::uint64_t count_ = 0;
};

}  // namespace weft::connections
