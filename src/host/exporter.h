// Memory that is exported. An exported payload (wire/payload.h) is read by the receiver when it places it, not when it
// is sent. Until the peer has acknowledged it the program must leave that memory alone, as every verbs program does.
// But it may end otherwise: the queue pair breaks or is destroyed, the region is deregistered. Before the program hears
// of that, what was exported is revoked: who fetches it later finds that it is too late, and takes the packet for lost.
// The card revokes through its world (nic/world.h); this is for the host's own calls, none of which carries data.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::host {

class Exporter {
 public:
  virtual void revoke_all() = 0;
  // What lies in this memory, at least.
  virtual void revoke(const std::byte* from, std::uint64_t bytes) = 0;

 protected:
  ~Exporter() = default;
};

}  // namespace weft::host
