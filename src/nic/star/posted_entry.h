// An entry of the stateless side's queues, as a WQEP brings it. Nothing in it is believed before it has been checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "nic/context.h"
#include "nic/formats.h"
#include "nic/star/link.h"
#include "wire/star_payloads.h"

namespace weft::nic {

// Do its elements have so many bytes? A receive's length is their sum; work may not claim more than it has.
[[nodiscard]] inline bool reaches(const RemoteWork& w, std::uint32_t bytes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < w.sges; ++i) sum += w.sge(i).length;
  return sum >= bytes;
}

// Reads the entry at `at`, and moves `at` behind it. False: it makes no sense.
[[nodiscard]] inline bool read_star_work(std::span<const std::byte> payload, std::size_t& at, RemoteWork& w) {
  if (payload.size() - at < wire::StarWork::kBytes) return false;
  const auto from = wire::star_read<wire::StarWork>(payload, at);
  at += wire::StarWork::kBytes;
  if (from.kind > static_cast<std::uint8_t>(WorkKind::bind_window)) return false;
  const bool is_inline = (from.flags & WorkFlags::inline_data) != 0;
  if (from.length > kMaxMessage || from.refusal >= Refusal::count_) return false;
  // What reads, or changes keys, carries no data.
  if (is_inline && from.kind > static_cast<std::uint8_t>(WorkKind::write_immediate)) return false;
  const std::size_t tail = is_inline ? (from.length + 7) & ~7U : from.sges * wire::StarSge::kBytes;
  if (tail > RemoteWork::kTailBytes || payload.size() - at < tail) return false;
  w.kind = static_cast<WorkKind>(from.kind);
  w.flags = from.flags;
  w.sges = from.sges;
  w.refusal = from.refusal;
  w.length = from.length;
  w.immediate = from.immediate;
  w.key = from.key;
  w.address = from.address;
  w.compare_add = from.compare_add;
  w.swap = from.swap;
  std::memcpy(w.tail.data(), payload.data() + at, tail);
  at += tail;
  return is_inline || reaches(w, is_atomic(w.kind) ? 8 : w.length);
}

}  // namespace weft::nic
