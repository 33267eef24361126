// Completion queues and shared receive queues, as the card sees them. Their rings lie in host memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "nic/context.h"
#include "nic/formats.h"

namespace weft::nic {

enum class Notify : std::uint8_t { none, any, solicited };

struct CompletionRing {
  Completion* ring = nullptr;
  std::uint32_t shift = 0;           // 1 << shift entries
  std::uint32_t produced = 0;        // free-running: written by the card,
  std::uint32_t visible = 0;         //   shown to the host,
  std::uint32_t consumed = 0;        //   taken by the host
  std::uint32_t unreported = 0;      // shown since the queue was armed, not yet worth an event (moderation)
  std::uint16_t moderate_count = 1;  // an event after so many completions,
  Notify armed = Notify::none;
  bool live = false, overflowed = false;
  bool timed = false;        // its completions are to say when they were written (Core::when)
  Time moderate_period = 0;  //   or so long after the first
  Time deadline = kNever;
  std::uint32_t timer = 0;

  [[nodiscard]] std::uint32_t size() const { return 1U << shift; }
  [[nodiscard]] bool full() const { return produced - consumed == size(); }
  [[nodiscard]] Completion& at(std::uint32_t count) { return ring[count & (size() - 1)]; }
};

struct SharedReceiveRing {
  std::byte* entries = nullptr;    // Receive entries, taken in order of posting, freed in any order
  std::uint32_t* order = nullptr;  // ring of entry numbers in order of posting
  std::uint32_t* free = nullptr;   // the host's stack of entries that may be posted
  std::uint32_t free_count = 0;
  std::uint32_t shift = 0;
  std::uint32_t posted = 0, taken = 0;
  std::uint32_t limit = 0;  // one event when fewer than this are left; 0: not armed
  std::uint32_t domain = 0;
  std::uint16_t stride = 0;
  bool live = false;

  [[nodiscard]] std::uint32_t available() const { return posted - taken; }
  // The entry that will be taken so many after the next one.
  [[nodiscard]] std::uint32_t coming(std::uint32_t ahead) const { return order[(taken + ahead) & ((1U << shift) - 1)]; }
  [[nodiscard]] std::uint32_t take() { return order[taken++ & ((1U << shift) - 1)]; }
};

}  // namespace weft::nic
