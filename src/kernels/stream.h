// What kernels that take a stream have in common: a call that begins it, RPC WRITEs, and a call that asks for the
// result and ends it. Values may lie across packets, and the stream may be kept in the server's memory as it passes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "nic/kernels/kernel.h"

namespace weft::kernels {

// The first bytes of each call to such a kernel.
enum class StreamAsk : std::uint32_t {
  begin,   // parameters follow
  result,  // the answer, and the stream goes on
  finish,  // the answer, and that was all
};

// Pieces of `size` bytes, whatever the packets are: the rest of one that began in the packet before is kept.
template <std::size_t kMostPiece>
class Pieces {
 public:
  // Calls each(const std::byte* pieces, std::size_t count), for as many at a time as lie together; false: it does not
  // want more.
  template <class Each>
  bool take(const std::byte* input, std::size_t bytes, std::size_t size, Each&& each) {
    if (kept_ != 0) {
      const std::size_t more = std::min(size - kept_, bytes);
      std::memcpy(piece_ + kept_, input, more);
      kept_ += static_cast<std::uint32_t>(more);
      input += more;
      bytes -= more;
      if (kept_ < size) return true;
      kept_ = 0;
      if (!each(static_cast<const std::byte*>(piece_), std::size_t{1})) return false;
    }
    const std::size_t count = bytes / size, rest = bytes % size;
    if (count != 0 && !each(input, count)) return false;
    if (rest != 0) std::memcpy(piece_, input + count * size, rest);
    kept_ = static_cast<std::uint32_t>(rest);
    return true;
  }
  // Bytes of a piece whose end has not come.
  [[nodiscard]] std::uint32_t kept() const { return kept_; }

 private:
  std::uint32_t kept_ = 0;
  alignas(8) std::byte piece_[kMostPiece] = {};
};

[[nodiscard]] inline std::uint64_t word_at(const std::byte* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

}  // namespace weft::kernels
