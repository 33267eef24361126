// Sending and receiving as the kernel knows it. The C library's functions of these names are points where a thread may
// be cancelled: one that was would leave its lane locked for ever. To make sure of that they do more than the call.
#pragma once

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::real {

inline long receive_one(int socket, msghdr& message) { return syscall(SYS_recvmsg, socket, &message, MSG_DONTWAIT); }
inline long receive_many(int socket, mmsghdr* messages, unsigned count) {
  return syscall(SYS_recvmmsg, socket, messages, count, MSG_DONTWAIT, nullptr);
}
inline long send_one(int socket, const msghdr& message) { return syscall(SYS_sendmsg, socket, &message, MSG_DONTWAIT); }
inline long receive_plainly(int socket, void* buffer, std::size_t bytes, sockaddr* from, socklen_t* from_bytes) {
  return syscall(SYS_recvfrom, socket, buffer, bytes, MSG_DONTWAIT, from, from_bytes);
}
inline long send_plainly(int socket, const void* bytes, std::size_t size) {
  return syscall(SYS_sendto, socket, bytes, size, MSG_DONTWAIT, nullptr, 0);
}
inline long send_many(int socket, mmsghdr* messages, unsigned count) {
  return syscall(SYS_sendmmsg, socket, messages, count, MSG_DONTWAIT);
}

}  // namespace weft::real
