// The card's only way to what lies in host memory: work entries, receive entries, saved responses, notes, retry queues,
// words for atomics. Each function tells the world what it reads or writes, and the world has its price
// (docs/model.md). Here bytes of host memory become what they are: the only casts of the card.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "nic/core.h"
#include "nic/formats.h"
#include "nic/ring_entry.h"
#include "wire/headers.h"

namespace weft::nic {

// The list, or the inline bytes, that stand behind an entry which the card has read.
inline std::span<const Sge> sges_of(const Work& w) { return {reinterpret_cast<const Sge*>(&w + 1), w.sges}; }
inline const std::byte* inline_bytes_of(const Work& w) {
  if ((w.flags & WorkFlags::by_card) != 0) [[unlikely]]
    return reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(w.remote.compare_add));  // see aim_answer
  return reinterpret_cast<const std::byte*>(&w + 1);
}
inline std::span<const Sge> sges_of(const Receive& r) { return {reinterpret_cast<const Sge*>(&r + 1), r.sges}; }

// Entries where they lie. Whoever is a friend tells the world of it.
class Entries {
  template <World W>
  friend class WorkFetch;
  template <World W>
  friend class ReceiveFetch;
  template <World W>
  friend const Work& read_work_again(Core<W>& core, const Context& c, std::uint32_t entry);
  template <World W>
  friend const Work& read_work_under_way(Core<W>& core, const Context& c, std::uint32_t entry);
  template <World W>
  friend const Work& read_scatter_under_way(Core<W>& core, const Context& c, std::uint32_t entry);
  template <World W>
  friend const Receive& read_receive_under_way(Core<W>& core, const Context& c, std::uint32_t entry);

  static const Work& work(const Context& c, std::uint32_t entry) {
    return *reinterpret_cast<const Work*>(ring_entry(c.sq, entry, c.sq_shift, c.sq_stride));
  }
  static const Receive& receive(CardState& state, const Context& c, std::uint32_t entry) {
    if (c.shared_rq == kNone) [[likely]]
      return *reinterpret_cast<const Receive*>(ring_entry(c.rq, entry, c.rq_shift, c.rq_stride));
    const SharedReceiveRing& srq = state.srqs[c.shared_rq];
    return *reinterpret_cast<const Receive*>(srq.entries + std::size_t{entry} * srq.stride);
  }
};

// -- work entries ---------------------------------------------------------------------------------------

// `count` entries from `first` on, in one read, or in two where the ring begins again.
template <World W>
void read_works(Core<W>& core, const Context& c, std::uint32_t first, std::uint32_t count, BusRead why) {
  const std::uint32_t to_the_end = (1U << c.sq_shift) - (first & ((1U << c.sq_shift) - 1));
  const std::uint32_t here = std::min(count, to_the_end);
  core.world.read(why, ring_entry(c.sq, first, c.sq_shift, c.sq_stride), std::size_t{here} * c.sq_stride);
  if (count > here) core.world.read(why, c.sq, std::size_t{count - here} * c.sq_stride);
}

// An entry whose packets are to be sent again.
template <World W>
[[nodiscard]] const Work& read_work_again(Core<W>& core, const Context& c, std::uint32_t entry) {
  read_works(core, c, entry, 1, BusRead::work);
  return Entries::work(c, entry);
}
// The head of an entry that has been sent, because something has been heard of it: id, kind, flags and length, which
// say how it ends.
inline constexpr std::size_t kWorkHeadBytes = offsetof(Work, immediate);
static_assert(kWorkHeadBytes == 16);
template <World W>
[[nodiscard]] const Work& read_work_under_way(Core<W>& core, const Context& c, std::uint32_t entry) {
  const Work& w = Entries::work(c, entry);
  core.world.read(BusRead::work_under_way, &w, kWorkHeadBytes);
  return w;
}
// All of it, with its scatter list: a response goes there.
template <World W>
[[nodiscard]] const Work& read_scatter_under_way(Core<W>& core, const Context& c, std::uint32_t entry) {
  const Work& w = Entries::work(c, entry);
  core.world.read(BusRead::work_under_way, &w, sizeof(Work) + w.sges * sizeof(Sge));
  return w;
}

// The card's own marks in an entry. Entries are const to the card except here.
template <World W>
void mark_work(Core<W>& core, const Work& w, std::uint8_t flag, bool value) {
  std::uint8_t& flags = const_cast<Work&>(w).flags;
  flags = static_cast<std::uint8_t>(value ? flags | flag : flags & ~flag);
  core.world.write(BusWrite::work_under_way, &flags, sizeof flags);
}

// The SEND sequence number that a message got when it was first sent. It is kept in its work entry, in a member that
// its kind has no use for.
[[nodiscard]] inline const std::uint64_t& ssn_of(const Work& w) {
  return has_target(w.kind) ? w.remote.swap : w.remote.address;
}
template <World W>
void number_send(Core<W>& core, const Work& w, std::uint32_t ssn) {
  auto& word = const_cast<std::uint64_t&>(ssn_of(w));
  word = ssn;
  core.world.write(BusWrite::work_under_way, &word, sizeof word);
}

// An entry that the card has made: its bytes lie in a place of a kernel's answers.
inline void aim_answer(Work& w, std::uint64_t to, const std::byte* from) {
  w.remote = {to, reinterpret_cast<std::uintptr_t>(from), 0};
}
// Where the card writes an entry of its own.
[[nodiscard]] inline std::byte* work_to_write(const Context& c) {
  return ring_entry(c.sq, c.sq_posted, c.sq_shift, c.sq_stride);
}

// -- receive entries ------------------------------------------------------------------------------------

// The entry of a message under way, which an earlier packet may have taken.
template <World W>
[[nodiscard]] const Receive& read_receive_under_way(Core<W>& core, const Context& c, std::uint32_t entry) {
  const Receive& r = Entries::receive(core.state, c, entry);
  core.world.read(BusRead::receive_under_way, &r, sizeof(Receive) + r.sges * sizeof(Sge));
  return r;
}

// -- saved responses ------------------------------------------------------------------------------------

template <World W>
[[nodiscard]] SavedResponse& read_saved(Core<W>& core, const Context& c, std::uint32_t place) {
  SavedResponse& s = c.saved[place];
  core.world.read(BusRead::saved_response, &s, sizeof s);
  return s;
}
// A new one, in a place whose old one is no longer needed. It is told of when it is whole (write_saved).
inline SavedResponse& begin_saved(const Context& c, std::uint32_t place) { return c.saved[place] = SavedResponse{}; }
// After it was changed.
template <World W>
void write_saved(Core<W>& core, const SavedResponse& s) {
  core.world.write(BusWrite::saved_response, &s, sizeof s);
}

// -- notes on packets out of order, and retry queues ----------------------------------------------------

template <World W>
[[nodiscard]] const ReorderNote* read_note(Core<W>& core, const ReorderNote* note) {
  if (note != nullptr) core.world.read(BusRead::reorder_note, note, sizeof *note);
  return note;
}
template <World W>
void write_note(Core<W>& core, const ReorderNote& note) {
  core.world.write(BusWrite::reorder_note, &note, sizeof note);
}

template <World W>
[[nodiscard]] RetryEntry& read_retry(Core<W>& core, RetryRing& ring) {
  RetryEntry& e = ring.oldest();
  core.world.read(BusRead::retry, &e, sizeof e);
  return e;
}
// What is left of it, for the next turn.
template <World W>
void write_retry(Core<W>& core, const RetryEntry& e) {
  core.world.write(BusWrite::retry, &e, sizeof e);
}

// -- atomics --------------------------------------------------------------------------------------------

// The word that an atomic works on; nullptr where the machine has no atomics because it is not aligned.
inline std::uint64_t* word_at(std::byte* at) {
  return reinterpret_cast<std::uintptr_t>(at) % 8 == 0 ? reinterpret_cast<std::uint64_t*>(at) : nullptr;
}

// An atomic, carried out; what was there before.
template <World W>
[[nodiscard]] std::uint64_t swap_or_add(Core<W>& core, std::uint64_t& word, const wire::AtomicEth& eth, bool add) {
  core.world.read(BusRead::atomic, &word, sizeof word);
  core.world.write(BusWrite::atomic, &word, sizeof word);
  const std::atomic_ref<std::uint64_t> memory(word);
  if (add) return memory.fetch_add(eth.swap_add);
  std::uint64_t original = eth.compare;
  memory.compare_exchange_strong(original, eth.swap_add);
  return original;
}

}  // namespace weft::nic
