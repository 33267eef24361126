// The one device, as programs see it before they open it.
#pragma once

#include <array>
#include <cstdint>

#include <infiniband/verbs.h>

#include "wire/types.h"

namespace weft::verbs {

inline constexpr const char* kDeviceName = "weft0";

[[nodiscard]] bool is_ours(const ibv_device* device);

// A number for the card that is the same in every program of this address: a locally administered EUI-64.
[[nodiscard]] std::array<std::uint8_t, 8> guid_of(const wire::Address& first);
[[nodiscard]] __be64 guid_number(const wire::Address& first);

}  // namespace weft::verbs
