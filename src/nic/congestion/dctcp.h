// DCTCP (RFC 8257), window-based: once a round trip, the share F of marked packets moves the estimate
// alpha = (1 - g) alpha + g F with g = 1/16; a round with marks shrinks the window by alpha / 2, one without widens it
// by a packet. A connection starts with its widest window, as RDMA cards do.
#pragma once

#include <algorithm>
#include <cstdint>

#include "nic/context.h"

namespace weft::nic {

struct Dctcp {
  static constexpr std::uint32_t kUnit = 16;       // the window is kept in 16ths of a packet
  static constexpr std::uint32_t kWhole = 0xFFFF;  // alpha 1
  static constexpr std::uint32_t kGainShift = 4;   // g = 1/16
  static constexpr std::uint32_t kLeast = 2 * kUnit;

  static void start(CongestionState& s, std::uint32_t most) {
    s = CongestionState{};
    s.window = static_cast<std::uint16_t>(most_units(most));
  }

  static void on_ack(CongestionState& s, std::uint32_t most, std::uint32_t acked, std::uint32_t marked,
                     std::uint32_t under_way) {
    s.acked = add(s.acked, acked);
    s.marked = add(s.marked, marked);
    if (s.acked < s.round) return;
    if (s.acked == 0) return;
    const std::uint32_t share = std::min<std::uint32_t>(s.marked, s.acked) * kWhole / s.acked;
    s.alpha = static_cast<std::uint16_t>(s.alpha - (s.alpha >> kGainShift) + (share >> kGainShift));
    if (s.marked > 0) {
      const std::uint32_t cut = static_cast<std::uint32_t>(std::uint64_t{s.window} * s.alpha / (2 * kWhole));
      s.window = static_cast<std::uint16_t>(std::max(s.window - cut, kLeast));
    } else {
      s.window = static_cast<std::uint16_t>(std::min(s.window + kUnit, most_units(most)));
    }
    s.acked = s.marked = 0;
    s.round = static_cast<std::uint16_t>(std::clamp<std::uint32_t>(under_way, 1, kWhole));
  }

  static void on_silence(CongestionState& s) {
    s.window = static_cast<std::uint16_t>(std::max<std::uint32_t>(s.window / 2, kLeast));
  }

  [[nodiscard]] static std::uint32_t window(const CongestionState& s, std::uint32_t most) {
    return std::clamp<std::uint32_t>(s.window / kUnit, 1, std::max(most, 1U));
  }

 private:
  static constexpr std::uint32_t most_units(std::uint32_t most) { return std::min<std::uint32_t>(most, 4095) * kUnit; }
  static std::uint16_t add(std::uint16_t a, std::uint32_t b) {
    return static_cast<std::uint16_t>(std::min<std::uint32_t>(a + b, kWhole));
  }
};

}  // namespace weft::nic
