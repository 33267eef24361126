// GET of a key-value store whose hash table lies in the server's memory, as Pilaf's does: one round trip instead of two
// READs. An entry has three buckets and a chain for those that found no room.
#pragma once

#include <cstdint>

#include "nic/kernels/kernel.h"

namespace weft::kernels {

inline constexpr std::uint64_t kGet = 0x4765'7400;  // "Get"

struct GetEntry {
  static constexpr std::uint32_t kBuckets = 3;
  std::uint64_t keys[kBuckets] = {};    // 0: nobody's
  std::uint64_t values[kBuckets] = {};  // where the value is, below its length in the upper 16 bits
  std::uint64_t next = 0;               // the entry that goes on, or 0
  std::uint64_t unused = 0;

  static constexpr std::uint64_t value_at(std::uint64_t address, std::uint16_t bytes) {
    return std::uint64_t{bytes} << 48 | address;
  }
};
static_assert(sizeof(GetEntry) == 64);

struct GetCall {
  std::uint64_t entry = 0;  // where the client's hash of the key leads
  std::uint64_t key = 0;
};

// Answers: the value, and nothing for a key that is not there.
[[nodiscard]] nic::Kernel get(std::uint32_t most_entries = 64, std::uint32_t instances = 64);

}  // namespace weft::kernels
