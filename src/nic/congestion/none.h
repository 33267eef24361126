// No congestion control: the window is as wide as it can be.
#pragma once

#include <cstdint>

#include "nic/context.h"

namespace weft::nic {

struct NoCongestionControl {
  static void start(CongestionState&, std::uint32_t) {}
  static void on_ack(CongestionState&, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t) {}
  static void on_silence(CongestionState&) {}
  [[nodiscard]] static std::uint32_t window(const CongestionState&, std::uint32_t most) { return most; }
};

}  // namespace weft::nic
