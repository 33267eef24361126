// The moment at which the host can see a completion: its world says when (nic/world.h). If the queue was armed, the
// host is told, at once or after as many completions as it asked for.
#pragma once

#include "nic/card_state.h"
#include "nic/world.h"

namespace weft::nic {

template <class W>
void raise_completion_event(CardState& state, W& world, std::uint32_t cq_number) {
  CompletionRing& cq = state.cqs[cq_number];
  cq.armed = Notify::none;
  cq.unreported = 0;
  state.cq_timers.disarm(cq_number);
  world.notify({EventKind::completion, cq_number});
}

// The newest visible completion of an armed queue may be worth an event. Apart: programs that poll arm nothing.
template <class W>
[[gnu::noinline]] void consider_event(CardState& state, W& world, Time now, std::uint32_t cq_number) {
  CompletionRing& cq = state.cqs[cq_number];
  const Completion& newest = cq.at(cq.visible - 1);
  if (cq.armed == Notify::solicited && !newest.solicited && newest.status == Status::success) return;
  if (++cq.unreported >= cq.moderate_count) return raise_completion_event(state, world, cq_number);
  if (cq.deadline == kNever) state.cq_timers.arm(cq_number, now + cq.moderate_period);
}

// The oldest completion that the host cannot see yet becomes visible.
template <class W>
void reveal(CardState& state, W& world, Time now, std::uint32_t cq_number) {
  CompletionRing& cq = state.cqs[cq_number];
  ++cq.visible;
  if (cq.armed != Notify::none) [[unlikely]]
    consider_event(state, world, now, cq_number);
}

}  // namespace weft::nic
