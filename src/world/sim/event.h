// One thing that will happen: a small value.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/time.h"

namespace weft::sim {

struct Event {
  Time at;
  std::uint64_t tie;   // unique; see event_queue.h
  std::uint32_t what;  // kind in the high 8 bits, target in the low 24
  std::uint32_t argument;

  static constexpr std::uint32_t kMaxTarget = 0x00FF'FFFF;
  static constexpr std::uint32_t pack(std::uint8_t kind, std::uint32_t target) {
    return std::uint32_t{kind} << 24 | (target & kMaxTarget);
  }
  [[nodiscard]] std::uint8_t kind() const { return static_cast<std::uint8_t>(what >> 24); }
  [[nodiscard]] std::uint32_t target() const { return what & kMaxTarget; }
  [[nodiscard]] bool before(const Event& other) const { return at != other.at ? at < other.at : tie < other.tie; }
};
static_assert(sizeof(Event) == 24 && std::is_trivially_copyable_v<Event>);

}  // namespace weft::sim
