// What one turn of a queue pair may still use: SRNIC's n work entries and burst of bytes.
#pragma once

#include <cstdint>

namespace weft::nic {

struct TurnBudget {
  std::uint32_t works = 0;
  std::int64_t bytes = 0;
  std::uint32_t room = 0;  // packets that may leave for the first time, as far as the peer is concerned
  [[nodiscard]] bool spent() const { return works == 0 || bytes <= 0; }
};

}  // namespace weft::nic
