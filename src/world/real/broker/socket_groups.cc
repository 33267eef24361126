#include "world/real/broker/socket_groups.h"

#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "world/real/settings/address_text.h"
#include "world/real/udp/roce_socket.h"

namespace weft::real {
namespace {

constexpr std::size_t kMaxGroups = 256;

Trouble taken(const wire::Address& address, wire::UdpPort port) {
  return {EADDRINUSE,
          fmt::format("UDP port {} of {} is taken: by Soft-RoCE, by Weft of another user or of another "
                      "container, or by a program whose broker was killed and that is stopped (end it). Or choose "
                      "another address with --addr",
                      number_of(port), text_of(address))};
}

Trouble explain(Trouble t, const wire::Address& address) {
  if (is_short_of_descriptors(t.code)) return too_many_files();
  if (t.code == EADDRNOTAVAIL) t.what += fmt::format(". This machine does not have the address {}", text_of(address));
  return t;
}

}  // namespace

bool is_short_of_descriptors(int code) { return code == EMFILE || code == ENFILE; }

Trouble too_many_files() {
  rlimit limit{};
  (void)getrlimit(RLIMIT_NOFILE, &limit);
  return {EMFILE, fmt::format("too many open files: the broker (process {}) may have {}, too few for another program. "
                              "It got that limit (ulimit -Hn) from the program that started it",
                              getpid(), limit.rlim_cur)};
}

tl::expected<std::vector<int>, Trouble> SocketGroups::sockets_of(std::span<const wire::Address> addresses,
                                                                 std::span<const wire::UdpPort> ports,
                                                                 std::uint8_t lane_number) {
  std::vector<int> found;
  for (const wire::UdpPort port : ports) {
    for (const wire::Address& address : addresses) {
      const auto socket = socket_of(address, port, lane_number);
      if (!socket) return tl::unexpected(socket.error());
      found.push_back(*socket);
    }
  }
  return found;
}

void SocketGroups::admit(std::span<const int> sockets, std::span<const wire::UdpPort> ports, std::uint8_t lane_number) {
  const std::size_t addresses = sockets.size() / ports.size();
  for (std::size_t i = 0; i < sockets.size(); ++i) admit_lane(sockets[i], ports[i / addresses], lane_number);
}

void SocketGroups::close_door(std::uint8_t lane_number) {
  for (const auto& [id, group] : groups_) {
    if (lane_number < group.sockets.size()) admit_nobody(group.sockets[lane_number].get());
  }
}

SocketGroups::Group* SocketGroups::find(std::uint64_t id) {
  const auto it = groups_.find(id);
  return it != groups_.end() ? &it->second : nullptr;
}

SocketGroups::Group* SocketGroups::find(const wire::Address& address, wire::UdpPort port) {
  for (auto& [id, group] : groups_) {
    if (group.address == address && group.port == port) return &group;
  }
  return nullptr;
}

tl::expected<SocketGroups::Group*, Trouble> SocketGroups::open(const wire::Address& address, wire::UdpPort port) {
  if (groups_.size() >= kMaxGroups) return tl::unexpected(Trouble{ENOSPC, "too many addresses for one broker"});
  if (!port_is_free(address, port)) return tl::unexpected(taken(address, port));
  auto first = open_roce_socket(address, port);
  if (!first) return tl::unexpected(explain(first.error(), address));
  next_ = next_ + 1 < kEnd ? next_ + 1 : kFirst;
  Group& group = groups_[next_];
  group.address = address;
  group.port = port;
  if (port == wire::UdpPort::roce) {
    listen_(first->get(), next_);
    admit_lane(first->get(), port, 0);
  } else {
    admit_nobody(first->get());
  }
  group.sockets.push_back(std::move(*first));
  return &group;
}

tl::expected<int, Trouble> SocketGroups::socket_of(const wire::Address& address, wire::UdpPort port,
                                                   std::uint8_t lane_number) {
  Group* group = find(address, port);
  if (group == nullptr) {
    const auto opened = open(address, port);
    if (!opened) return tl::unexpected(opened.error());
    group = *opened;
  }
  while (group->sockets.size() <= lane_number) {
    auto next = open_roce_socket(address, port);
    if (!next) return tl::unexpected(explain(next.error(), address));
    admit_nobody(next->get());
    group->sockets.push_back(std::move(*next));
  }
  return group->sockets[lane_number].get();
}

}  // namespace weft::real
