// The host's side of completion queues and shared receive queues: their memory, and taking from them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "host/error.h"
#include "host/work_request.h"
#include "nic/card_state.h"
#include "nic/formats.h"
#include "nic/queues.h"

namespace weft::host {

// Writes a receive request into its entry of a ring; invalid_argument for too many elements. They are a list, by size()
// and [], of nic::Sge or of what becomes one when it is read.
template <class Sges>
[[nodiscard]] Error write_receive(std::byte* entry, std::uint64_t id, const Sges& sges, std::uint32_t max_sges) {
  if (sges.size() > max_sges) return Error::invalid_argument;
  std::byte* tail = entry + sizeof(nic::Receive);
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < sges.size(); ++i) {
    const nic::Sge s = sges[i];
    std::memcpy(tail, &s, sizeof s);
    tail += sizeof s;
    length += s.length;
  }
  const nic::Receive r{id, static_cast<std::uint32_t>(sges.size()),
                       static_cast<std::uint32_t>(std::min<std::uint64_t>(length, 0xFFFF'FFFF))};
  std::memcpy(entry, &r, sizeof r);
  return Error::none;
}

class CompletionQueue {
 public:
  CompletionQueue(nic::CardState& card, std::uint32_t number, std::uint32_t entries);
  ~CompletionQueue();
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] std::uint32_t capacity() const { return ring_.size(); }
  [[nodiscard]] std::uint32_t waiting() const { return ring_.visible - ring_.consumed; }
  [[nodiscard]] bool overflowed() const { return ring_.overflowed; }
  [[nodiscard]] std::size_t ring_bytes() const { return memory_.size() * sizeof(nic::Completion); }

  // Takes completions that have become visible; how many.
  std::uint32_t poll(std::span<nic::Completion> out) {
    nic::Completion* at = out.data();
    return poll(static_cast<std::uint32_t>(out.size()), [&at](const nic::Completion& done) { *at++ = done; });
  }
  // The same, and take(completion) sees each where it lies.
  template <class Take>
  std::uint32_t poll(std::uint32_t most, Take&& take) {
    const std::uint32_t n = std::min(waiting(), most);
    for (std::uint32_t i = 0; i < n; ++i) {
      const nic::Completion& done = ring_.at(ring_.consumed++);
      if (done.shared_entry != nic::Completion::kNotShared) free_shared_entry(done);
      take(done);
    }
    return n;
  }
  // Its completions are to say when they were written. Without this they do, only where the time need not be asked for.
  void want_times() { ring_.timed = true; }
  // One event when the next completion (or the next solicited or failed one) becomes visible.
  void request_notify(bool solicited_only);
  // An event only after `count` completions or `period` after the first of them.
  Error moderate(std::uint16_t count, Time period);
  Error resize(std::uint32_t entries);

  // Drops what is waiting from a queue pair that is no more.
  void purge(wire::Qpn qpn);

  std::uint32_t users = 0;     // queue pairs that complete here
  bool event_waiting = false;  // stands in its channel's list
  CompletionQueue* next_event = nullptr;
  std::uint32_t channel = nic::kNone;

 private:
  void free_shared_entry(const nic::Completion& done);

  nic::CardState& card_;
  std::uint32_t number_;
  nic::CompletionRing& ring_;
  std::vector<nic::Completion> memory_;
};

class SharedReceiveQueue {
 public:
  SharedReceiveQueue(nic::CardState& card, std::uint32_t number, std::uint32_t domain, std::uint32_t entries,
                     std::uint32_t max_sges);
  ~SharedReceiveQueue();
  SharedReceiveQueue(const SharedReceiveQueue&) = delete;
  SharedReceiveQueue& operator=(const SharedReceiveQueue&) = delete;

  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] std::uint32_t domain() const { return ring_.domain; }
  [[nodiscard]] std::uint32_t capacity() const { return 1U << ring_.shift; }
  [[nodiscard]] std::uint32_t max_sges() const { return max_sges_; }
  [[nodiscard]] std::uint32_t limit() const { return ring_.limit; }
  [[nodiscard]] std::size_t ring_bytes() const {
    return std::size_t{capacity()} * (ring_.stride + 2 * sizeof(std::uint32_t));
  }
  [[nodiscard]] Error post(const ReceiveRequest& r) { return post(r.id, r.sges); }
  template <class Sges>
  [[nodiscard]] Error post(std::uint64_t id, const Sges& sges) {
    if (ring_.free_count == 0) return Error::queue_full;
    const std::uint32_t entry = ring_.free[ring_.free_count - 1];
    const Error e = write_receive(entries_.get() + std::size_t{entry} * ring_.stride, id, sges, max_sges_);
    if (e != Error::none) return e;
    --ring_.free_count;
    ring_.order[ring_.posted++ & (capacity() - 1)] = entry;
    return Error::none;
  }
  Error set_limit(std::uint32_t limit);

  std::uint32_t users = 0;

 private:
  nic::CardState& card_;
  std::uint32_t number_;
  nic::SharedReceiveRing& ring_;
  std::uint32_t max_sges_;
  std::unique_ptr<std::byte[]> entries_;
  std::vector<std::uint32_t> order_, free_;
};

}  // namespace weft::host
