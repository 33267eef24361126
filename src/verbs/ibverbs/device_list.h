// The one device, as programs see it before they open it.
#pragma once

#include <infiniband/verbs.h>

#include "wire/types.h"

namespace weft::verbs {

[[nodiscard]] bool is_ours(const ibv_device* device);

// A number for the card that is the same in every program of this address: a locally administered EUI-64.
[[nodiscard]] __be64 guid_number(const wire::Address& first);

}  // namespace weft::verbs
