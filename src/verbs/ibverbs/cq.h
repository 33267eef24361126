#pragma once

#include <algorithm>

#include "verbs/ibverbs/context.h"

namespace weft::verbs {

// A completion queue in its long form, without the functions of extended polling; null and errno.
CompletionQueue* make_cq(ibv_context* context, std::int64_t entries, void* cq_context, ibv_comp_channel* channel,
                         std::int64_t vector);

// Calls use(completion) for at most so many; if there are none, drives the card and looks again. How many. With the
// lane's lock held.
template <class Use>
std::uint32_t take(CompletionQueue& cq, std::uint32_t most, Use&& use) {
  cq.owner->lane.polled();
  if (std::min(cq.queue->waiting(), most) == 0) cq.owner->lane.poll();
  return cq.queue->poll(most, use);
}

}  // namespace weft::verbs
