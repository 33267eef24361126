// One point of the load: how packets travel, what is done, and by how many.
#pragma once

#include <cstdint>
#include <string>

namespace weft::cli {

struct LoadPoint {
  std::string wire, transport, verb;  // udp, shm; srnic, roce; send, write
  std::uint32_t depth = 0, qps = 0;   // requests under way for each queue pair; queue pairs
  friend bool operator==(const LoadPoint&, const LoadPoint&) = default;
};

// Small messages are SENDs here and large ones are WRITEs.
[[nodiscard]] inline std::uint32_t bytes_of(const std::string& verb) { return verb == "write" ? 65536 : 512; }

}  // namespace weft::cli
