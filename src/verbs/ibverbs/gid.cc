// The GID table: the device's addresses, all of them RoCE v2.
#include <algorithm>
#include <cstring>

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include "verbs/ibverbs/context.h"
#include "verbs/ibverbs/errors.h"
#include "verbs/ibverbs/limits.h"

namespace weft::verbs {
namespace {

std::span<const wire::Address> table_of(ibv_context* context) { return context_of(context).device.config().gids; }

// Is this interface's address that one? Every address of 127.0.0.0/8 is of the loopback interface.
bool is_at(const ifaddrs& at, const wire::Address& address) {
  if (at.ifa_addr == nullptr) return false;
  if (at.ifa_addr->sa_family == AF_INET && address.is_v4()) {
    sockaddr_in in{};
    std::memcpy(&in, at.ifa_addr, sizeof in);
    if (address.bytes[12] == 127) return (at.ifa_flags & IFF_LOOPBACK) != 0;
    return std::memcmp(&in.sin_addr, &address.bytes[12], 4) == 0;
  }
  if (at.ifa_addr->sa_family != AF_INET6) return false;
  sockaddr_in6 in{};
  std::memcpy(&in, at.ifa_addr, sizeof in);
  return std::memcmp(&in.sin6_addr, address.bytes.data(), 16) == 0;
}

// Number of the interface that has this address; 0 if none has.
std::uint32_t interface_of(const wire::Address& address) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return 0;
  std::uint32_t found = 0;
  for (const ifaddrs* at = all; at != nullptr && found == 0; at = at->ifa_next) {
    if (is_at(*at, address)) found = ::if_nametoindex(at->ifa_name);
  }
  ::freeifaddrs(all);
  return found;
}

ibv_gid_entry entry_of(const wire::Address& address, std::size_t index) {
  ibv_gid_entry e{};
  std::copy(address.bytes.begin(), address.bytes.end(), e.gid.raw);
  e.gid_index = static_cast<std::uint32_t>(index);
  e.port_num = kPort;
  e.gid_type = IBV_GID_TYPE_ROCE_V2;
  e.ndev_ifindex = interface_of(address);
  return e;
}

}  // namespace
}  // namespace weft::verbs

using namespace weft::verbs;

extern "C" {

int ibv_query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* gid) {
  const auto table = table_of(context);
  if (port != kPort || index < 0 || static_cast<std::size_t>(index) >= table.size()) return minus_one(EINVAL);
  std::copy(table[index].bytes.begin(), table[index].bytes.end(), gid->raw);
  return 0;
}

int _ibv_query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index, ibv_gid_entry* entry,
                      std::uint32_t flags, size_t entry_size) {
  const auto table = table_of(context);
  if (port != kPort || index >= table.size() || flags != 0) return EINVAL;
  const ibv_gid_entry found = entry_of(table[index], index);
  std::memcpy(entry, &found, std::min(entry_size, sizeof found));
  return 0;
}

ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, size_t max_entries, std::uint32_t flags,
                             size_t entry_size) {
  const auto table = table_of(context);
  if (flags != 0 || max_entries < table.size()) return -EINVAL;
  auto* to = static_cast<std::byte*>(static_cast<void*>(entries));
  for (std::size_t i = 0; i < table.size(); ++i) {
    const ibv_gid_entry found = entry_of(table[i], i);
    std::memcpy(to + i * entry_size, &found, std::min(entry_size, sizeof found));
  }
  return static_cast<ssize_t>(table.size());
}

// Private, for ibv_devinfo. Its numbers are those of sysfs: 0 InfiniBand or RoCE v1, 1 RoCE v2.
int ibv_query_gid_type(ibv_context* context, std::uint8_t port, unsigned int index, int* type) {
  if (port != kPort || index >= table_of(context).size()) return minus_one(EINVAL);
  *type = 1;
  return 0;
}

}  // extern "C"
