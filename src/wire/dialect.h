// Which language a reliable connection speaks on the wire. Two Weft cards find out about each other before the first
// packet; until they have, the connection is undecided and holds its packets back, unless the peer's first packet
// settles the question.
#pragma once

#include <cstdint>

namespace weft::wire {

enum class Dialect : std::uint8_t {
  roce,       // RoCEv2 as everybody speaks it: go-back-N
  srnic,      // between Weft cards: selective repeat, packets placed in any order (wire/srnic.h)
  undecided,  // either: the answer is on its way
  star,       // between Weft cards: one side keeps the state of both (wire/star.h)
};

}  // namespace weft::wire
