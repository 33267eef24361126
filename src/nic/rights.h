// What a region, a window or a queue pair lets others do.
#pragma once

#include <cstdint>

namespace weft::nic {

enum class Rights : std::uint16_t {
  none = 0,
  local_write = 1 << 0,
  remote_write = 1 << 1,
  remote_read = 1 << 2,
  remote_atomic = 1 << 3,
  bind_window = 1 << 4,
  zero_based = 1 << 5,
  on_demand = 1 << 6,  // its pages may be missing: the world is asked before each access
};

constexpr Rights operator|(Rights a, Rights b) {
  return static_cast<Rights>(static_cast<std::uint16_t>(a) | static_cast<std::uint16_t>(b));
}
constexpr Rights operator&(Rights a, Rights b) {
  return static_cast<Rights>(static_cast<std::uint16_t>(a) & static_cast<std::uint16_t>(b));
}
constexpr bool includes(Rights have, Rights want) { return (have & want) == want; }
constexpr bool any(Rights r) { return r != Rights::none; }

inline constexpr Rights kRemoteRights = Rights::remote_write | Rights::remote_read | Rights::remote_atomic;

}  // namespace weft::nic
