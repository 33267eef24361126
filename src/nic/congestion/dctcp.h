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

  static void start(Context& c, std::uint32_t most) {
    c.srnic.round = CongestionRound{};
    c.marked_share = 0;
    c.window = static_cast<std::uint16_t>(most_units(most));
  }

  static void on_ack(Context& c, std::uint32_t most, std::uint32_t acked, std::uint32_t marked,
                     std::uint32_t under_way) {
    // No marks now, none lately, and the window cannot be wider: nothing to count. Most connections are like that.
    if (marked == 0 && c.marked_share == 0 && c.window == most_units(most)) [[likely]]
      return;
    CongestionRound& round = c.srnic.round;
    if (round.length == 0) round.length = clamp_length(under_way + acked);        // the first mark in a long time
    if (marked > 0) c.marked_share = std::max<std::uint16_t>(c.marked_share, 1);  // so that its round is counted
    round.acked = add(round.acked, acked);
    round.marked = add(round.marked, marked);
    if (round.acked < round.length) return;
    const std::uint32_t share = std::min(round.marked, round.acked) * kWhole / round.acked;
    c.marked_share =
        static_cast<std::uint16_t>(c.marked_share - (c.marked_share >> kGainShift) + (share >> kGainShift));
    if (c.marked_share < 1U << kGainShift && share == 0) c.marked_share = 0;  // what is left would never decay
    if (round.marked > 0) {
      const auto cut = static_cast<std::uint32_t>(std::uint64_t{c.window} * c.marked_share / (2 * kWhole));
      c.window = static_cast<std::uint16_t>(std::max(c.window - cut, kLeast));
    } else {
      c.window = static_cast<std::uint16_t>(std::min(c.window + kUnit, most_units(most)));
    }
    const bool quiet = c.marked_share == 0 && c.window == most_units(most);
    round = {.length = quiet ? std::uint16_t{0} : clamp_length(under_way)};
  }

  static void on_silence(Context& c) {
    c.window = static_cast<std::uint16_t>(std::max<std::uint32_t>(c.window / 2, kLeast));
  }

  // A silence that was taken for loss was none.
  static void undo_silence(Context& c) {
    c.window = static_cast<std::uint16_t>(std::min<std::uint32_t>(c.window * 2U, kMostUnits));
  }

  [[nodiscard]] static std::uint32_t window(const Context& c, std::uint32_t most) {
    return std::clamp<std::uint32_t>(c.window / kUnit, 1, std::max(most, 1U));
  }

 private:
  static std::uint16_t clamp_length(std::uint32_t packets) {
    return static_cast<std::uint16_t>(std::clamp<std::uint32_t>(packets, 1, kWhole));
  }
  static constexpr std::uint32_t kMostUnits = 4095 * kUnit;
  static constexpr std::uint32_t most_units(std::uint32_t most) { return std::min(most * kUnit, kMostUnits); }
  static std::uint16_t add(std::uint16_t a, std::uint32_t b) {
    return static_cast<std::uint16_t>(std::min<std::uint32_t>(a + b, kWhole));
  }
};

}  // namespace weft::nic
