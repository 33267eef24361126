#include "world/real/broker/conversation.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "world/real/broker/broker_place.h"
#include "world/real/os/events.h"

namespace weft::real {
namespace {

constexpr std::size_t kMaxDescriptors = wire::kUdpPorts * kMaxAddresses + 2;

std::optional<ucred> other_end(int socket) {
  ucred other{};
  socklen_t bytes = sizeof other;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &bytes) != 0) return std::nullopt;
  return other;
}

// A broker of another user's would see all our traffic.
bool is_ours(int socket) {
  const auto other = other_end(socket);
  return other && (other->uid == geteuid() || other->uid == 0);
}

// A socket on which neither connecting nor sending waits for ever for a peer who takes nothing.
Descriptor open_socket() {
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const timeval patience{kAnswerWithin / 1000, 0};
  if (socket) (void)setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  return socket;
}

bool connect_to(int socket, const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.data(), std::min(path.size(), sizeof name.sun_path - 1));
  return connect(socket, static_cast<sockaddr*>(static_cast<void*>(&name)), sizeof name) == 0;
}

Trouble no_line(int code) { return {code, fmt::format("cannot open a line to the broker: {}", std::strerror(code))}; }

void take_descriptors(const msghdr& header, std::vector<Descriptor>& out) {
  for (const cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr;
       c = CMSG_NXTHDR(const_cast<msghdr*>(&header), const_cast<cmsghdr*>(c))) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t i = 0; CMSG_LEN((i + 1) * sizeof(int)) <= c->cmsg_len; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
      out.emplace_back(fd);
    }
  }
}

// An introduction without descriptors would mean that the other has left.
void forget_descriptors(Incoming& in) {
  in.descriptors.clear();
  in.lacks_descriptors = true;
  if (in.message.topic == Topic::met) in.message.code = EMFILE;
}

}  // namespace

std::string text_of_other(int socket) {
  const auto other = other_end(socket);
  return other ? fmt::format("process {} of {}", other->pid, text_of_user(other->uid)) : "an unknown process";
}

tl::expected<Conversation, Trouble> find_broker() {
  const auto paths = broker_sockets();
  if (!paths) return tl::unexpected(paths.error());
  for (const std::string& path : *paths) {
    Descriptor socket = open_socket();
    if (!socket) return tl::unexpected(no_line(errno));
    if (!connect_to(socket.get(), path)) {
      if (errno == ENOENT || errno == ECONNREFUSED) continue;
      if (errno != EAGAIN) return tl::unexpected(no_line(errno));
      return tl::unexpected(Trouble{
          ETIMEDOUT, fmt::format("the broker at {} has taken no calls for {} s: it is stopped, or too many call", path,
                                 kAnswerWithin / 1000)});
    }
    if (!is_ours(socket.get())) {
      return tl::unexpected(
          Trouble{EACCES, fmt::format("at {} listens {}, and not your broker", path, text_of_other(socket.get()))});
    }
    return Conversation(std::move(socket));
  }
  return tl::unexpected(no_line(ECONNREFUSED));
}

Conversation call_broker() { return find_broker().value_or(Conversation()); }

bool Conversation::say_at_once(const Message& message, std::string_view text) const {
  return send(message, text, {}, MSG_DONTWAIT);
}

bool Conversation::send(Message message, std::string_view text, std::span<const int> descriptors, int flags) const {
  message.text_bytes = static_cast<std::uint32_t>(text.size());
  std::array<iovec, 2> parts{iovec{&message, sizeof message}, iovec{const_cast<char*>(text.data()), text.size()}};
  msghdr header{};
  header.msg_iov = parts.data();
  header.msg_iovlen = text.empty() ? 1 : 2;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> control{};
  if (!descriptors.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(c), descriptors.data(), descriptors.size_bytes());
  }
  for (;;) {
    if (sendmsg(socket_.get(), &header, MSG_NOSIGNAL | flags) >= 0) return true;
    if (errno != EINTR) return false;
  }
}

// Lanes ask often, and seldom is there anything: room for the longest message is made only when there is one.
bool Conversation::is_silent() const {
  return recv(socket_.get(), nullptr, 0, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EINTR);
}

std::optional<Incoming> Conversation::hear() {
  if (is_silent()) return std::nullopt;
  Incoming in;
  in.text.resize(kMaxText);
  in.descriptors.reserve(kMaxDescriptors);  // now: once they have come, nobody has them if there is no memory
  std::array<iovec, 2> parts{iovec{&in.message, sizeof in.message}, iovec{in.text.data(), in.text.size()}};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = parts.data();
  header.msg_iovlen = parts.size();
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  const ssize_t got = recvmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) {
    over_ = errno != EAGAIN && errno != EINTR;
    return std::nullopt;
  }
  take_descriptors(header, in.descriptors);
  if (got == 0) {
    over_ = true;
    return std::nullopt;
  }
  const auto bytes = static_cast<std::size_t>(got);
  if (bytes < sizeof in.message || in.message.text_bytes != bytes - sizeof in.message) return std::nullopt;
  in.text.resize(in.message.text_bytes);
  if ((header.msg_flags & MSG_CTRUNC) != 0) forget_descriptors(in);
  return in;
}

std::optional<Incoming> Conversation::wait(int milliseconds) {
  return wait_to_read(socket_.get(), milliseconds) ? hear() : std::nullopt;
}

}  // namespace weft::real
