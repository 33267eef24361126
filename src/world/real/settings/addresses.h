// The machine's own addresses, and what its network devices say about them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "wire/types.h"

namespace weft::real {

inline constexpr std::size_t kMaxAddresses = 8;  // GIDs of a port

// 127.0.0.1, fd00::1: an address that a port can have, or a sentence that says why it cannot.
[[nodiscard]] tl::expected<wire::Address, std::string> parse_address(std::string_view text);

// A network device and one of its addresses.
struct Interface {
  std::string name;
  wire::Address address, mask;
  bool up = false, loopback = false;
  friend bool operator==(const Interface&, const Interface&) = default;
};

[[nodiscard]] std::vector<Interface> machine_interfaces();

// Which of them a device takes if it is told nothing: of devices that are up and not the loopback, IPv4 first, then
// IPv6 that is not of one link only, at most kMaxAddresses; if there are none, 127.0.0.1.
[[nodiscard]] std::vector<wire::Address> usual_addresses(const std::vector<Interface>& interfaces);
[[nodiscard]] std::vector<wire::Address> machine_addresses();

// The device that has this address. The loopback has all of its network.
[[nodiscard]] std::optional<std::string> device_of(const wire::Address& address,
                                                   const std::vector<Interface>& interfaces);

// The largest RoCE MTU (256 ... 4096) whose packets fit a network device's.
inline constexpr std::uint32_t kHeadersAround = 80;  // IPv6, UDP, BTH, the largest usual extension, ICRC
[[nodiscard]] std::uint16_t largest_roce_mtu(std::uint32_t device_mtu);
// The path MTU for the device that has this address; 1024, which fits almost everywhere, if none has.
[[nodiscard]] std::uint16_t roce_mtu(const wire::Address& address);

}  // namespace weft::real
