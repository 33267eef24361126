// What a bad cable does to bytes.
#pragma once

#include <cstddef>
#include <span>

#include "world/random.h"

namespace weft::world {

// Flips one bit, or now and then a burst of up to four bytes; there is at least one byte, and at least one bit of them
// changes.
void damage(std::span<std::byte> bytes, Random& random);

}  // namespace weft::world
