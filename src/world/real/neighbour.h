// Another lane on this host that this one has met.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <sys/eventfd.h>

#include "world/real/descriptor.h"
#include "world/real/mapping.h"
#include "world/real/ring_port.h"

namespace weft::real {

// What a packet takes of a socket's buffer, about.
constexpr std::int64_t udp_cost(std::size_t bytes) { return static_cast<std::int64_t>(bytes + bytes / 8) + 256; }

class NeighbourLane {
 public:
  NeighbourLane(std::uint8_t mine, std::uint8_t place, Mapping<Channel> channel, Mapping<Door> door, Descriptor wake)
      : place_(place),
        channel_(std::move(channel)),
        door_(std::move(door)),
        wake_(std::move(wake)),
        out(channel_->rings[mine <= place ? 0 : 1]),
        in(channel_->rings[mine < place ? 1 : 0]) {}

 private:
  static constexpr std::uint64_t kTurn = 64 * 1024;

  std::uint8_t place_;
  Mapping<Channel> channel_;
  Mapping<Door> door_;
  Descriptor wake_;
  std::vector<wire::Address> addresses_;  // those it was met at

 public:
  RingWriter out;
  RingReader in;
  bool ring = true;   // packets to it go through the ring; else over UDP, counted so that its sockets do not overflow
  bool numb = false;  // has taken nothing for long
  bool used = false;  // since the last publish()
  std::int64_t unannounced = 0;  // what was sent to its sockets since then

  [[nodiscard]] bool has_address(const wire::Address& a) const {
    return std::find(addresses_.begin(), addresses_.end(), a) != addresses_.end();
  }
  void add_address(const wire::Address& a) {
    if (!has_address(a)) addresses_.push_back(a);
  }

  [[nodiscard]] std::uint8_t place() const { return place_; }
  [[nodiscard]] Door& door() const { return *door_; }
  [[nodiscard]] bool takes_trains() const { return door_->takes_trains.load(std::memory_order_relaxed) != 0; }

  // Room for what one turn of the scheduler may send.
  [[nodiscard]] bool has_room() {
    const bool room = ring ? out.room() >= kTurn : has_udp_room();
    if (room) numb = false;
    return room;
  }
  [[nodiscard]] bool has_udp_room() const {
    const std::int64_t waiting = door_->udp_sent.load(std::memory_order_relaxed) -
                                 door_->udp_taken.load(std::memory_order_relaxed) + unannounced;
    return waiting < door_->udp_room.load(std::memory_order_relaxed) / 4;
  }
  void count_sent(std::size_t bytes) { unannounced += udp_cost(bytes); }

  // Before datagrams leave: the receiver must not count what it takes before we have counted what we send.
  void announce() {
    if (unannounced == 0) return;
    door_->udp_sent.fetch_add(unannounced, std::memory_order_relaxed);
    unannounced = 0;
  }
  // What was written becomes visible; a sleeper is woken.
  void publish() {
    if (!ring || !out.publish()) return;
    std::atomic_thread_fence(
        std::memory_order_seq_cst);  // against the sleeper's: it sees the record, or we see it asleep
    if (door_->asleep.load(std::memory_order_relaxed) != 0 && door_->asleep.exchange(0) != 0) {
      (void)eventfd_write(wake_.get(), 1);
    }
  }
};

}  // namespace weft::real
