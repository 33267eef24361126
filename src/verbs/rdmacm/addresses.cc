#include "verbs/rdmacm/addresses.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace weft::rdmacm {
namespace {

constexpr wire::Address kLoopback6{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};

}  // namespace

bool CmAddress::is_loopback() const { return address.is_v4() ? address.bytes[12] == 127 : address == kLoopback6; }

bool CmAddress::is_local_host() const { return address == wire::Address::v4(127, 0, 0, 1) || address == kLoopback6; }

socklen_t length_of(const sockaddr* address) {
  if (address == nullptr) return 0;
  switch (address->sa_family) {
    case AF_INET: return sizeof(sockaddr_in);
    case AF_INET6: return sizeof(sockaddr_in6);
    default: return 0;
  }
}

CmAddress endpoint_of(const sockaddr* address) {
  CmAddress out{.family = address->sa_family};
  if (address->sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, address, sizeof in);
    const auto b = std::bit_cast<std::array<std::uint8_t, 4>>(in.sin_addr.s_addr);
    if (in.sin_addr.s_addr != 0) out.address = wire::Address::v4(b[0], b[1], b[2], b[3]);
    out.port = ntohs(in.sin_port);
    return out;
  }
  sockaddr_in6 in{};
  std::memcpy(&in, address, sizeof in);
  std::copy(std::begin(in.sin6_addr.s6_addr), std::end(in.sin6_addr.s6_addr), out.address.bytes.begin());
  out.port = ntohs(in.sin6_port);
  out.scope = in.sin6_scope_id;
  return out;
}

void write_endpoint(const CmAddress& endpoint, sockaddr_storage& out) {
  out = {};
  if (endpoint.family == AF_INET) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(endpoint.port);
    std::memcpy(&in.sin_addr, &endpoint.address.bytes[12], sizeof in.sin_addr);
    std::memcpy(&out, &in, sizeof in);
  } else {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(endpoint.port);
    in.sin6_scope_id = endpoint.scope;
    std::memcpy(&in.sin6_addr, endpoint.address.bytes.data(), sizeof in.sin6_addr);
    std::memcpy(&out, &in, sizeof in);
  }
}

std::uint16_t port_of(const sockaddr* address) {
  return length_of(address) == 0 ? std::uint16_t{0} : htons(endpoint_of(address).port);
}

}  // namespace weft::rdmacm
