// The memory of a program in a scene. What lies there says what it is: bytes of a message, bytes that the program wrote
// when the memory was its own again, or nothing yet. So a payload that was fetched too late shows.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "world/random.h"

namespace weft::scene {

enum class Tag : std::uint8_t { nothing = 0, message = 0x40, reused = 0x80 };

// The two highest bits of every byte are the tag; the others follow from the seed.
class Pattern {
 public:
  Pattern(Tag tag, std::uint64_t seed) : tag_(std::uint64_t{0x0101'0101'0101'0101} * static_cast<std::uint8_t>(tag)) {
    word_ = tag == Tag::nothing ? 0 : world::mix64(seed + world::kGolden);
    step_ = tag == Tag::nothing ? 0 : world::kGolden;
  }
  void write(std::span<std::byte> to) const {
    Pattern at = *this;
    for (std::size_t i = 0; i < to.size(); i += 8) {
      const std::uint64_t word = at.next();
      std::memcpy(to.data() + i, &word, std::min<std::size_t>(8, to.size() - i));
    }
  }
  // Where the first byte is that is not of this pattern; the size if there is none.
  [[nodiscard]] std::size_t differs_at(std::span<const std::byte> from) const {
    Pattern at = *this;
    for (std::size_t i = 0; i < from.size(); i += 8) {
      const std::uint64_t word = at.next();
      const std::size_t bytes = std::min<std::size_t>(8, from.size() - i);
      if (std::memcmp(from.data() + i, &word, bytes) == 0) continue;
      std::size_t j = i;
      while (std::memcmp(from.data() + j, static_cast<const char*>(static_cast<const void*>(&word)) + (j - i), 1) == 0)
        ++j;
      return j;
    }
    return from.size();
  }

 private:
  std::uint64_t next() {
    word_ += step_;
    return (word_ & 0x3F3F'3F3F'3F3F'3F3F) | tag_;
  }

  std::uint64_t tag_, word_ = 0, step_ = 0;
};

// Bytes of a program, by offset. Their addresses are the same in every run.
class Arena {
 public:
  static constexpr std::size_t kGuard = 64;

  explicit Arena(std::size_t lane) : address_((std::uint64_t{lane} + 1) << 40) {}

  // To be called before make().
  std::size_t take(std::size_t bytes) {
    const std::size_t at = size_;
    size_ += (bytes + 2 * kGuard - 1) / kGuard * kGuard;
    return at;
  }
  void make() { words_.assign(size_ / 8 + 1, 0); }

  [[nodiscard]] std::span<std::byte> bytes(std::size_t offset, std::size_t length) {
    assert(offset + length <= size_);
    return std::as_writable_bytes(std::span(words_)).subspan(offset, length);
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::uint64_t address_of(std::size_t offset) const { return address_ + offset; }

 private:
  std::uint64_t address_;
  std::size_t size_ = kGuard;
  std::vector<std::uint64_t> words_;
};

}  // namespace weft::scene
