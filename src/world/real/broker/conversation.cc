#include "world/real/broker/conversation.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

namespace weft::real {
namespace {

constexpr std::size_t kMaxDescriptors = kMaxAddresses + 2;

struct Name {
  sockaddr_un address{};
  socklen_t bytes = 0;
};

Name abstract_name() {
  Name out;
  const std::string name = broker_name();
  out.address.sun_family = AF_UNIX;
  std::memcpy(out.address.sun_path + 1, name.data(), name.size());
  out.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return out;
}

const sockaddr* plain(const Name& name) {
  return static_cast<const sockaddr*>(static_cast<const void*>(&name.address));
}

Descriptor open_socket(int flags) { return Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0)); }

// The name is anyone's to take: a broker of another user would see all our traffic.
bool is_ours(int socket) {
  ucred other{};
  socklen_t bytes = sizeof other;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &bytes) == 0 && (other.uid == geteuid() || other.uid == 0);
}

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

// Some came for which this process has no room. An introduction without them would mean that the other has left.
void forget_descriptors(Incoming& in) {
  in.descriptors.clear();
  if (in.message.topic == Topic::met) in.message.code = EMFILE;
}

}  // namespace

std::string broker_name() { return fmt::format("weft-broker-{}", geteuid()); }

Conversation call_broker() {
  Descriptor socket = open_socket(0);
  if (!socket) return {};
  const Name name = abstract_name();
  if (connect(socket.get(), plain(name), name.bytes) != 0 || !is_ours(socket.get())) {
    errno = ECONNREFUSED;
    return {};
  }
  return Conversation(std::move(socket));
}

Descriptor listen_as_broker() {
  Descriptor socket = open_socket(SOCK_NONBLOCK);
  const Name name = abstract_name();
  if (!socket || bind(socket.get(), plain(name), name.bytes) != 0 || ::listen(socket.get(), 256) != 0) return {};
  return socket;
}

bool Conversation::say(Message message, std::string_view text, std::span<const int> descriptors) const {
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
    if (sendmsg(socket_.get(), &header, MSG_NOSIGNAL) >= 0) return true;
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
  pollfd p{socket_.get(), POLLIN, 0};
  for (;;) {
    const int ready = ::poll(&p, 1, milliseconds);
    if (ready < 0 && errno == EINTR) continue;
    return ready > 0 ? hear() : std::nullopt;
  }
}

}  // namespace weft::real
