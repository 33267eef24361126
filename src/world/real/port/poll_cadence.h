// When a lane looks at its UDP sockets, and at which of them. Each look is a system call, while a ring costs nothing to
// look at, and local peers announce what they send to a socket. A pure machine: times and what came go in, the sockets
// to look at come out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "world/real/os/time.h"

namespace weft::real {

class PollCadence {
 public:
  // -- all thresholds
  static constexpr std::uint32_t kEagerLooks = 64;  // without a pause, after something came or was announced
  static constexpr std::uint32_t kAllEvery = 8;     // one of so many eager looks is at all sockets
  static constexpr std::uint32_t kBusyLooks = 4;    // in one look, at a socket by which messages come one at a time
  static constexpr Time kPause = microseconds(5);   // between others, where local peers would have announced something
  static constexpr Time kLongestPause = microseconds(100);  // however much comes by rings

  enum class Look : std::uint8_t {
    none,
    busy,  // only at the socket by which something came last: by that something will come next
    all,
  };

  // A local peer has announced that it sends something.
  void announced() { eager_ = kEagerLooks; }
  // The next look is at all sockets, whatever came.
  void look_at_all() {
    eager_ = kEagerLooks;
    eager_looks_ = kAllEvery - 1;
  }
  // A ring that never empties must not keep those out who come by sockets.
  [[nodiscard]] bool is_overdue(Time now) const { return now >= overdue_at_; }
  // `announces`: there are local peers. Of others only a socket can tell.
  [[nodiscard]] Look look(Time now, bool announces) {
    const bool eager = is_eager();
    if (eager) {
      --eager_;
    } else if (announces && now < next_) {
      return Look::none;
    }
    next_ = now + kPause;
    overdue_at_ = now + kLongestPause;
    return !eager || ++eager_looks_ % kAllEvery == 0 ? Look::all : Look::busy;
  }
  // How often to ask this socket until it has something. Where messages come one at a time somebody waits for the next,
  // which is seen the sooner the less there is between two looks.
  [[nodiscard]] std::uint32_t looks_at(std::size_t socket, bool idle, bool one_at_a_time) const {
    return idle && one_at_a_time && is_busy(socket) && is_eager() ? kBusyLooks : 1;
  }
  void came_by(std::size_t socket) {
    busy_ = socket;
    eager_ = kEagerLooks;
  }
  // Only `count` sockets are left.
  void keep_sockets(std::size_t count) { busy_ = std::min(busy_, count - 1); }

  [[nodiscard]] bool is_eager() const { return eager_ > 0; }
  [[nodiscard]] bool is_busy(std::size_t socket) const { return socket == busy_; }

 private:
  std::uint32_t eager_ = 0;        // looks that are left
  std::uint32_t eager_looks_ = 0;  // so far
  Time next_ = 0;                  // when to look otherwise
  Time overdue_at_ = 0;            // and when at last
  std::size_t busy_ = 0;           // the socket by which something came last
};

}  // namespace weft::real
