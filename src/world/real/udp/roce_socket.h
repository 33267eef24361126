// A UDP socket of port 4791 or of StaR's two, one of a group that shares an address: the kernel hands each packet to
// the member whose lane number is in the packet (wire/lane_number.h).
#pragma once

#include <cstdint>

#include <tl/expected.hpp>

#include "wire/types.h"
#include "world/real/os/descriptor.h"
#include "world/real/os/socket_address.h"
#include "world/real/os/trouble.h"

namespace weft::real {

// The next member of the address's group: the first is lane number 0. Members must be made in order, by one owner, and
// stay open: the kernel finds them by their index.
[[nodiscard]] tl::expected<Descriptor, Trouble> open_roce_socket(const wire::Address& address,
                                                                 wire::UdpPort port = wire::UdpPort::roce);

// Which datagrams a member takes in: those of its own lane. The kernel gives what is for numbers beyond the last member
// to any of them.
void admit_lane(int socket, wire::UdpPort port, std::uint8_t lane_number);
// None, as long as nobody has its lane number: strangers could fill it. What it holds is thrown away.
void admit_nobody(int socket);

// A line: a socket of this address and port by which comes only what `from` sends. The kernel finds it by itself,
// without asking who has which lane number, and who receives by it need not be told where a datagram came from. It is
// bound to the address's device, and so is not of the group: the members' indices stay as they are. No descriptor:
// there is none to be had, and all goes on coming by the group's.
[[nodiscard]] Descriptor open_line(const wire::Address& own, const SocketAddress& from);

// One that sends from a port of its own, and hears nothing. No descriptor: there is none to be had.
struct Sending {
  Descriptor socket{};
  std::uint16_t source_port = 0;
};
[[nodiscard]] Sending open_sending_socket(const wire::Address& own);

// Does nobody have the port, not even as a group? A new group must not join an old one: the lane numbers would be
// wrong.
[[nodiscard]] bool port_is_free(const wire::Address& address, wire::UdpPort port);

// Segments that arrive together stay together (UDP_GRO), and the traffic class of what arrives is told, for ECN.
void hear_of_segments_and_classes(int socket, bool wanted);

[[nodiscard]] int receive_buffer_bytes(int socket);
// Datagrams that it dropped since it was opened: its buffer was full, or its filter did not let them in.
[[nodiscard]] std::uint32_t dropped_by(int socket);

// The kernel may take a datagram that is too long for the way apart into fragments; or may not, and answers EMSGSIZE.
void let_fragment(int socket, int family, bool may);
// What the way there takes, as far as the kernel has found out; 0: there is no way.
[[nodiscard]] std::uint32_t path_mtu(const SocketAddress& to);

// Does a datagram of 64 KB go in one piece to where this socket is connected?
[[nodiscard]] bool takes_long_datagrams(int socket, int family);

}  // namespace weft::real
