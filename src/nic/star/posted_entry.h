// An entry of the stateless side's queues, as a WQEP brings it. Nothing in it is believed before it has been checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "nic/context.h"
#include "nic/core.h"
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

// A WQEP's entries. All entries are taken, or none.
template <World W>
[[nodiscard]] Refusal take_star_posts(Core<W>& core, StarLink& l, std::span<const std::byte> payload) {
  if (payload.size() < wire::StarPosts::kBytes) return Refusal::star_bad_payload;
  const auto posts = wire::star_read<wire::StarPosts>(payload, 0);
  std::uint32_t& posted = posts.receives ? l.receives_posted : l.works_posted;
  if (posts.count == 0) return Refusal::none;  // it asks whether we are there
  const auto ahead = static_cast<std::int32_t>(posts.first - posted);
  if (ahead > 0) return Refusal::star_work_ahead;
  const std::uint32_t done = posts.receives ? l.receives_done() : l.streams[StarLink::remote].ended;
  const std::uint32_t end = posts.first + posts.count;
  auto& entries = posts.receives ? l.receives : l.works;
  const bool again = static_cast<std::int32_t>(end - posted) <= 0;
  if (again && entries[(end - 1) % StarLink::kRemote].epoch == posts.epoch) return Refusal::star_work_again;
  if (end - done > StarLink::kRemote) return Refusal::star_bad_payload;
  std::size_t at = wire::StarPosts::kBytes;
  for (std::uint32_t i = posts.first; i != end; ++i) {
    RemoteWork w;
    const std::size_t before = at;
    if (!read_star_work(payload, at, w)) return Refusal::star_bad_payload;
    w.epoch = posts.epoch;
    if (static_cast<std::int32_t>(i - done) < 0) continue;  // others may have new capabilities
    entries[i % StarLink::kRemote].take(w, at - before - wire::StarWork::kBytes);
    core.world.write(BusWrite::remote_work, &w, sizeof w);
  }
  if (!again) posted = end;
  return at == payload.size() ? Refusal::none : Refusal::star_bad_payload;
}

}  // namespace weft::nic
