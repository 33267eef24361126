// What a region's first byte is called when its program does not say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "native/device_state.h"

namespace weft::native {

[[nodiscard]] std::uint64_t choose_address(DeviceState& device, std::span<std::byte> memory,
                                           std::optional<std::uint64_t> asked);

}  // namespace weft::native
