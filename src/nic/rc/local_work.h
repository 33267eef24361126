// Work that sends nothing: it changes keys.
#pragma once

#include "nic/core.h"
#include "nic/host_memory.h"

namespace weft::nic {

// Once: it is marked in host memory, so that who meets it again while going back does not do it twice.
template <World W>
[[nodiscard]] Refusal carry_out_locally(Core<W>& core, const Context& c, const Work& w) {
  if ((w.flags & WorkFlags::done) != 0) return Refusal::none;
  Refusal r = Refusal::none;
  core.revoke_behind(wire::Key(w.kind == WorkKind::local_invalidate ? w.immediate : w.key));
  if (w.kind == WorkKind::local_invalidate) {
    r = core.state.memory.invalidate(wire::Key(w.immediate), core.asker(c));
  } else {
    r = core.state.memory.bind({wire::Key(w.key), wire::Key(w.bind.region), w.bind.address, w.bind.length,
                                static_cast<Rights>(w.bind.rights), wire::Key(w.immediate)},
                               core.asker(c));
  }
  if (r == Refusal::none) mark_work(core, w, WorkFlags::done, true);
  return r;
}

}  // namespace weft::nic
