// Numbers that nobody can guess, from the kernel. A block at a time: a queue pair needs several.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>

#include <sys/random.h>

#include "host/device.h"

namespace weft::real {

class SystemRandom final : public host::RandomSource {
 public:
  std::uint64_t next() override {
    if (left_ == 0) refill();
    return block_[--left_];
  }

 private:
  void refill() {
    auto* at = static_cast<char*>(static_cast<void*>(block_.data()));
    for (std::size_t have = 0; have < sizeof block_;) {
      const ssize_t got = getrandom(at + have, sizeof block_ - have, 0);
      if (got > 0) have += static_cast<std::size_t>(got);
    }
    left_ = block_.size();
  }

  std::array<std::uint64_t, 32> block_{};
  std::size_t left_ = 0;
};

}  // namespace weft::real
