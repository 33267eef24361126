// Between the addresses of the wire and those of the socket interface.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include <netinet/in.h>
#include <sys/socket.h>

#include "wire/types.h"

namespace weft::real {

union SocketAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;

  [[nodiscard]] socklen_t bytes() const {
    return any.sa_family == AF_INET ? static_cast<socklen_t>(sizeof v4) : static_cast<socklen_t>(sizeof v6);
  }
};

inline SocketAddress socket_address(const wire::Address& address, std::uint16_t port) {
  SocketAddress out{};
  if (address.is_v4()) {
    out.v4.sin_family = AF_INET;
    out.v4.sin_port = htons(port);
    std::memcpy(&out.v4.sin_addr, address.bytes.data() + 12, 4);
  } else {
    out.v6.sin6_family = AF_INET6;
    out.v6.sin6_port = htons(port);
    std::memcpy(&out.v6.sin6_addr, address.bytes.data(), 16);
  }
  return out;
}

// In words: this is done for every datagram, and who looks at the address next would wait for its bytes.
inline wire::Address wire_address(const SocketAddress& from) {
  std::array<std::uint32_t, 4> words{};
  if (from.any.sa_family == AF_INET) {
    words[2] = htonl(0xFFFF);
    words[3] = from.v4.sin_addr.s_addr;
  } else {
    std::memcpy(words.data(), &from.v6.sin6_addr, sizeof words);
  }
  return std::bit_cast<wire::Address>(words);
}

inline std::uint16_t port_of(const SocketAddress& from) {
  return ntohs(from.any.sa_family == AF_INET ? from.v4.sin_port : from.v6.sin6_port);
}

}  // namespace weft::real
