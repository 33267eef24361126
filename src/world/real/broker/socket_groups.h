// All UDP sockets that the broker has opened: a group for each address and port, its members in the order of lane
// numbers. They stay open as long as anybody has the address: their order is what steers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include <tl/expected.hpp>

#include "wire/types.h"
#include "world/real/os/descriptor.h"
#include "world/real/os/trouble.h"

namespace weft::real {

[[nodiscard]] bool is_short_of_descriptors(int code);
[[nodiscard]] Trouble too_many_files();

class SocketGroups {
 public:
  struct Group {
    wire::Address address{};
    wire::UdpPort port{};
    std::vector<Descriptor> sockets;
  };
  static constexpr std::uint64_t kFirst = 1, kEnd = 1U << 20;  // their ids

  // Queue pair 1, which is lane number 0 of port 4791, is the broker's: listen(socket, id) is called for it.
  explicit SocketGroups(std::function<void(int socket, std::uint64_t id)> listen) : listen_(std::move(listen)) {}

  // A lane's sockets of all addresses at the first of these ports, then at the next; opened where there are none.
  [[nodiscard]] tl::expected<std::vector<int>, Trouble> sockets_of(std::span<const wire::Address> addresses,
                                                                   std::span<const wire::UdpPort> ports,
                                                                   std::uint8_t lane_number);
  // The sockets take in what is for this lane. Sockets and ports as above.
  static void admit(std::span<const int> sockets, std::span<const wire::UdpPort> ports, std::uint8_t lane_number);
  // What is for a lane that has left is not kept for the next.
  void close_door(std::uint8_t lane_number);

  [[nodiscard]] Group* find(std::uint64_t id);
  [[nodiscard]] Group* find(const wire::Address& address, wire::UdpPort port);
  // An address that no lane has any more is let go, with all its sockets.
  template <class IsUsed>
  void keep(IsUsed&& is_used) {
    std::erase_if(groups_, [&](const auto& g) { return !is_used(g.second.address); });
  }

 private:
  [[nodiscard]] tl::expected<int, Trouble> socket_of(const wire::Address& address, wire::UdpPort port,
                                                     std::uint8_t lane_number);
  [[nodiscard]] tl::expected<Group*, Trouble> open(const wire::Address& address, wire::UdpPort port);

  std::function<void(int socket, std::uint64_t id)> listen_;
  std::map<std::uint64_t, Group> groups_;
  std::uint64_t next_ = kFirst;
};

}  // namespace weft::real
