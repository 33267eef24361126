// Where bytes of host memory become what they are: entries of rings, lists behind entries, words for atomics. The only
// casts of the card.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "nic/context.h"
#include "nic/formats.h"
#include "wire/headers.h"

namespace weft::nic {

inline std::byte* ring_entry(std::byte* ring, std::uint32_t count, std::uint8_t shift, std::uint16_t stride) {
  return ring + std::size_t{count & ((1U << shift) - 1)} * stride;
}

inline Work& work_at(const Context& c, std::uint32_t count) {
  return *reinterpret_cast<Work*>(ring_entry(c.sq, count, c.sq_shift, c.sq_stride));
}
inline std::span<const Sge> sges_of(const Work& w) { return {reinterpret_cast<const Sge*>(&w + 1), w.sges}; }
inline const std::byte* inline_bytes_of(const Work& w) { return reinterpret_cast<const std::byte*>(&w + 1); }

inline const Receive& receive_in(const std::byte* entry) { return *reinterpret_cast<const Receive*>(entry); }
inline std::span<const Sge> sges_of(const Receive& r) { return {reinterpret_cast<const Sge*>(&r + 1), r.sges}; }

// The word that an atomic works on; nullptr where the machine has no atomics because it is not aligned.
inline std::uint64_t* word_at(std::byte* at) {
  return reinterpret_cast<std::uintptr_t>(at) % 8 == 0 ? reinterpret_cast<std::uint64_t*>(at) : nullptr;
}

// An atomic, carried out; what was there before.
inline std::uint64_t swap_or_add(std::uint64_t& word, const wire::AtomicEth& eth, bool add) {
  const std::atomic_ref<std::uint64_t> memory(word);
  if (add) return memory.fetch_add(eth.swap_add);
  std::uint64_t original = eth.compare;
  memory.compare_exchange_strong(original, eth.swap_add);
  return original;
}

}  // namespace weft::nic
