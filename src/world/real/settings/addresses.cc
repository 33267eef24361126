#include "world/real/settings/addresses.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "world/real/os/descriptor.h"
#include "world/real/os/socket_address.h"

namespace weft::real {
namespace {

constexpr std::uint16_t kUsualMtu = 1024;

bool is_link_local(const wire::Address& a) { return a.bytes[0] == 0xFE && (a.bytes[1] & 0xC0) == 0x80; }

// Why no port can have it; empty if one can.
std::string_view unusable(const wire::Address& a) {
  const bool v4 = a.is_v4();
  const auto zero = [](std::uint8_t byte) { return byte == 0; };
  if (std::all_of(a.bytes.begin() + (v4 ? 12 : 0), a.bytes.end(), zero)) return "is no host's address";
  if (v4 ? a.bytes[12] >= 224 : a.bytes[0] == 0xFF) return "is a group's address, not a host's";
  if (is_link_local(a)) return "is of one link only, and a RoCE address must be unique; use another of the device's";
  return {};
}

wire::Address address_of(const sockaddr* from) {
  SocketAddress copy{};
  std::memcpy(&copy, from, from->sa_family == AF_INET ? sizeof copy.v4 : sizeof copy.v6);
  return wire_address(copy);
}

bool same_network(const wire::Address& a, const Interface& one) {
  if (a.is_v4() != one.address.is_v4()) return false;
  for (std::size_t i = a.is_v4() ? 12 : 0; i < a.bytes.size(); ++i) {
    if (((a.bytes[i] ^ one.address.bytes[i]) & one.mask.bytes[i]) != 0) return false;
  }
  return true;
}

std::optional<std::uint32_t> mtu_of(const std::string& device) {
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  if (device.size() >= sizeof request.ifr_name) return std::nullopt;
  std::memcpy(request.ifr_name, device.data(), device.size());
  if (::ioctl(socket.get(), SIOCGIFMTU, &request) != 0 || request.ifr_mtu <= 0) return std::nullopt;
  return static_cast<std::uint32_t>(request.ifr_mtu);
}

}  // namespace

tl::expected<wire::Address, std::string> parse_address(std::string_view text) {
  const std::string copy(text), quoted = "'" + copy + "'";
  SocketAddress read{};
  if (::inet_pton(AF_INET, copy.c_str(), &read.v4.sin_addr) == 1) {
    read.any.sa_family = AF_INET;
  } else if (::inet_pton(AF_INET6, copy.c_str(), &read.v6.sin6_addr) == 1) {
    read.any.sa_family = AF_INET6;
  } else {
    return tl::unexpected(quoted + " is no IP address, like 127.0.0.1 or fd00::1");
  }
  const wire::Address address = wire_address(read);
  if (const std::string_view why = unusable(address); !why.empty()) {
    return tl::unexpected(quoted + " " + std::string(why));
  }
  return address;
}

std::vector<Interface> machine_interfaces() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, &::freeifaddrs);
  std::vector<Interface> all;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) continue;
    if (one->ifa_addr->sa_family != AF_INET && one->ifa_addr->sa_family != AF_INET6) continue;
    all.push_back({.name = one->ifa_name,
                   .address = address_of(one->ifa_addr),
                   .mask = one->ifa_netmask != nullptr ? address_of(one->ifa_netmask) : wire::Address{},
                   .up = (one->ifa_flags & IFF_UP) != 0,
                   .loopback = (one->ifa_flags & IFF_LOOPBACK) != 0});
  }
  return all;
}

std::vector<wire::Address> usual_addresses(const std::vector<Interface>& interfaces) {
  std::vector<wire::Address> all;
  for (const bool v4 : {true, false}) {
    for (const Interface& one : interfaces) {
      if (!one.up || one.loopback || one.address.is_v4() != v4 || !unusable(one.address).empty()) continue;
      const bool known = std::find(all.begin(), all.end(), one.address) != all.end();
      if (!known && all.size() < kMaxAddresses) all.push_back(one.address);
    }
  }
  if (all.empty()) all.push_back(wire::Address::v4(127, 0, 0, 1));
  return all;
}

std::vector<wire::Address> machine_addresses() { return usual_addresses(machine_interfaces()); }

std::optional<std::string> device_of(const wire::Address& address, const std::vector<Interface>& interfaces) {
  const auto has = [&](const Interface& one) { return one.address == address; };
  const auto covers = [&](const Interface& one) { return one.loopback && same_network(address, one); };
  auto found = std::find_if(interfaces.begin(), interfaces.end(), has);
  if (found == interfaces.end()) found = std::find_if(interfaces.begin(), interfaces.end(), covers);
  if (found == interfaces.end()) return std::nullopt;
  return found->name;
}

std::uint16_t largest_roce_mtu(std::uint32_t device_mtu) {
  std::uint16_t mtu = 4096;
  while (mtu > 256 && mtu + kHeadersAround > device_mtu) mtu = static_cast<std::uint16_t>(mtu / 2);
  return mtu;
}

std::uint16_t roce_mtu(const wire::Address& address) {
  const std::optional<std::string> device = device_of(address, machine_interfaces());
  const std::optional<std::uint32_t> mtu = device ? mtu_of(*device) : std::nullopt;
  return mtu ? largest_roce_mtu(*mtu) : kUsualMtu;
}

}  // namespace weft::real
