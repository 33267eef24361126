// What an event of the simulated world can be, and what its target and argument are then.
#pragma once

#include <cstdint>

namespace weft::sim {

enum class FabricEventKind : std::uint8_t {
  arrive,      // link, parcel: a packet's last bit is at the far end
  next,        // link, parcel: the same of the first in the link's line, and the next takes its place
  let_go,      // link, ticket: a packet that waited for another to pass has waited long enough
  queue,       // link: its next packet may leave
  pause,       // link: the far end says that packets should wait,
  go_on,       //   or that they need not any longer
  wake,        // host, generation: the host asked to be woken
  host_event,  // host, whatever the host wanted to be told
  resume,      // parked coroutine, generation: it goes on
  time_out,    // parked coroutine, generation: it goes on because it waited long enough
};

}  // namespace weft::sim
