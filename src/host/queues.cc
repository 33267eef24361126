#include "host/queues.h"

#include <algorithm>
#include <bit>

namespace weft::host {

// ---- completion queues --------------------------------------------------------------------------------

CompletionQueue::CompletionQueue(nic::CardState& card, std::uint32_t number, std::uint32_t entries)
    : card_(card), number_(number), ring_(card.cqs.make(number)), memory_(std::bit_ceil(entries)) {
  ring_.ring = memory_.data();
  ring_.shift = static_cast<std::uint32_t>(std::countr_zero(memory_.size()));
  ring_.live = true;
}

CompletionQueue::~CompletionQueue() {
  card_.cq_timers.remove(number_);
  card_.cqs.erase(number_);
}

void CompletionQueue::free_shared_entry(const nic::Completion& done) {
  const nic::Context* c = card_.contexts.find(done.qpn);
  if (c == nullptr || c->shared_rq == nic::kNone) return;
  nic::SharedReceiveRing& srq = card_.srqs[c->shared_rq];
  srq.free[srq.free_count++] = done.shared_entry;
}

void CompletionQueue::request_notify(bool solicited_only) {
  // Armed for any completion stays so when armed again for solicited ones only (IBA 11.4.2.2).
  if (ring_.armed == nic::Notify::any) return;
  if (ring_.armed == nic::Notify::none) ring_.unreported = 0;
  ring_.armed = solicited_only ? nic::Notify::solicited : nic::Notify::any;
}

Error CompletionQueue::moderate(std::uint16_t count, Time period) {
  if (period < 0 || (count > 1 && period == 0)) return Error::invalid_argument;  // the last few would never be told
  ring_.moderate_count = std::max<std::uint16_t>(count, 1);
  ring_.moderate_period = period;
  return Error::none;
}

Error CompletionQueue::resize(std::uint32_t entries) {
  const std::uint32_t held = ring_.produced - ring_.consumed;
  if (entries == 0 || entries < held) return Error::invalid_argument;
  std::vector<nic::Completion> larger(std::bit_ceil(entries));
  for (std::uint32_t i = ring_.consumed; i != ring_.produced; ++i) larger[i & (larger.size() - 1)] = ring_.at(i);
  memory_.swap(larger);
  ring_.ring = memory_.data();
  ring_.shift = static_cast<std::uint32_t>(std::countr_zero(memory_.size()));
  return Error::none;
}

void CompletionQueue::purge(wire::Qpn qpn) {
  std::uint32_t to = ring_.consumed;
  std::uint32_t visible = ring_.visible;
  for (std::uint32_t from = ring_.consumed; from != ring_.produced; ++from) {
    const nic::Completion& done = ring_.at(from);
    if (done.qpn != qpn) {
      ring_.at(to++) = done;
      continue;
    }
    if (done.shared_entry != nic::Completion::kNotShared) free_shared_entry(done);
    if (static_cast<std::int32_t>(ring_.visible - from) > 0) --visible;
  }
  ring_.produced = to;
  ring_.visible = visible;
}

// ---- shared receive queues ----------------------------------------------------------------------------

SharedReceiveQueue::SharedReceiveQueue(nic::CardState& card, std::uint32_t number, std::uint32_t domain,
                                       std::uint32_t entries, std::uint32_t max_sges)
    : card_(card), number_(number), ring_(card.srqs.make(number)), max_sges_(max_sges) {
  const std::uint32_t size = std::bit_ceil(entries);
  ring_.stride = static_cast<std::uint16_t>(nic::entry_stride<nic::Receive>(max_sges, 0));
  entries_ = std::make_unique<std::byte[]>(std::size_t{size} * ring_.stride);
  order_.resize(size);
  free_.resize(size);
  for (std::uint32_t i = 0; i < size; ++i) free_[i] = size - 1 - i;
  ring_.entries = entries_.get();
  ring_.order = order_.data();
  ring_.free = free_.data();
  ring_.free_count = size;
  ring_.shift = static_cast<std::uint32_t>(std::countr_zero(size));
  ring_.domain = domain;
  ring_.live = true;
}

SharedReceiveQueue::~SharedReceiveQueue() {
  card_.receives.forget(card_.contexts.size() + number_);
  card_.srqs.erase(number_);
}

Error SharedReceiveQueue::set_limit(std::uint32_t limit) {
  if (limit > capacity()) return Error::invalid_argument;
  ring_.limit = limit;
  return Error::none;
}

}  // namespace weft::host
