#include "real_parts/network.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

#include <netinet/in.h>
#include <sys/stat.h>

#include "wire/lane_number.h"
#include "world/real/os/socket_address.h"
#include "world/real/port/flow_account.h"

namespace weft::scene {
namespace {

constexpr int kUdpSegment = 103;  // linux/udp.h

ino_t inode_of(int fd) {
  struct stat facts {};
  return fstat(fd, &facts) == 0 ? facts.st_ino : 0;
}

// 0: the whole is one.
std::size_t segment_bytes(const msghdr& message) {
  for (const cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr;
       c = CMSG_NXTHDR(const_cast<msghdr*>(&message), const_cast<cmsghdr*>(c))) {
    if (c->cmsg_level != IPPROTO_UDP || c->cmsg_type != kUdpSegment) continue;
    std::uint16_t bytes = 0;
    std::memcpy(&bytes, CMSG_DATA(c), sizeof bytes);
    return bytes;
  }
  return 0;
}

}  // namespace

// ---- sockets

bool Network::Member::is_closed() const {
  char byte = 0;
  return ::recv(far.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

void Network::Member::clear() {
  queue.clear();
  used = 0;
}

bool Network::is_free() {
  if (!std::all_of(members_.begin(), members_.end(), [](const auto& m) { return m->is_closed(); })) return false;
  members_.clear();
  return true;
}

real::Descriptor Network::open() {
  int ends[2] = {-1, -1};
  [[maybe_unused]] const int made = socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends);
  assert(made == 0);
  real::Descriptor theirs(ends[0]);
  auto member = std::make_unique<Member>();
  member->far = real::Descriptor(ends[1]);
  member->inode = inode_of(theirs.get());
  members_.push_back(std::move(member));
  return theirs;
}

Network::Member* Network::member_of(int socket) {
  const ino_t inode = inode_of(socket);
  for (const auto& member : members_) {
    if (member->inode == inode) return member.get();
  }
  return nullptr;
}

void Network::admit(int socket, bool anybody) {
  Member* const member = member_of(socket);
  member->admits = anybody;
  if (!anybody) member->clear();
}

// ---- datagrams

long Network::receive(Time now, int socket, msghdr& message) {
  Member* const member = member_of(socket);
  const bool any = member != nullptr && member->next() <= now;
  long bytes = -1;
  if (any) {
    const Bytes first = std::move(member->queue.begin()->second);
    member->queue.erase(member->queue.begin());
    member->used -= real::udp_cost(first.size());
    assert(first.size() <= message.msg_iov->iov_len);
    std::memcpy(message.msg_iov->iov_base, first.data(), first.size());
    if (message.msg_name != nullptr) {
      const real::SocketAddress from = real::socket_address(kAddress, wire::kRocePort);
      std::memcpy(message.msg_name, &from, from.bytes());
    }
    message.msg_controllen = 0;
    bytes = static_cast<long>(first.size());
    ++datagrams_;
  }
  if (member != nullptr && member->rung && member->next() > now) {
    char byte = 0;
    (void)::recv(socket, &byte, 1, MSG_DONTWAIT);
    member->rung = false;
  }
  if (bytes < 0) errno = EAGAIN;
  return bytes;
}

long Network::send(Time now, int socket, const msghdr& message) {
  const Member* const from = member_of(socket);
  if (from == nullptr) {
    errno = EBADF;
    return -1;
  }
  Bytes whole;
  for (std::size_t i = 0; i < message.msg_iovlen; ++i) {
    const auto* at = static_cast<const std::byte*>(message.msg_iov[i].iov_base);
    whole.insert(whole.end(), at, at + message.msg_iov[i].iov_len);
  }
  const std::size_t said = segment_bytes(message), segment = said != 0 ? said : whole.size();
  for (std::size_t at = 0; at < whole.size(); at += segment) {
    carry(now, *from, std::span(whole).subspan(at, std::min(segment, whole.size() - at)));
  }
  return static_cast<long>(whole.size());
}

// To the lane whose number it has, as the kernel steers it.
void Network::carry(Time now, const Member& from, std::span<const std::byte> datagram) {
  const std::size_t lane_number = wire::lane_number(wire::UdpPort::roce, datagram);
  Member* const to = lane_number < members_.size() ? members_[lane_number].get() : nullptr;
  if (draw_.chance(loss_) || to == nullptr || !to->admits || to->is_closed()) {
    ++lost_;
    return;
  }
  const std::int64_t cost = real::udp_cost(datagram.size());
  if (to->used + cost > kRoom) {
    ++overflows_;
    return;
  }
  Time arrives = now + draw_.between(nanoseconds(500), microseconds(5));
  if (!draw_.chance(loss_)) {  // else it may overtake others
    Time& last = to->last[&from];
    last = arrives = std::max(arrives, last);
  }
  to->used += cost;
  to->queue.emplace(arrives, Bytes(datagram.begin(), datagram.end()));
}

Time Network::next() const {
  Time first = kNever;
  for (const auto& member : members_) {
    if (!member->rung) first = std::min(first, member->next());
  }
  return first;
}

void Network::arrive(Time now) {
  for (const auto& member : members_) {
    if (member->rung || member->next() > now) continue;
    member->rung = true;
    if (::send(member->far.get(), "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) member->clear();
  }
}

}  // namespace weft::scene
