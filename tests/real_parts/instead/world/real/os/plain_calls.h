// In the place of src/world/real/os/plain_calls.h: the network of the scene.
#pragma once

#include <cstddef>

#include <sys/socket.h>

#include "real_parts/stage.h"

namespace weft::real {

inline long receive_one(int socket, msghdr& message) { return scene::receive(socket, message); }
inline long receive_many(int socket, mmsghdr* messages, unsigned count) {
  long got = 0;
  for (; got < static_cast<long>(count); ++got) {
    const long bytes = scene::receive(socket, messages[got].msg_hdr);
    if (bytes < 0) return got > 0 ? got : -1;
    messages[got].msg_len = static_cast<unsigned>(bytes);
  }
  return got;
}
inline long receive_plainly(int socket, void* buffer, std::size_t bytes, sockaddr* from, socklen_t* from_bytes) {
  iovec part{buffer, bytes};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_name = from;
  message.msg_namelen = from != nullptr ? *from_bytes : 0;
  return scene::receive(socket, message);
}
inline long send_one(int socket, const msghdr& message) { return scene::send(socket, message); }
inline long send_plainly(int socket, const void* bytes, std::size_t size) {
  iovec part{const_cast<void*>(bytes), size};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  return scene::send(socket, message);
}
inline long send_many(int socket, mmsghdr* messages, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    if (scene::send(socket, messages[i].msg_hdr) < 0) return i > 0 ? static_cast<long>(i) : -1;
  }
  return static_cast<long>(count);
}

}  // namespace weft::real
