// Who has which port of which port space, and who listens there.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "wire/types.h"
#include "world/real/broker/messages.h"

namespace weft::real {

class Services {
 public:
  // The port taken, or nothing: it is another's, or none is free. Port 0 chooses one; zeros are every address.
  [[nodiscard]] std::optional<std::uint16_t> take(std::uint8_t lane_number, std::uint16_t space,
                                                  const wire::Address& address, std::uint16_t port);
  void release(std::uint8_t lane_number, std::uint16_t space, const wire::Address& address, std::uint16_t port);
  void listen(std::uint8_t lane_number, std::uint16_t space, const wire::Address& address, std::uint16_t port, bool on);
  // Where a request for this service goes; 0: nobody listens.
  [[nodiscard]] std::uint8_t listener(const wire::Address& at, std::uint64_t service_id) const;
  void forget(std::uint8_t lane_number);

 private:
  struct Entry {
    std::uint8_t lane_number = 0;
    std::uint16_t space = 0, port = 0;
    wire::Address address{};
    std::uint32_t uses = 0;  // a program may bind a port again: its listener and what it accepts share it
    bool listening = false;
  };
  [[nodiscard]] Entry* find(std::uint8_t lane_number, std::uint16_t space, const wire::Address& address,
                            std::uint16_t port);
  [[nodiscard]] bool is_free(std::uint8_t lane_number, std::uint16_t space, const wire::Address& address,
                             std::uint16_t port) const;

  std::vector<Entry> entries_;
  std::uint16_t next_port_ = kFirstDynamicPort;
  static constexpr std::uint16_t kFirstDynamicPort = 32768, kLastDynamicPort = 60999;  // as Linux
};

}  // namespace weft::real
