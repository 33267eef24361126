// What a conventional card that repeats selectively keeps on chip for each queue pair, and this one does not: the
// structures of SRNIC's conceptual model (SRNIC, section 3), as types, so that `weft memory` adds up what they take.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "nic/caches/work_cache.h"
#include "wire/types.h"

namespace weft::nic::conventional {

// As many packets as 100 Gb/s carry in a round trip of 40 us.
inline constexpr std::size_t kPacketsUnderWay = 500;
inline constexpr std::size_t kBitmaps = 5;  // IRN's

// Which packets have arrived, are lost, are acknowledged...
struct Bitmaps {
  std::array<std::uint8_t, (kBitmaps * kPacketsUnderWay + 7) / 8> bits;
};

// What has to be known of a packet to send it again.
struct OutstandingRequest {
  wire::Psn psn;         // where it stands among packets,
  wire::Msn msn;         //   among messages: the work entry,
  std::uint64_t offset;  //   and in its message
  std::uint32_t bytes;
  std::uint32_t next;  // in order of sending
};
static_assert(sizeof(OutstandingRequest) == 24);
struct OutstandingRequests {
  std::array<OutstandingRequest, kPacketsUnderWay> requests;
};

// Packets that arrived ahead of their turn, with room for all that can be under way.
struct ReorderingBuffer {
  std::array<std::byte, 512 * 1024> bytes;
};

// A queue pair's next entries, both ways.
struct WorkCaches {
  std::array<std::byte, WorkCache::kLineBytes> sends, receives;
};

}  // namespace weft::nic::conventional
