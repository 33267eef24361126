// Programs drawn from a seed: everything that can be chosen is. What the draw makes possible (retries that run out,
// receives that come too late) is noted in the program, and everything else is an error.
#pragma once

#include <cstdint>

#include "reliability/program.h"

namespace weft::test {

[[nodiscard]] Program swarm_program(std::uint64_t seed);

}  // namespace weft::test
