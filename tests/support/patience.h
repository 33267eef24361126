// How tests of the real world and of programs wait: for something that will be so, and much longer than it takes.
#pragma once

#include <chrono>
#include <thread>

namespace weft {

inline constexpr int kPatienceMilliseconds = 20'000;

// Waits until this holds. False: it waited in vain.
template <class Holds>
[[nodiscard]] bool eventually(Holds&& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMilliseconds);
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace weft
