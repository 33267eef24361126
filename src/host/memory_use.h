// What a device takes of memory right now: on the card, were it hardware, and of its host.
#pragma once

#include <cstdint>

#include "host/device.h"

namespace weft::host {

struct MemoryUse {
  std::uint32_t queue_pairs = 0, regions = 0, windows = 0;
  std::uint32_t stateless = 0;  // of the queue pairs: StaR's stateless side, of which the card has nothing
  // On the card. State is what queue pairs in use need; tables are as large as they were made.
  std::uint64_t context_state = 0;  // 210 bytes of each slot's 256
  std::uint64_t context_table = 0;  // slots of 256 bytes, a power of two of them
  std::uint64_t scheduler = 0;      // queues and timers
  std::uint64_t region_table = 0;   // slots of 64 bytes
  std::uint64_t queue_tables = 0;   // of completion queues and shared receive queues
  std::uint64_t caches = 0;         // of work, of receives, of translations
  // In host memory.
  std::uint64_t rings = 0;              // work, receives, completions, saved responses
  std::uint64_t translation_table = 0;  // entries for pages of regions
  std::uint64_t star = 0;               // of StaR: stateless sides' blocks, and what stateful sides keep of their peers
  std::uint64_t recovery = 0;           // bitmaps, retry queues and notes of connections that recover from loss
  std::uint64_t registered = 0;         // bytes that programs have registered
};

[[nodiscard]] MemoryUse memory_use(const Device& device);

}  // namespace weft::host
