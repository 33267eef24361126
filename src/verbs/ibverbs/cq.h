#pragma once

#include "verbs/ibverbs/context.h"

namespace weft::verbs {

// A completion queue in its long form, without the functions of extended polling; null and errno.
CompletionQueue* make_cq(ibv_context* context, std::int64_t entries, void* cq_context, ibv_comp_channel* channel,
                         std::int64_t vector);

// Takes completions; if there are none, drives the card and looks again. With the lane's lock held.
inline std::uint32_t take(CompletionQueue& cq, std::span<nic::Completion> out) {
  cq.owner->lane.polled();
  const std::uint32_t taken = cq.queue->poll(out);
  if (taken != 0) return taken;
  cq.owner->lane.poll();
  return cq.queue->poll(out);
}

}  // namespace weft::verbs
