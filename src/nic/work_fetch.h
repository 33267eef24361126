// How work entries come to the card. Fetch-and-drop, SRNIC's way and the usual one, reads in one piece as many entries
// as a turn may use; what it does not use is forgotten and read again in the next turn, so nothing is kept on chip
// between turns. A device with a work cache (nic/caches/work_cache.h) asks that first, as conventional cards do.
#pragma once

#include <algorithm>
#include <cstdint>

#include "nic/core.h"
#include "nic/host_memory.h"

namespace weft::nic {

// The entries that one turn of a queue pair has read.
template <World W>
class WorkFetch {
 public:
  WorkFetch(Core<W>& core, const Context& c) : core_(core), c_(c), first_(c.sq_next) {}

  // Entry sq_next. `turn_left` is how many more the turn may use, this one included.
  [[nodiscard]] const Work& next(std::uint32_t turn_left) {
    if (c_.sq_next - first_ >= fetched_) fetch(turn_left);
    used_ = c_.sq_next - first_ + 1;
    return Entries::work(c_, c_.sq_next);
  }
  // The turn is over.
  void drop() {
    if (fetched_ > used_) core_.count(Counter::wqes_dropped, fetched_ - used_);
  }

 private:
  void fetch(std::uint32_t turn_left) {
    first_ = c_.sq_next;
    if (core_.state.works.enabled()) [[unlikely]] {
      look_up();
      fetched_ = 1;  // the cache is asked for each
    } else {
      fetched_ = std::min(turn_left, c_.sq_posted - first_);
      read(fetched_, BusRead::work);
    }
  }
  // Apart, so that the usual way stays short.
  [[gnu::noinline]] void look_up() {
    WorkCache& cache = core_.state.works;
    const std::uint32_t slot = core_.slot(c_);
    if (cache.has(slot, first_)) return core_.count(Counter::wqe_cache_hits);
    core_.count(Counter::wqe_cache_misses);
    const std::uint32_t count = std::min(WorkCache::entries_of(c_.sq_stride), c_.sq_posted - first_);
    read(count, cache.follows(slot, first_) ? BusRead::ahead : BusRead::work);
    cache.keep(slot, first_, count);
  }
  void read(std::uint32_t count, BusRead why) {
    core_.count(Counter::wqes_fetched, count);
    read_works(core_, c_, first_, count, why);
  }

  Core<W>& core_;
  const Context& c_;
  std::uint32_t first_;
  std::uint32_t fetched_ = 0, used_ = 0;  // entries from first_ on
};

// Receive entries have no turn, and none is fetched before a message needs it, unless the device has a cache for them:
// then those behind it come along.
template <World W>
class ReceiveFetch {
 public:
  explicit ReceiveFetch(Core<W>& core) : core_(core) {}

  // The receive entry that this queue pair has just taken: c.receive_entry.
  void take(const Context& c) {
    if (core_.state.receives.enabled()) [[unlikely]]
      return look_up(c);
    if (c.shared_rq != kNone) read_order(core_.state.srqs[c.shared_rq]);
    take(c, c.receive_entry);
  }
  // An entry of its own queue that a message takes out of order.
  void take(const Context& c, std::uint32_t entry) {
    core_.count(Counter::receive_wqes_fetched);
    const Receive& r = Entries::receive(core_.state, c, entry);
    core_.world.read(BusRead::receive, &r, sizeof(Receive) + r.sges * sizeof(Sge));
  }

 private:
  [[gnu::noinline]] void look_up(const Context& c) {
    const bool shared = c.shared_rq != kNone;
    const SharedReceiveRing* srq = shared ? &core_.state.srqs[c.shared_rq] : nullptr;
    const std::uint32_t owner = shared ? core_.state.contexts.size() + c.shared_rq : core_.slot(c);
    const std::uint32_t number = shared ? srq->taken - 1 : c.rq_done;
    WorkCache& cache = core_.state.receives;
    if (cache.has(owner, number)) return core_.count(Counter::receive_wqe_cache_hits);
    core_.count(Counter::receive_wqe_cache_misses);
    const std::uint32_t posted = shared ? srq->posted : c.rq_posted;
    const std::uint16_t stride = shared ? srq->stride : c.rq_stride;
    const std::uint32_t count = std::min(WorkCache::entries_of(stride), posted - number);
    core_.count(Counter::receive_wqes_fetched, count);
    const BusRead why = cache.follows(owner, number) ? BusRead::ahead : BusRead::receive;
    shared ? read_shared(*srq, number, count, why) : read_own(c, number, count, why);
    cache.keep(owner, number, count);
  }
  // One read, or two where the ring begins again.
  void read_own(const Context& c, std::uint32_t first, std::uint32_t count, BusRead why) {
    const std::uint32_t here = std::min(count, (1U << c.rq_shift) - (first & ((1U << c.rq_shift) - 1)));
    core_.world.read(why, ring_entry(c.rq, first, c.rq_shift, c.rq_stride), std::size_t{here} * c.rq_stride);
    if (count > here) core_.world.read(why, c.rq, std::size_t{count - here} * c.rq_stride);
  }
  // Which entry was taken last stands in the queue's ring of numbers.
  void read_order(const SharedReceiveRing& srq) {
    const std::uint32_t place = (srq.taken - 1) & ((1U << srq.shift) - 1);
    core_.world.read(BusRead::receive_order, &srq.order[place], sizeof srq.order[place]);
  }
  // They lie in any order, which is read with the first; that one is needed now.
  void read_shared(const SharedReceiveRing& srq, std::uint32_t first, std::uint32_t count, BusRead why) {
    read_order(srq);
    for (std::uint32_t i = first; i != first + count; ++i) {
      const std::uint32_t place = srq.order[i & ((1U << srq.shift) - 1)];
      core_.world.read(i == first ? why : BusRead::ahead, srq.entries + std::size_t{place} * srq.stride, srq.stride);
    }
  }

  Core<W>& core_;
};

}  // namespace weft::nic
