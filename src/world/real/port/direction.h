// Which way a packet passes a port.
#pragma once

#include <cstdint>

namespace weft::real {

enum class Direction : std::uint8_t { inbound, outbound };

}  // namespace weft::real
