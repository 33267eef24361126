// Buffers for the payload of packets in flight, in size classes of 64 bytes to 16 KB. Memory comes in slabs and is
// kept: once the most that was ever in flight has been seen, nothing is allocated.
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "world/sim/poison.h"

namespace weft::sim {

class PayloadPool {
 public:
  static constexpr std::uint32_t kMaxBytes = 16 * 1024;

  struct Buffer {
    std::byte* data = nullptr;
    std::uint8_t size_class = 0;
  };

  Buffer take(std::uint32_t bytes) {
    assert(bytes <= kMaxBytes);
    const std::uint8_t size_class = class_of(bytes);
    std::vector<std::byte*>& free = free_[size_class];
    if (free.empty()) add_slab(size_class);
    std::byte* data = free.back();
    free.pop_back();
    unpoison(data, class_bytes(size_class));
    ++outstanding_;
    return {data, size_class};
  }

  void give_back(Buffer buffer) {
    assert(outstanding_ > 0);
    --outstanding_;
    poison(buffer.data, class_bytes(buffer.size_class));
    free_[buffer.size_class].push_back(buffer.data);
  }

  [[nodiscard]] std::size_t outstanding() const { return outstanding_; }
  [[nodiscard]] std::size_t bytes() const { return slabs_.size() * kSlabBytes; }

 private:
  static constexpr std::uint32_t kLine = 64;
  static constexpr std::size_t kClasses = 9;
  static constexpr std::size_t kSlabBytes = 64 * 1024;
  struct alignas(kLine) Line {
    std::array<std::byte, kLine> bytes;
  };

  static constexpr std::size_t class_bytes(std::uint8_t size_class) { return std::size_t{kLine} << size_class; }
  static constexpr std::uint8_t class_of(std::uint32_t bytes) {
    return static_cast<std::uint8_t>(bytes <= kLine ? 0 : std::bit_width((bytes - 1) / kLine));
  }

  void add_slab(std::uint8_t size_class) {
    slabs_.push_back(std::make_unique_for_overwrite<Line[]>(kSlabBytes / kLine));
    std::byte* start = slabs_.back()[0].bytes.data();
    const std::size_t step = class_bytes(size_class);
    for (std::size_t at = kSlabBytes; at > 0; at -= step) free_[size_class].push_back(start + at - step);
    poison(start, kSlabBytes);
  }

  std::array<std::vector<std::byte*>, kClasses> free_;  // last given, first taken: it is still in the cache
  std::vector<std::unique_ptr<Line[]>> slabs_;
  std::size_t outstanding_ = 0;
};

}  // namespace weft::sim
