// What is in a lane's UDP sockets, as far as its local peers can know. A datagram that finds a socket's buffer full is
// lost without a word. On one host that need not be: senders count in the receiver's shared status what they send, and
// the receiver counts what it has taken. Both sides are pure machines over that page; times come in as arguments.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "world/real/os/time.h"
#include "world/real/shm/shared_page.h"

namespace weft::real {

// -- all thresholds
// What a packet takes of a socket's buffer, about.
constexpr std::int64_t udp_cost(std::size_t bytes) { return static_cast<std::int64_t>(bytes + bytes / 8) + 256; }
// What is sent or taken is told to the other side when it is so much: each word costs both a cache line.
constexpr std::int64_t udp_account(std::int64_t room) { return std::min<std::int64_t>(room / 64, 64 * 1024); }
// What others say in shared memory may be any number. A difference of two wraps, as unsigned ones do.
constexpr std::int64_t wrapped_difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
// What senders may have in the sockets. Several of them may reach this at once, and none sees what the others have not
// announced.
constexpr std::int64_t udp_promised(std::int64_t room) { return room / 4; }
// Who sends again within this sends to one who still looks at its sockets.
inline constexpr Time kUdpSoon = microseconds(10);

// The receiver's side: each lane has one.
class FlowAccount {
 public:
  // The page must outlive this. `room` is that of one socket, as the kernel counts it.
  void open(SharedStatus& status, std::int64_t room) {
    status_ = &status;
    account_ = udp_account(room);
    status.udp_room.store(room, std::memory_order_relaxed);
  }
  void close() { status_ = nullptr; }

  // Senders have announced nothing since has_news().
  [[nodiscard]] bool is_quiet() const { return status_->udp_sent.load(std::memory_order_relaxed) == announced_; }
  [[nodiscard]] bool has_news() {
    const std::int64_t sent = status_->udp_sent.load(std::memory_order_relaxed);
    return std::exchange(announced_, sent) != sent;
  }
  // A packet of so many bytes is out of its socket.
  void took(std::size_t bytes) {
    untold_ += udp_cost(bytes);
    if (untold_ >= account_) tell();
  }
  // Empty sockets settle the account, whatever was lost or came from elsewhere.
  void settle() {
    status_->udp_taken.store(announced_, std::memory_order_relaxed);
    untold_ = 0;
  }

 private:
  void tell() { status_->udp_taken.fetch_add(std::exchange(untold_, 0), std::memory_order_relaxed); }

  SharedStatus* status_ = nullptr;
  std::int64_t announced_ = 0;  // what senders had announced when has_news() was last asked
  std::int64_t untold_ = 0;     // what was taken, and senders have not been told
  std::int64_t account_ = 0;    // until it is so much
};

// The sender's side: each local peer has one for each lane that it sends to.
class FlowCredit {
 public:
  explicit FlowCredit(SharedStatus& status) : status_(&status) {}

  // Is there room for more? The other side's account is looked at only when what it promised is used up.
  [[nodiscard]] bool has_room() {
    if (credit_ > 0) return true;
    const std::int64_t sent = status_->udp_sent.load(std::memory_order_relaxed),
                       taken = status_->udp_taken.load(std::memory_order_relaxed),
                       waiting = wrapped_difference(sent, wrapped_difference(taken, unannounced_)),
                       room = status_->udp_room.load(std::memory_order_relaxed);
    account_ = udp_account(room);
    credit_ = std::max(std::min(wrapped_difference(udp_promised(room), waiting), account_), -kNoCredit);
    return credit_ > 0;
  }
  void count_sent(std::size_t bytes) {
    unannounced_ += udp_cost(bytes);
    credit_ -= udp_cost(bytes);
  }
  // Before datagrams leave. The first after a pause is always announced: the receiver looks at its sockets for that.
  // Less than an account that follows soon is not: the receiver still looks, and its sockets have room for that much
  // more than was promised.
  void announce(Time now) {
    if (unannounced_ == 0) return;
    const bool soon = now - std::exchange(last_sent_, now) < kUdpSoon;
    if (soon && unannounced_ < account_) return;
    status_->udp_sent.fetch_add(std::exchange(unannounced_, 0), std::memory_order_relaxed);
  }

 private:
  static constexpr std::int64_t kNoCredit = std::int64_t{1} << 40;  // it becomes less than that by what is sent anyway

  SharedStatus* status_;
  std::int64_t unannounced_ = 0;  // what was sent, and the receiver has not been told
  std::int64_t credit_ = 0;       // what may be sent before its account is looked at again
  std::int64_t account_ = 0;
  Time last_sent_ = 0;
};

}  // namespace weft::real
