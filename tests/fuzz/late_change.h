// Memory that changes while somebody reads it, the same way each time: a change waits until the watched memory has been
// read so often, and is made just before the next read. Clang tells of reads in what is compiled with
// -fsanitize-coverage=trace-loads; in other builds no change is ever made.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::fuzz {

struct LateChange {
  std::uint32_t reads = 0;  // until then; 0: none waits
  std::size_t at = 0;       // of the watched memory, with room for all bytes
  std::array<std::byte, 4> bytes{};
  std::uint8_t count = 0;
};

struct Watched {
  std::byte *begin = nullptr, *end = nullptr;
  LateChange change;
};
inline Watched watched;

}  // namespace weft::fuzz
