// A lane: one card, its ports, and one lock. It runs inside the program that uses it. Whoever posts work or polls a
// completion queue drives it; a background thread does when nobody else does, and sleeps when there is nothing to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <tl/expected.hpp>

#include "host/device.h"
#include "world/real/lane/lane_lock.h"
#include "world/real/lane/lane_owner.h"
#include "world/real/os/trouble.h"
#include "world/real/settings/settings.h"

namespace weft::real {

class Lane {
 public:
  Lane(const Settings& settings, LaneOwner& owner);
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // Takes a lane number among the programs of the lane's addresses and starts the background thread. To be called
  // before the first queue pair is made; again, it does nothing. Takes the lock itself.
  [[nodiscard]] tl::expected<void, Trouble> attach();

  // Before the first queue pair that plays this role of StaR is made. Takes the lock itself.
  [[nodiscard]] tl::expected<void, Trouble> play(host::StarRole role);

  // Everything about the device happens under this lock.
  [[nodiscard]] LaneLock& lock() { return lock_; }

  // -- with the lock held --
  [[nodiscard]] host::Device& device();
  [[nodiscard]] Time now() const;  // the completions' `when` is of this clock
  // Work was posted, or a queue pair changed its state: the card hears of it now. Whoever has posted to one queue pair
  // may name its slot and need not have rung its doorbell.
  void rang(std::uint32_t slot = nic::kNone);
  void polled();  // somebody looked at a completion queue: a program that does so often drives the lane itself
  void poll();    // drives the lane: for whoever found a completion queue empty
  void flush();   // what is owed to others leaves now: before a queue pair, or the program, ends
  void armed();   // somebody will sleep until an event comes: the background thread takes over

  // How often a connection has begun to speak something else while it ran, or this side has wanted that in vain.
  struct MoveCounts {
    std::uint64_t made = 0, refused = 0;
  };
  [[nodiscard]] MoveCounts moves() const;

  // In a child process, which has no part in its parent's card: lets go of the network. Nothing may be called
  // afterwards.
  void abandon();

  // -- without the lock --
  // Is there a way to this queue pair; to an address, if there is none? Only with --wire shm there may not be.
  [[nodiscard]] bool reaches(const wire::Address& address, std::optional<wire::Qpn> qpn = std::nullopt);

  // For whoever polled in vain: after many vain polls others may have the processor. Two programs that poll must not
  // need more processors than there are.
  void rest();

  // -- the connection manager; without the lock --
  // The first byte (most significant) of every communication id that this program gives out: answers find it by that.
  [[nodiscard]] std::uint8_t number() const;
  // Takes a port of a port space (0x0106 TCP, 0x0111 UDP…) for this program: 0 chooses one. An address of zeros: all.
  [[nodiscard]] tl::expected<std::uint16_t, Trouble> bind_service(std::uint16_t space, const wire::Address& address,
                                                                  std::uint16_t port);
  void release_service(std::uint16_t space, const wire::Address& address, std::uint16_t port);
  // Requests to this bound port come to this program from now on, or no longer.
  void listen(std::uint16_t space, const wire::Address& address, std::uint16_t port, bool on);
  // Sends a management datagram (256 bytes) from QP1 of `from` to QP1 of `to`.
  void send_mad(const wire::Address& from, const wire::Address& to, std::span<const std::byte> mad);

 private:
  class Engine;
  LaneLock lock_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace weft::real
