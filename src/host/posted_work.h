// Work entries as host software sees them: its own memory, which costs it nothing but a load. The card has its own way
// (nic/host_memory.h).
#pragma once

#include <cstdint>

#include "nic/context.h"
#include "nic/formats.h"
#include "nic/ring_entry.h"

namespace weft::host {

[[nodiscard]] inline const nic::Work& posted_work(const nic::Context& c, std::uint32_t entry) {
  return *reinterpret_cast<const nic::Work*>(nic::ring_entry(c.sq, entry, c.sq_shift, c.sq_stride));
}

}  // namespace weft::host
