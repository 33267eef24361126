// Receiving many packets with one system call. Segments that left together arrive together (UDP_GRO).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include <netinet/in.h>
#include <sys/socket.h>

#include "wire/packed_datagram.h"
#include "wire/packet.h"
#include "world/real/os/socket_address.h"

namespace weft::real {

// Where a socket is: what comes by it is for this address and port.
struct UdpPlace {
  wire::Address address{};
  wire::UdpPort port = wire::UdpPort::roce;
};

class UdpReceiver {
 public:
  UdpReceiver();

  // One system call. Calls take(flow, datagram) for each packet; they stay until the next call. How many datagrams of
  // the kernel's there were. `line`: the socket is a line (roce_socket.h), and all that comes by it is of this flow.
  template <class Take>
  std::uint32_t receive(int socket, const UdpPlace& own, Take&& take, const wire::Flow* line = nullptr) {
    if (!plain_) return receive_several(socket, own, take);
    const std::size_t bytes = call_plainly(socket, line == nullptr);
    if (bytes == 0) return 0;
    const wire::Flow flow = line != nullptr ? *line : flow_from(names_[0], own);
    take(flow, std::span<const std::byte>(buffers_.get(), bytes));
    return 1;
  }

  // Messages come one at a time: then it costs less not to hear of segments and traffic classes.
  [[nodiscard]] bool one_at_a_time() const { return alone_ >= kAlone; }
  // Several have come in a row, though.
  [[nodiscard]] bool crowded() const { return in_a_row_ >= kCrowd; }
  [[nodiscard]] bool plain() const { return plain_; }
  // Whether they do is to be seen again.
  void count_anew() { alone_ = in_a_row_ = 0; }
  // Where the first datagram of the last call came from, if it was not a plain one.
  [[nodiscard]] const SocketAddress& last_from() const { return names_[0]; }
  // Segments that are in a socket already when this is turned on arrive as one, and are lost.
  void set_plain(std::span<const int> sockets, bool plain);

  static constexpr std::size_t kMessages = 8;

 private:
  static constexpr std::uint32_t kAlone = 256, kCrowd = 8;
  static constexpr std::size_t kBufferBytes = 65536, kControlBytes = 64;
  static constexpr std::size_t kOnePacket = wire::kMaxHeaderBytes + wire::kWholePayload + wire::kIcrcBytes;

  // Apart from what is done for messages that come one at a time.
  template <class Take>
  [[gnu::noinline]] std::uint32_t receive_several(int socket, const UdpPlace& own, Take& take) {
    const int n = call(socket);
    for (int i = 0; i < n; ++i) {
      const auto index = static_cast<std::size_t>(i);
      const std::size_t bytes = headers_[index].msg_len;
      wire::Flow flow = flow_from(names_[index], own);
      const std::size_t segment = read_controls(headers_[index].msg_hdr, flow.traffic_class, bytes);
      const std::byte* data = buffers_.get() + index * kBufferBytes;
      alone_ = n == 1 && segment == bytes && bytes <= kOnePacket ? alone_ + 1 : 0;
      for (std::size_t at = 0; at < bytes; at += segment) {
        take(flow, std::span<const std::byte>(data + at, std::min(segment, bytes - at)));
      }
    }
    return n > 0 ? static_cast<std::uint32_t>(n) : 0;
  }
  static wire::Flow flow_from(const SocketAddress& name, const UdpPlace& own) {
    return {.source = wire_address(name), .destination = own.address, .to = own.port, .source_port = port_of(name)};
  }
  int call(int socket);
  int call_for_one(int socket);
  std::size_t call_plainly(int socket, bool named);
  // The size of the segments; a whole datagram is one.
  static std::size_t read_controls(msghdr& header, std::uint8_t& traffic_class, std::size_t bytes);

  bool plain_ = false;
  std::uint32_t alone_ = 0;     // datagrams in a row that came alone and were one packet
  std::uint32_t in_a_row_ = 0;  // plain calls that found something
  bool filled_ = false;         // the last call found as many as it asked for
  std::uint32_t wanted_ = 1;    // datagrams of the next call: asking for many costs more, even if there is none
  std::unique_ptr<std::byte[]> buffers_;
  std::array<mmsghdr, kMessages> headers_{};
  std::array<iovec, kMessages> parts_{};
  std::array<SocketAddress, kMessages> names_{};
  struct alignas(cmsghdr) Control {
    std::array<char, kControlBytes> bytes;
  };
  std::array<Control, kMessages> controls_{};
};

}  // namespace weft::real
