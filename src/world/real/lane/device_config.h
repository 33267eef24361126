// The card that a lane's settings ask for.
#pragma once

#include <memory_resource>

#include "host/device.h"
#include "wire/vendor_mad.h"
#include "world/real/settings/settings.h"

namespace weft::real {

[[nodiscard]] host::DeviceConfig device_config(const Settings& settings, std::pmr::memory_resource& memory);

// Of its connections. Undecided: each finds out what its peer speaks.
[[nodiscard]] inline nic::Dialect dialect_of(const Settings& settings) {
  if (settings.transport == TransportChoice::srnic) return nic::Dialect::srnic;
  return settings.transport == TransportChoice::roce ? nic::Dialect::roce : nic::Dialect::undecided;
}
// Of srnic, that its connections may speak.
[[nodiscard]] inline wire::DialectVersions versions_of(const Settings& settings) {
  return settings.transport == TransportChoice::roce ? wire::DialectVersions{} : wire::kDialectVersions;
}

}  // namespace weft::real
