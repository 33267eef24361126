// The card that a lane's settings ask for.
#pragma once

#include <memory_resource>

#include "host/device.h"
#include "wire/vendor_mad.h"
#include "world/real/settings/settings.h"

namespace weft::real {

[[nodiscard]] host::DeviceConfig device_config(const Settings& settings, std::pmr::memory_resource& memory);
// Of srnic, that its connections may speak.
[[nodiscard]] wire::DialectVersions versions_of(const Settings& settings);

}  // namespace weft::real
