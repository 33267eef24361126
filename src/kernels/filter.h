// Filter and aggregate: of a stream of records those count whose field lies in a range. They are counted, and another
// field of theirs is added up; if the caller wants them they are written to memory, one behind the other; in local
// calls also to a peer's.
#pragma once

#include <cstdint>

#include "kernels/stream.h"

namespace weft::kernels {

inline constexpr std::uint64_t kFilter = 0x4669'6C74'6572;  // "Filter"
inline constexpr std::uint32_t kMostRecord = 256;

// Fields are unsigned, of eight bytes, at any place in a record.
struct FilterCall {
  StreamAsk ask{};
  std::uint32_t record_bytes = 8;
  std::uint32_t field = 0, value = 0;     // where the one is that decides, and the one that is added up
  std::uint64_t least = 0, most = ~0ULL;  // that the first may be
  Outlet matches{};                       // for records that count; address 0: they are not written
};
static_assert(sizeof(FilterCall) == 64);

// `sum` is modulo 2^64. Without records that count, `least` is greater than `most`.
struct FilterAnswer {
  std::uint64_t records = 0, count = 0, sum = 0;
  std::uint64_t least = ~0ULL, most = 0;  // values of those that count
  std::uint64_t odd_bytes = 0;            // at the end, that are no record
};

// A call that begins answers nothing. The stream fails if a record that counts has no room.
[[nodiscard]] nic::Kernel filter(std::uint32_t instances = 64);

}  // namespace weft::kernels
