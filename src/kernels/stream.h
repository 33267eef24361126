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

// Where bytes go that a stream leaves behind: memory that the call's key opens, or, in local calls, that of a peer.
struct Outlet {
  std::uint64_t address = 0, room_bytes = 0;
  std::uint32_t sends = 0;  // 1: a peer's, by the queue pair `qpn` (0: the call's own) and the peer's key `key`
  std::uint32_t key = 0, qpn = 0;
  std::uint32_t unused = 0;

  // Behind what has gone there before: at most 4096 bytes.
  [[nodiscard]] nic::KernelSent put(nic::KernelStep& step, const void* data, std::uint32_t bytes) {
    if (bytes > room_bytes) return nic::KernelSent::refused;
    const nic::KernelSent sent = sends != 0                         ? step.send({address, key, qpn}, data, bytes)
                                 : step.write(address, data, bytes) ? nic::KernelSent::sent
                                                                    : nic::KernelSent::refused;
    if (sent != nic::KernelSent::sent) return sent;
    address += bytes;
    room_bytes -= bytes;
    return sent;
  }
};
static_assert(sizeof(Outlet) == 32);

// What a step answers that has taken so much of its payload.
[[nodiscard]] inline nic::KernelNext after(nic::KernelStep& step, nic::KernelSent sent, std::size_t taken) {
  if (sent == nic::KernelSent::sent) return nic::KernelNext::wait;
  step.taken = static_cast<std::uint32_t>(taken);
  return sent == nic::KernelSent::full ? nic::KernelNext::retry : nic::KernelNext::failed;
}

// Pieces of `size` bytes, whatever the packets are: the rest of one that began in the packet before is kept.
template <std::size_t kMostPiece>
class Pieces {
 public:
  // Calls each(const std::byte* pieces, std::size_t count), for as many at a time as lie together. It says how many it
  // has taken; if they are not all, that was the end. How many bytes are taken: the rest is to come again.
  template <class Each>
  std::size_t take(const std::byte* input, std::size_t bytes, std::size_t size, Each&& each) {
    const std::byte* const begin = input;
    if (kept_ != 0) {
      const std::size_t more = std::min(size - kept_, bytes);
      std::memcpy(piece_ + kept_, input, more);
      kept_ += static_cast<std::uint32_t>(more);
      input += more;
      bytes -= more;
      if (kept_ < size || each(static_cast<const std::byte*>(piece_), std::size_t{1}) == 0)
        return static_cast<std::size_t>(input - begin);
      kept_ = 0;
    }
    const std::size_t count = bytes / size, rest = bytes % size;
    const std::size_t taken = count != 0 ? each(input, count) : 0;
    input += taken * size;
    if (taken != count) return static_cast<std::size_t>(input - begin);
    if (rest != 0) std::memcpy(piece_, input, rest);
    kept_ = static_cast<std::uint32_t>(rest);
    return static_cast<std::size_t>(input - begin) + rest;
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
