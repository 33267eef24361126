// One direction of a cable. Packets leave one after the other in the order in which they were offered, each for as
// long as its bytes take at the link's rate, and arrive after the propagation delay, at times that strictly increase.
// Because the queue in front of a link is unbounded and in order, when a packet arrives is known when it is offered: a
// packet costs one event a hop. In front of a link with a queue (link_queue.h) it waits first.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <memory>

#include "base/canary.h"
#include "base/time.h"
#include "world/sim/event_line.h"
#include "world/sim/faults.h"
#include "world/sim/link_queue.h"

namespace weft::sim {

struct LinkSpec {
  std::uint64_t bits_per_second = 0;  // 0: any number of bytes takes no time
  Time delay = 0;
  FaultPlan faults{};
};

struct LinkCounters {
  std::uint64_t packets = 0, bytes = 0;  // that went onto the wire, second copies and later losses included
};

class Link {
 public:
  struct End {
    bool is_host = true;
    std::uint32_t index = 0;  // of the host or the switch
    friend bool operator==(const End&, const End&) = default;
  };

  Link(const LinkSpec& spec, End from, End to) : rate_(spec.bits_per_second), delay_(spec.delay), from_(from), to_(to) {
    assert(delay_ >= 0);
    constexpr std::uint64_t kByteAtOneBit = 8 * std::uint64_t{1'000'000'000'000};  // ps
    if (rate_ != 0 && kByteAtOneBit % rate_ == 0) byte_time_ = kByteAtOneBit / rate_;
  }

  // How long `bytes` occupy the wire, rounded up to a picosecond.
  [[nodiscard]] Time duration(std::uint32_t bytes) const {
    if (byte_time_ != 0 || rate_ == 0) return static_cast<Time>(bytes * byte_time_);
    const std::uint64_t bits_in_ps = std::uint64_t{bytes} * 8 * 1'000'000'000'000;  // up to 2 MB
    return static_cast<Time>((bits_in_ps + rate_ - 1) / rate_);
  }

  // Puts a packet behind all others; it may leave from `earliest` on. Answers when its last bit arrives.
  Time carry(Time earliest, std::uint32_t bytes) {
    free_at_ = (canary(Canary::link_never_busy) ? earliest : std::max(earliest, free_at_)) + duration(bytes);
    ++counters_.packets;
    counters_.bytes += bytes;
    last_arrival_ = std::max(free_at_ + delay_, last_arrival_ + 1);
    return last_arrival_;
  }

  // No packet that may leave from `earliest` on arrives before this.
  [[nodiscard]] Time earliest_arrival(Time earliest) const { return std::max(earliest, free_at_) + delay_; }

  // When the last bit of the packet carried last leaves. A rate without limit can let many leave at once.
  [[nodiscard]] Time free_at() const { return free_at_; }
  // An arrival directly behind the last one, for what waited to be overtaken.
  Time next_arrival(Time not_before) { return last_arrival_ = std::max(not_before, last_arrival_ + 1); }

  [[nodiscard]] End from() const { return from_; }
  [[nodiscard]] End to() const { return to_; }
  [[nodiscard]] Time delay() const { return delay_; }
  // Bytes that the link carries in this time, up to a second.
  [[nodiscard]] std::uint64_t bytes_in(Time time) const {
    const std::uint64_t ns = static_cast<std::uint64_t>(time) / 1'000 + 1, megabits = rate_ / 1'000'000 + 1;
    return ns * megabits / 8'000;
  }
  [[nodiscard]] const LinkCounters& counters() const { return counters_; }

  // Arrivals of packets that are under way and keep their order.
  [[nodiscard]] EventLine& line() { return line_; }

  // nullptr: nothing goes wrong here.
  [[nodiscard]] LinkFaults* faults() const { return faults_.get(); }
  void set_faults(std::unique_ptr<LinkFaults> faults) { faults_ = std::move(faults); }

  // nullptr: packets are offered at once.
  [[nodiscard]] LinkQueue* queue() const { return queue_.get(); }
  void set_queue(std::unique_ptr<LinkQueue> queue) { queue_ = std::move(queue); }

 private:
  Time free_at_ = 0;
  Time last_arrival_ = -1;
  std::uint64_t byte_time_ = 0;  // ps, when that is a whole number
  std::uint64_t rate_;
  Time delay_;
  End from_, to_;
  EventLine line_;
  std::unique_ptr<LinkFaults> faults_;
  std::unique_ptr<LinkQueue> queue_;
  LinkCounters counters_;
};

}  // namespace weft::sim
