// The network of one host: the sockets of port 4791 that the broker opens, in the order of their lane numbers, and
// datagrams under way to them. A socket is one end of a pair of the kernel's, so that descriptors, epoll and their end
// are the real ones; what it would carry stands here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <sys/socket.h>
#include <sys/types.h>

#include "real_parts/times.h"
#include "wire/types.h"
#include "world/random.h"
#include "world/real/os/descriptor.h"

namespace weft::scene {

inline constexpr wire::Address kAddress = wire::Address::v4(192, 0, 2, 1);  // programs of one host share it

class Network {
 public:
  static constexpr int kRoom = 1 << 20;  // of a socket's buffer, as the kernel counts

  Network(world::Random& draw, double loss) : draw_(draw), loss_(loss) {}

  // -- as udp/roce_socket.h has them
  [[nodiscard]] bool is_free();
  [[nodiscard]] real::Descriptor open();
  void admit(int socket, bool anybody);

  // -- as recvmsg and sendmsg
  [[nodiscard]] long receive(Time now, int socket, msghdr& message);
  [[nodiscard]] long send(Time now, int socket, const msghdr& message);

  // When the next datagram arrives.
  [[nodiscard]] Time next() const;
  // Those who wait for what has arrived are told.
  void arrive(Time now);

  [[nodiscard]] std::uint64_t datagrams() const { return datagrams_; }
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  [[nodiscard]] std::uint64_t overflows() const { return overflows_; }

 private:
  using Bytes = std::vector<std::byte>;
  struct Member {
    real::Descriptor far;  // our end
    ino_t inode = 0;       // of theirs, whoever has a descriptor of it
    bool admits = false, rung = false;
    std::multimap<Time, Bytes> queue{};
    std::int64_t used = 0;
    std::map<const Member*, Time> last{};  // that came from others: what one sends keeps its order

    [[nodiscard]] bool is_closed() const;
    [[nodiscard]] Time next() const { return queue.empty() ? kNever : queue.begin()->first; }
    void clear();
  };
  [[nodiscard]] Member* member_of(int socket);
  void carry(Time now, const Member& from, std::span<const std::byte> datagram);

  world::Random& draw_;
  double loss_;
  std::vector<std::unique_ptr<Member>> members_;  // by lane number
  std::uint64_t datagrams_ = 0, lost_ = 0, overflows_ = 0;
};

}  // namespace weft::scene
