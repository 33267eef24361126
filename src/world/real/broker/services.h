// Who has which port of which port space, and who listens there.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include <tl/expected.hpp>

#include "wire/types.h"
#include "world/real/broker/messages.h"

namespace weft::real {

class Services {
 public:
  static constexpr std::size_t kMost = 131'072;  // ports of all lanes

  // The port taken. EADDRINUSE: it is another's, or none is free; ENOMEM: so many are taken as there may be. Port 0
  // chooses one; zeros are every address.
  [[nodiscard]] tl::expected<std::uint16_t, int> take(std::uint8_t lane_number, std::uint16_t space,
                                                      const wire::Address& address, std::uint16_t port);
  void release(std::uint8_t lane_number, std::uint16_t space, const wire::Address& address, std::uint16_t port);
  void listen(std::uint8_t lane_number, std::uint16_t space, const wire::Address& address, std::uint16_t port, bool on);
  // Where a request for this service goes; 0: nobody listens.
  [[nodiscard]] std::uint8_t listener(const wire::Address& at, std::uint64_t service_id) const;
  void forget(std::uint8_t lane_number);

 private:
  struct Entry {
    std::uint8_t lane_number = 0;
    wire::Address address{};
    std::uint32_t uses = 0;  // a program may bind a port again: its listener and what it accepts share it
    bool listening = false;
  };
  using Entries = std::multimap<std::pair<std::uint16_t, std::uint16_t>, Entry>;  // by port space and port

  [[nodiscard]] Entries::iterator find(std::uint8_t lane_number, std::uint16_t space, const wire::Address& address,
                                       std::uint16_t port);
  [[nodiscard]] bool is_free(std::uint8_t lane_number, std::uint16_t space, const wire::Address& address,
                             std::uint16_t port) const;

  Entries entries_;
  std::uint16_t next_port_ = kFirstDynamicPort;
  static constexpr std::uint16_t kFirstDynamicPort = 32768, kLastDynamicPort = 60999;  // as Linux
};

}  // namespace weft::real
