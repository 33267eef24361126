// The memory that messages come from and go to. As with perftest every connection has a buffer of its own, up to
// 256 MiB; beyond that connections share buffers in turn.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::connections {

class Buffers {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20;

  Buffers(std::uint32_t connections, std::uint32_t bytes)
      : stride_((std::size_t{bytes} + 63) / 64 * 64),
        count_(static_cast<std::uint32_t>(std::min<std::size_t>(connections, kMostBytes / stride_))),
        memory_(count_ * stride_),  // written, so that each page is there
        base_(std::bit_cast<std::uintptr_t>(memory_.data())) {}

  Buffers(const Buffers&) = delete;  // the base is of this memory
  Buffers& operator=(const Buffers&) = delete;

  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] std::span<std::byte> memory() { return memory_; }
  [[nodiscard]] std::uint64_t base() const { return base_; }
  // From the beginning to the buffer of this connection.
  [[nodiscard]] std::uint64_t offset(std::uint32_t connection) const {
    return (connection < count_ ? connection : connection % count_) * stride_;
  }

 private:
  std::size_t stride_;
  std::uint32_t count_;
  std::vector<std::byte> memory_;
  std::uint64_t base_;
};

}  // namespace weft::connections
