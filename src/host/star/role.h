// Which part a queue pair plays in a StaR connection.
#pragma once

#include <cstdint>

namespace weft::host {

enum class StarRole : std::uint8_t {
  none,       // the connection is no StaR connection
  stateless,  // the peer's card keeps the state of both
  stateful,   // this card does
};

}  // namespace weft::host
