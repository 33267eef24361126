// The memory of another program on this host, which the kernel copies from when it is asked to (process_vm_readv).
// Whether it does is for the kernel to say: not for another user's program, nor where tracing is restricted. And a
// process number may mean somebody else, in another container or after its owner has ended. So the other program keeps
// a number that nobody can guess at an address that it tells, and that is read again whenever it has not been for a
// while: the kernel gives out all other numbers before it gives out one again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <sys/uio.h>

#include "nic/world.h"
#include "world/real/os/time.h"

namespace weft::real {

// What is to be read from there with one call, in this order.
class PeerReads {
 public:
  // False: that would be too many.
  [[nodiscard]] bool add(std::byte* to, std::uint64_t from, std::size_t bytes);
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  friend class PeerMemory;
  std::array<iovec, nic::kOneCopyPieces> here_, there_;
  std::size_t size_ = 0, bytes_ = 0;
};

class PeerMemory {
 public:
  // How a program is known again: process 0 is none.
  struct Token {
    std::int32_t process = 0;
    std::uint64_t address = 0, value = 0;
  };

  PeerMemory() = default;
  explicit PeerMemory(const Token& token) : token_(token) {}

  // Can it be read, and is it still the one that showed the token?
  [[nodiscard]] bool is_there();
  // How many of them, from the first. The others cannot be read, or are another's, or not all of the first of them is
  // there. What was copied before that stays copied.
  [[nodiscard]] std::size_t read(const PeerReads& reads);

 private:
  static constexpr Time kSure = milliseconds(1);  // no kernel starts so many programs in so short a time

  [[nodiscard]] std::size_t copy(const PeerReads& reads) const;

  Token token_{};
  Time seen_ = -kSure;  // when the token was last read, or just before
};

}  // namespace weft::real
