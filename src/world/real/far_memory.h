// The memory of another program on this host, which the kernel copies from when it is asked to (process_vm_readv).
// Whether it does is for the kernel to say: not for another user's program, nor where tracing is restricted. And a
// process number may mean somebody else, in another container or after its owner has ended. So the other program keeps
// a number that nobody can guess at an address that it tells, and that is read again whenever it has not been for a
// while: the kernel gives out all other numbers before it gives out one again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace weft::real {

class FarMemory {
 public:
  // How a program is known again: process 0 is none.
  struct Token {
    std::int32_t process = 0;
    std::uint64_t address = 0, value = 0;
  };

  FarMemory() = default;
  explicit FarMemory(const Token& token) : token_(token) {}

  // Can it be read, and is it still the one that showed the token?
  [[nodiscard]] bool is_there();
  // False: it cannot be read, or is another's, or not all of it is there. What was copied before that stays copied.
  [[nodiscard]] bool read(std::byte* to, std::uint64_t from, std::size_t bytes);

 private:
  static constexpr Time kSure = milliseconds(1);  // no kernel starts so many programs in so short a time

  [[nodiscard]] bool copy(void* to, std::uint64_t from, std::size_t bytes) const;

  Token token_{};
  Time seen_ = -kSure;  // when the token was last read, or just before
};

}  // namespace weft::real
