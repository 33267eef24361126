// Socket addresses and the card's addresses: the same 16 bytes, with a port and without.
#pragma once

#include <cstdint>

#include <netinet/in.h>
#include <sys/socket.h>

#include "wire/types.h"

namespace weft::rdmacm {

struct CmAddress {
  int family = AF_UNSPEC;
  wire::Address address{};  // IPv4 as ::ffff:a.b.c.d; zeros: any
  std::uint16_t port = 0;
  std::uint32_t scope = 0;

  [[nodiscard]] bool is_any() const { return address == wire::Address{}; }
  [[nodiscard]] bool is_loopback() const;    // 127.x.y.z or ::1
  [[nodiscard]] bool is_local_host() const;  // 127.0.0.1 or ::1
};

// 0 for families that are neither IPv4 nor IPv6.
[[nodiscard]] socklen_t length_of(const sockaddr* address);
// Only of an address whose length_of is not 0.
[[nodiscard]] CmAddress endpoint_of(const sockaddr* address);
void write_endpoint(const CmAddress& endpoint, sockaddr_storage& out);
// Network byte order, 0 for other families.
[[nodiscard]] std::uint16_t port_of(const sockaddr* address);

}  // namespace weft::rdmacm
