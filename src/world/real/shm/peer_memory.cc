#include "world/real/shm/peer_memory.h"

#include <bit>

#include "world/real/os/clock.h"
#include "world/real/os/processes.h"

namespace weft::real {

bool PeerReads::add(std::byte* to, std::uint64_t from, std::size_t bytes) {
  if (size_ == here_.size()) return false;
  here_[size_] = {to, bytes};
  there_[size_] = {std::bit_cast<void*>(from), bytes};
  ++size_;
  bytes_ += bytes;
  return true;
}

bool PeerMemory::is_there() {
  const Time now = clock_now();
  std::array<std::byte, sizeof token_.value> bytes{};
  PeerReads token;
  (void)token.add(bytes.data(), token_.address, bytes.size());
  if (token_.process == 0 || copy(token) != 1 || std::bit_cast<std::uint64_t>(bytes) != token_.value) return false;
  seen_ = now;
  return true;
}

// The clock is read after the copy: who was stopped in between has to look again.
std::size_t PeerMemory::read(const PeerReads& reads) {
  const std::size_t copied = copy(reads);
  return copied > 0 && (clock_now() - seen_ < kSure || is_there()) ? copied : 0;
}

std::size_t PeerMemory::copy(const PeerReads& reads) const {
  const ssize_t n = read_memory_of(token_.process, reads.here_.data(), reads.there_.data(), reads.size_);
  std::size_t whole = 0;
  for (auto left = n; whole < reads.size_ && left >= static_cast<ssize_t>(reads.here_[whole].iov_len); ++whole) {
    left -= static_cast<ssize_t>(reads.here_[whole].iov_len);
  }
  return whole;
}

}  // namespace weft::real
