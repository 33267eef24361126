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

#include "wire/packet.h"
#include "world/real/joined.h"
#include "world/real/socket_address.h"

namespace weft::real {

class UdpReceiver {
 public:
  UdpReceiver();

  // One system call. Calls take(flow, datagram) for each packet; they stay until the next call. How many datagrams of
  // the kernel's there were.
  template <class Take>
  std::uint32_t receive(int socket, const wire::Address& own, Take&& take) {
    if (plain_) {
      const std::size_t bytes = call_plainly(socket);
      if (bytes == 0) return 0;
      take(wire::Flow{.source = wire_address(names_[0]), .destination = own, .source_port = port_of(names_[0])},
           std::span<const std::byte>(buffers_.get(), bytes));
      return 1;
    }
    return receive_several(socket, own, take);
  }

  // Messages come one at a time: then it costs less not to hear of segments and traffic classes.
  [[nodiscard]] bool one_at_a_time() const { return alone_ >= kAlone; }
  // Several have come in a row, though.
  [[nodiscard]] bool crowded() const { return in_a_row_ >= kCrowd; }
  [[nodiscard]] bool plain() const { return plain_; }
  // Segments that are in a socket already when this is turned on arrive as one, and are lost.
  void set_plain(std::span<const int> sockets, bool plain);

  static constexpr std::size_t kMessages = 8;

 private:
  static constexpr std::uint32_t kAlone = 256, kCrowd = 64;
  static constexpr std::size_t kBufferBytes = 65536, kControlBytes = 64;
  static constexpr std::size_t kOnePacket = wire::kMaxHeaderBytes + kWholePayload + wire::kIcrcBytes;

  // Apart from what is done for messages that come one at a time.
  template <class Take>
  [[gnu::noinline]] std::uint32_t receive_several(int socket, const wire::Address& own, Take& take) {
    const int n = call(socket);
    for (int i = 0; i < n; ++i) {
      const auto index = static_cast<std::size_t>(i);
      const std::size_t bytes = headers_[index].msg_len;
      wire::Flow flow{.source = wire_address(names_[index]), .destination = own, .source_port = port_of(names_[index])};
      const std::size_t segment = read_controls(headers_[index].msg_hdr, flow.traffic_class, bytes);
      const std::byte* data = buffers_.get() + index * kBufferBytes;
      alone_ = n == 1 && segment == bytes && bytes <= kOnePacket ? alone_ + 1 : 0;
      for (std::size_t at = 0; at < bytes; at += segment) {
        take(flow, std::span<const std::byte>(data + at, std::min(segment, bytes - at)));
      }
    }
    return n > 0 ? static_cast<std::uint32_t>(n) : 0;
  }
  int call(int socket);
  int call_for_one(int socket);
  std::size_t call_plainly(int socket);
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
