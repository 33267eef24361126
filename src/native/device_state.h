// What stands behind a weft::Device: a device of the host room, and what the world that made it decided. The world owns
// it; handles point to it.
#pragma once

#include <cstdint>

#include "host/device.h"
#include "weft/device.h"

namespace weft::native {

struct DeviceState {
  host::Device* device = nullptr;
  std::uint32_t index = 0;         // the world's number for it
  std::uint32_t objects = 0;       // made by handles and not destroyed yet
  bool open = false;               // a weft::Device holds it
  std::uint64_t next_address = 0;  // of the next region that names none; 0: regions lie where their memory lies
};

// The world's way to a handle. A device is open at most once.
[[nodiscard]] Device open(DeviceState& state);

// What a world must build for these limits. Addresses are the world's to fill in.
[[nodiscard]] host::DeviceConfig config_of(const DeviceLimits& limits);

}  // namespace weft::native
