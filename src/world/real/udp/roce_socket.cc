#include "world/real/udp/roce_socket.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include "wire/lane_number.h"
#include "world/real/settings/address_text.h"
#include "world/real/settings/addresses.h"

namespace weft::real {
namespace {

constexpr int kUdpNoCheck6Rx = 102, kUdpGro = 104;  // linux/udp.h, which cannot stand beside netinet/udp.h
constexpr int kBufferBytes = 8 << 20;

void set(int socket, int level, int option, int value) {
  (void)setsockopt(socket, level, option, &value, sizeof value);
}

// More than the system's limit only with CAP_NET_ADMIN; the limit otherwise.
void enlarge_buffers(int socket) {
  set(socket, SOL_SOCKET, SO_RCVBUF, kBufferBytes);
  set(socket, SOL_SOCKET, SO_SNDBUF, kBufferBytes);
  set(socket, SOL_SOCKET, SO_RCVBUFFORCE, kBufferBytes);
  set(socket, SOL_SOCKET, SO_SNDBUFFORCE, kBufferBytes);
}

// DF, so that an unconnected socket sends identification 0, which the ICRC covers; and Soft-RoCE's IPv6 packets without
// a UDP checksum.
void set_options(int socket, bool v4) {
  set(socket, SOL_SOCKET, SO_REUSEPORT, 1);
  let_fragment(socket, v4 ? AF_INET : AF_INET6, false);
  if (!v4) {
    set(socket, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    set(socket, IPPROTO_UDP, kUdpNoCheck6Rx, 1);
  }
  hear_of_segments_and_classes(socket, true);
}

// The kernel hands a datagram to the socket of the lane that its destination queue pair belongs to.
int steer_by_lane(int socket, wire::UdpPort port) {
  const wire::LaneField field = wire::lane_field(port);
  std::array<sock_filter, 4> program{sock_filter{BPF_LD | BPF_B | BPF_ABS, 0, 0, field.byte},
                                     sock_filter{BPF_ALU | BPF_RSH | BPF_K, 0, 0, field.shift},
                                     sock_filter{BPF_ALU | BPF_AND | BPF_K, 0, 0, wire::kLaneMask},
                                     sock_filter{BPF_RET | BPF_A, 0, 0, 0}};
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return setsockopt(socket, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &filter, sizeof filter);
}

// What the kernel keeps of a datagram that it lets in, and of one that it does not.
constexpr std::uint32_t kAll = ~0U, kNothing = 0;

void admit(int socket, std::span<sock_filter> program) {
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  (void)setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
}

}  // namespace

// Unlike the filter that steers, this one sees the UDP header, too. What is too short for it is not let in.
void admit_lane(int socket, wire::UdpPort port, std::uint8_t lane_number) {
  constexpr std::uint32_t kUdpHeader = 8;
  const wire::LaneField field = wire::lane_field(port);
  std::array<sock_filter, 6> program{sock_filter{BPF_LD | BPF_B | BPF_ABS, 0, 0, kUdpHeader + field.byte},
                                     sock_filter{BPF_ALU | BPF_RSH | BPF_K, 0, 0, field.shift},
                                     sock_filter{BPF_ALU | BPF_AND | BPF_K, 0, 0, wire::kLaneMask},
                                     sock_filter{BPF_JMP | BPF_JEQ | BPF_K, 0, 1, lane_number},
                                     sock_filter{BPF_RET | BPF_K, 0, 0, kAll},
                                     sock_filter{BPF_RET | BPF_K, 0, 0, kNothing}};
  admit(socket, program);
}

void admit_nobody(int socket) {
  std::array<sock_filter, 1> program{sock_filter{BPF_RET | BPF_K, 0, 0, kNothing}};
  admit(socket, program);
  while (recv(socket, nullptr, 0, MSG_DONTWAIT | MSG_TRUNC) >= 0 || errno == EINTR) {
  }
}

tl::expected<Descriptor, Trouble> open_roce_socket(const wire::Address& address, wire::UdpPort port) {
  const bool v4 = address.is_v4();
  Descriptor socket(::socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const auto fail = [&](std::string_view deed) {
    return tl::unexpected(Trouble{errno, fmt::format("cannot {} UDP port {} of {}: {}", deed, number_of(port),
                                                     text_of(address), std::strerror(errno))});
  };
  if (!socket) return fail("open");
  set_options(socket.get(), v4);
  enlarge_buffers(socket.get());
  const SocketAddress name = socket_address(address, number_of(port));
  if (bind(socket.get(), &name.any, name.bytes()) != 0) return fail("take");
  if (steer_by_lane(socket.get(), port) != 0) return fail("steer packets of");
  return socket;
}

Descriptor open_line(const wire::Address& own, const SocketAddress& from) {
  const std::optional<std::string> device = device_of(own, machine_interfaces());
  const bool v4 = own.is_v4();
  Descriptor socket(::socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!device || !socket) return {};
  set_options(socket.get(), v4);
  enlarge_buffers(socket.get());
  const SocketAddress name = socket_address(own, wire::kRocePort);
  const bool open = setsockopt(socket.get(), SOL_SOCKET, SO_BINDTODEVICE, device->c_str(),
                               static_cast<socklen_t>(device->size() + 1)) == 0 &&
                    bind(socket.get(), &name.any, name.bytes()) == 0 &&
                    connect(socket.get(), &from.any, from.bytes()) == 0;
  return open ? std::move(socket) : Descriptor();
}

Sending open_sending_socket(const wire::Address& own) {
  SocketAddress name = socket_address(own, 0);
  socklen_t bytes = name.bytes();
  Sending made{.socket = Descriptor(::socket(name.any.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0))};
  const int socket = made.socket.get();
  admit_nobody(socket);
  let_fragment(socket, name.any.sa_family, false);
  enlarge_buffers(socket);
  if (bind(socket, &name.any, bytes) != 0 || getsockname(socket, &name.any, &bytes) != 0) return {};
  made.source_port = port_of(name);
  return made;
}

void hear_of_segments_and_classes(int socket, bool wanted) {
  const int value = wanted ? 1 : 0;
  set(socket, IPPROTO_UDP, kUdpGro, value);
  set(socket, IPPROTO_IP, IP_RECVTOS, value);  // of the two that are not this socket's family's, nothing comes
  set(socket, IPPROTO_IPV6, IPV6_RECVTCLASS, value);
}

bool port_is_free(const wire::Address& address, wire::UdpPort port) {
  const Descriptor probe(::socket(address.is_v4() ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!address.is_v4()) set(probe.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  const SocketAddress name = socket_address(address, number_of(port));
  return bind(probe.get(), &name.any, name.bytes()) == 0 || errno != EADDRINUSE;
}

int receive_buffer_bytes(int socket) {
  int bytes = 0;
  socklen_t size = sizeof bytes;
  return getsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, &size) == 0 ? bytes : 0;
}

std::uint32_t dropped_by(int socket) {
  std::array<std::uint32_t, SK_MEMINFO_VARS> facts{};
  socklen_t size = sizeof facts;
  return getsockopt(socket, SOL_SOCKET, SO_MEMINFO, facts.data(), &size) == 0 ? facts[SK_MEMINFO_DROPS] : 0;
}

void let_fragment(int socket, int family, bool may) {
  if (family == AF_INET) {
    set(socket, IPPROTO_IP, IP_MTU_DISCOVER, may ? IP_PMTUDISC_WANT : IP_PMTUDISC_DO);
  } else {
    set(socket, IPPROTO_IPV6, IPV6_MTU_DISCOVER, may ? IPV6_PMTUDISC_WANT : IPV6_PMTUDISC_DO);
  }
}

namespace {

std::uint32_t mtu_of_connected(int socket, int family) {
  int bytes = 0;
  socklen_t size = sizeof bytes;
  const bool v4 = family == AF_INET;
  const bool known = getsockopt(socket, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_MTU : IPV6_MTU, &bytes, &size) == 0;
  return known ? static_cast<std::uint32_t>(bytes) : 0;
}

}  // namespace

std::uint32_t path_mtu(const SocketAddress& to) {
  const int family = to.any.sa_family;
  const Descriptor socket(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return connect(socket.get(), &to.any, to.bytes()) == 0 ? mtu_of_connected(socket.get(), family) : 0;
}

bool takes_long_datagrams(int socket, int family) { return mtu_of_connected(socket, family) >= 65535; }

}  // namespace weft::real
