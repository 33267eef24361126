// No congestion control: the window is as wide as it can be.
#pragma once

#include <cstdint>

#include "nic/context.h"

namespace weft::nic {

struct NoCongestionControl {
  static void start(Context&, std::uint32_t) {}
  static void on_ack(Context&, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t) {}
  static void on_silence(Context&) {}
  static void undo_silence(Context&) {}
  [[nodiscard]] static std::uint32_t window(const Context&, std::uint32_t most) { return most; }
};

}  // namespace weft::nic
