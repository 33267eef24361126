// Addresses as people write them.
#pragma once

#include <string>

#include <arpa/inet.h>

#include "wire/types.h"

namespace weft::real {

inline std::string text_of(const wire::Address& address) {
  char text[INET6_ADDRSTRLEN] = "";
  const bool v4 = address.is_v4();
  (void)inet_ntop(v4 ? AF_INET : AF_INET6, address.bytes.data() + (v4 ? 12 : 0), text, sizeof text);
  return text;
}

}  // namespace weft::real
