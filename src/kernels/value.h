// What a kernel has found for its caller: the bytes at an address, which it reads and answers piece by piece.
#pragma once

#include <algorithm>
#include <cstdint>

#include "nic/kernels/kernel.h"

namespace weft::kernels {

struct Value {
  std::uint64_t address = 0;  // of the rest
  std::uint32_t left = 0;

  [[nodiscard]] nic::KernelNext read(nic::KernelStep& step) const {
    return left == 0 ? nic::KernelNext::done : step.read(address, std::min(left, nic::KernelStep::kMostRead));
  }
  // A piece is here.
  [[nodiscard]] nic::KernelNext answer(nic::KernelStep& step) {
    if (!step.reply(step.input, step.input_bytes)) return nic::KernelNext::failed;
    address += step.input_bytes;
    left -= step.input_bytes;
    return read(step);
  }
};

}  // namespace weft::kernels
