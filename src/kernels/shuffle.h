// Shuffle: values of eight bytes are spread over up to 1024 partitions as they pass, by some of their bits. Partitions
// lie in the memory of the kernel's card; in local calls also in that of peers, of several queue pairs. Each partition
// collects 16 values before they are written, so memory is written 128 bytes at a time.
#pragma once

#include <cstdint>

#include "kernels/stream.h"

namespace weft::kernels {

inline constexpr std::uint64_t kShuffle = 0x5368'7566'666C'65;  // "Shuffle"

inline constexpr std::uint32_t kMostPartitions = 1024, kValuesTogether = 16;

// Where a partition is (an Outlet if it is a peer's). Its size comes from a histogram that the caller has,
// or was told.
struct Partition {
  std::uint64_t address = 0, room_bytes = 0;
};

struct ShuffleCall {
  StreamAsk ask{};
  std::uint32_t partitions = 1;     // begin: a power of two
  std::uint32_t shift = 0;          // begin: the partition is the value's bits from this one on
  std::uint32_t sends = 0;          // begin: 1: partitions are Outlets, and may be peers' (local calls)
  std::uint64_t partitions_at = 0;  // begin: a Partition, or an Outlet, for each
  std::uint64_t counts_to = 0;      // result, finish: the number of each one's values, eight bytes; 0: nowhere
};
static_assert(sizeof(ShuffleCall) == 32);

struct ShuffleAnswer {
  std::uint64_t values = 0;     // all of them are written
  std::uint64_t odd_bytes = 0;  // at the end, that are no value
};

// A call that begins answers nothing. The stream fails if a partition has no room.
[[nodiscard]] nic::Kernel shuffle(std::uint32_t instances = 16);

}  // namespace weft::kernels
