// How much a connection may have under way. Siblings behind the same few calls; which one is the device's choice. They
// hear of acknowledgements and of silence, never of a lost packet alone: on a lossy wire loss is no sign of congestion.
//
//   start(context, most)                            a connection begins; `most` is the widest window, in packets
//   on_ack(context, most, acked, marked, under_way)
//   on_silence(context)                             a timeout
//   undo_silence(context)                           that one was no loss
//   window(context, most)                           packets that may be under way, at least one
#pragma once

#include <cstdint>

#include "nic/congestion/dctcp.h"
#include "nic/congestion/none.h"

namespace weft::nic {

enum class CongestionControl : std::uint8_t { none, dctcp };

// Calls `use` with the sibling that was chosen.
template <class Use>
constexpr auto with_congestion(CongestionControl chosen, Use&& use) {
  return chosen == CongestionControl::dctcp ? use(Dctcp{}) : use(NoCongestionControl{});
}

// Does it want packets to carry "ECN-capable transport"?
constexpr bool wants_marks(CongestionControl c) { return c == CongestionControl::dctcp; }

}  // namespace weft::nic
