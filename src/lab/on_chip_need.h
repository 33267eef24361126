// What a profile's structures take on chip, and whether the chip has it.
#pragma once

#include <cstdint>
#include <string>

#include "lab/profile.h"

namespace weft::lab {

[[nodiscard]] std::uint64_t on_chip_need(const Profile& profile);

// Empty if the structures fit into sram_bytes, or nobody said how much that is; else the sum, part by part.
[[nodiscard]] std::string does_not_fit(const Profile& profile);

}  // namespace weft::lab
