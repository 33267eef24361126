// The card that a lane's settings ask for.
#pragma once

#include <memory_resource>

#include "host/device.h"
#include "wire/vendor_mad.h"
#include "world/real/settings/settings.h"

namespace weft::real {

[[nodiscard]] host::DeviceConfig device_config(const Settings& settings, std::pmr::memory_resource& memory);

// What the lane's connections speak. Undecided: each finds out what its peer speaks.
[[nodiscard]] inline nic::Dialect dialect_of(const Settings& settings) {
  if (settings.transport == TransportChoice::srnic) return nic::Dialect::srnic;
  if (settings.transport == TransportChoice::star) return nic::Dialect::star;
  return settings.transport == TransportChoice::roce ? nic::Dialect::roce : nic::Dialect::undecided;
}
// The versions of srnic that the lane's connections may speak.
[[nodiscard]] inline wire::DialectVersions versions_of(const Settings& settings) {
  const bool speaks = settings.transport == TransportChoice::automatic || settings.transport == TransportChoice::srnic;
  return speaks ? wire::kDialectVersions : wire::DialectVersions{};
}
// StaR's roles: the one that all the lane's connections play, or that the lane chooses one for each of them.
[[nodiscard]] inline wire::StarRoles roles_of(const Settings& settings) {
  using Roles = wire::StarRoles;
  if (settings.transport == TransportChoice::automatic) return {Roles::kFollows | Roles::kChooses};
  if (settings.role == host::StarRole::none) return {};
  const std::uint8_t role = settings.role == host::StarRole::stateless ? Roles::kStateless : Roles::kStateful;
  return {static_cast<std::uint8_t>(role | Roles::kAlways)};
}
[[nodiscard]] constexpr wire::StarRoles roles_of(host::StarRole role) {
  using Roles = wire::StarRoles;
  return {role == host::StarRole::stateless  ? Roles::kStateless
          : role == host::StarRole::stateful ? Roles::kStateful
                                             : std::uint8_t{0}};
}

}  // namespace weft::real
