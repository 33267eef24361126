#include "world/real/udp/udp_receiver.h"

#include <utility>

#include "world/real/os/plain_calls.h"
#include "world/real/udp/roce_socket.h"

namespace weft::real {
namespace {
constexpr int kUdpGro = 104;  // linux/udp.h
}

UdpReceiver::UdpReceiver() : buffers_(new std::byte[kMessages * kBufferBytes]) {
  for (std::size_t i = 0; i < kMessages; ++i) {
    parts_[i] = {buffers_.get() + i * kBufferBytes, kBufferBytes};
    headers_[i].msg_hdr.msg_iov = &parts_[i];
    headers_[i].msg_hdr.msg_iovlen = 1;
    headers_[i].msg_hdr.msg_name = &names_[i];
    headers_[i].msg_hdr.msg_control = controls_[i].bytes.data();
  }
}

int UdpReceiver::call_for_one(int socket) {
  const long bytes = receive_one(socket, headers_[0].msg_hdr);
  if (bytes < 0) return -1;
  headers_[0].msg_len = static_cast<unsigned>(bytes);
  return 1;
}

std::size_t UdpReceiver::call_plainly(int socket, bool named) {
  socklen_t bytes = sizeof(SocketAddress);
  const long n = receive_plainly(socket, buffers_.get(), kBufferBytes, named ? &names_[0].any : nullptr, &bytes);
  in_a_row_ = n > 0 ? in_a_row_ + 1 : 0;
  return n > 0 ? static_cast<std::size_t>(n) : 0;
}

void UdpReceiver::set_plain(std::span<const int> sockets, bool plain) {
  for (const int socket : sockets) hear_of_segments_and_classes(socket, !plain);
  plain_ = plain;
  alone_ = in_a_row_ = 0;
}

int UdpReceiver::call(int socket) {
  for (std::uint32_t i = 0; i < wanted_; ++i) {
    headers_[i].msg_hdr.msg_namelen = sizeof(SocketAddress);
    headers_[i].msg_hdr.msg_controllen = kControlBytes;
  }
  const int n = wanted_ == 1 ? call_for_one(socket) : static_cast<int>(receive_many(socket, headers_.data(), wanted_));
  const bool again = std::exchange(filled_, n == static_cast<int>(wanted_));
  if (filled_) {
    if (again) wanted_ = std::min<std::uint32_t>(2 * wanted_, kMessages);  // not for messages that come one at a time
  } else if (n <= static_cast<int>(wanted_ / 2)) {
    wanted_ = std::max<std::uint32_t>(wanted_ / 2, 1);
  }
  return n;
}

std::size_t UdpReceiver::read_controls(msghdr& header, std::uint8_t& traffic_class, std::size_t bytes) {
  std::size_t segment = bytes;
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == kUdpGro) {
      int value = 0;
      std::memcpy(&value, CMSG_DATA(c), sizeof value);
      if (value > 0) segment = static_cast<std::size_t>(value);
    } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
      std::memcpy(&traffic_class, CMSG_DATA(c), 1);
    } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
      int value = 0;
      std::memcpy(&value, CMSG_DATA(c), sizeof value);
      traffic_class = static_cast<std::uint8_t>(value);
    }
  }
  return std::max<std::size_t>(segment, 1);
}

}  // namespace weft::real
