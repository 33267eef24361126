// Who drives a lane, how far a poll looks, whether what was posted waits for more, and whether an acknowledgement waits
// for the program's answer. A pure machine: the program's calls and times come in, decisions come out. The engine holds
// the lane's lock when it calls; what the lane's thread asks without the lock is marked.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "world/real/os/time.h"

namespace weft::real {

// A program that polls drives its lane best: no thread has to be woken for a packet. One that does not poll leaves it
// to the lane's thread.
enum class Driver : std::uint8_t { thread, program };

class DrivePolicy {
 public:
  // -- all thresholds
  static constexpr std::uint32_t kPollsToDrive = 16;  // without a wish for an event in between: the program drives
  static constexpr std::uint32_t kQuietPolls = 16;    // one of so many looks at the clock and the sockets
  static constexpr std::uint32_t kVainPolls = 256;    // in a row: the program yields, and asks for new local peers
  static constexpr std::uint32_t kWaited = 16;        // vain polls of one who waits for something before it goes on
  static constexpr Time kBurst = microseconds(1);     // who posts again within this posts more
  static constexpr std::uint32_t kMaxDeferred = 32;   // posts that wait for more
  static constexpr std::uint32_t kAnswerPolls = 8;    // for which an acknowledgement waits for the program's answer
  static constexpr std::uint64_t kAnswerPackets = 8;  // that may arrive meanwhile
  static constexpr Time kTick = microseconds(500);    // how often the thread looks whether the program still polls
  static constexpr Time kMoment = microseconds(20);   // in which a program that polls has polled again
  static constexpr Time kWary = milliseconds(10);     // for which the thread looks more often after taking over
  static constexpr Time kHold = milliseconds(4);      // for which it takes nothing in for one whose receives run low

  [[nodiscard]] Driver driver() const { return driver_; }
  [[nodiscard]] bool program_drives() const { return driver_ == Driver::program; }

  // -- the program polls
  // True: it polls so steadily that it should drive.
  [[nodiscard]] bool on_poll() {
    add_one(polls_);
    held_until_ = kNever;
    return driver_ == Driver::thread && ++polls_since_armed_ >= kPollsToDrive;
  }
  void hand_to_program() {
    driver_ = Driver::program;
    stands_in_ = false;
  }
  // The program wants an event, and will sleep. True: the thread has to drive from now on.
  [[nodiscard]] bool on_armed() {
    polls_since_armed_ = 0;
    stands_in_ = false;
    return std::exchange(driver_, Driver::thread) == Driver::program;
  }
  // Nothing has come for so long that others may have the processor. Without the lock.
  [[nodiscard]] bool yields() const { return vain_polls_.load(std::memory_order_relaxed) >= kVainPolls; }

  enum class Look : std::uint8_t {
    memory_only,    // there is nothing: most polls
    one_record,     // the oldest of a ring, for a program that waits for it
    without_clock,  // all that there is, without the time
    everything,     // the clock, the sockets, deadlines
  };
  // `in_ring`: a ring has something. `quiet`: no ring has, no socket may have, and the card has nothing to do.
  // `timeless`: what is in rings can be carried out without the time.
  [[nodiscard]] Look look(bool in_ring, bool quiet, bool timeless) {
    const std::uint32_t vain = vain_polls_.load(std::memory_order_relaxed);
    if (quiet && ++quiet_polls_ % kQuietPolls != 0) {
      vain_polls_.store(vain + 1, std::memory_order_relaxed);
      ++waited_;
      return Look::memory_only;
    }
    if (!in_ring || !timeless || ++ring_polls_ % kQuietPolls == 0) return Look::everything;
    if (vain < kWaited || driver_ != Driver::program) return Look::without_clock;
    vain_polls_.store(0, std::memory_order_relaxed);
    return Look::one_record;
  }
  // A look at everything has found something, or not. True: it is time to ask for new local peers.
  [[nodiscard]] bool looked(bool came) {
    const std::uint32_t vain = came ? 0 : vain_polls_.load(std::memory_order_relaxed) + 1;
    vain_polls_.store(vain, std::memory_order_relaxed);
    return vain >= kVainPolls && ++greetings_ % kVainPolls == 0;
  }

  // -- the program posts
  // True: it has waited since it posted last. It posts no burst, and what it posts leaves first, without the time.
  [[nodiscard]] bool on_post(bool timeless) {
    add_one(posts_);
    return std::exchange(waited_, 0) >= kWaited && timeless;
  }
  // For one that has not waited. True: more is likely to follow, and this may leave with it.
  [[nodiscard]] bool defers(Time now) {
    const bool follows = now - std::exchange(last_post_, now) < kBurst;
    return follows && driver_ == Driver::program && deferred_posts_.load(std::memory_order_relaxed) + 1 < kMaxDeferred;
  }
  void defer() {
    deferred_posts_.store(deferred_posts_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  // Sending is not what the program was slow at.
  void post_left(Time now) { last_post_ = now; }
  // All that waited leaves.
  void sends() {
    deferred_posts_.store(0, std::memory_order_relaxed);
    deferred_answers_ = 0;
  }

  // -- acknowledgements
  // Something came that the program has `seen`, and `packets` have arrived so far. True: the acknowledgement waits for
  // the program's answer, to travel with it. Not for long streams: who only takes must not keep the sender waiting.
  [[nodiscard]] bool waits_for_answer(bool seen, std::uint64_t packets) {
    if (deferred_posts_.load(std::memory_order_relaxed) != 0) return false;
    if (seen && deferred_answers_ == 0) {
      deferred_answers_ = kAnswerPolls;
      deferred_from_ = packets;
    }
    if (deferred_answers_ <= 1 || packets - deferred_from_ > kAnswerPackets) return false;
    --deferred_answers_;
    return true;
  }

  // -- the lane's thread, while the program drives; without the lock
  void begin_ticks() { moment_ = false; }
  // How long it leaves the program alone. One that waits for WRITEs by looking at its memory polls in between, and
  // would be left alone with each of them: after that has happened the thread is wary.
  [[nodiscard]] Time next_tick(Time now) const { return moment_ || is_wary(now) ? kMoment : kTick; }
  struct Tick {
    bool at_work = true;  // the program: it goes on driving
    bool help = false;    // it only posts, and takes nothing in: the thread does that for it
  };
  [[nodiscard]] Tick on_tick() {
    const bool polled = has_moved(polls_, polls_seen_), posted = has_moved(posts_, posts_seen_);
    const bool deferred = deferred_posts_.load(std::memory_order_relaxed) != 0;
    const bool at_work = polled || posted || moment_;
    moment_ = polled && deferred && !moment_;  // who polls need not be disturbed: it is waited for a little
    return {at_work, at_work && !polled && (posted || deferred)};
  }
  // With the lock again, when the program was not at work: it may have polled meanwhile. True: the thread drives now.
  [[nodiscard]] bool take_from_program(Time now) {
    if (driver_ == Driver::thread || has_moved(polls_, polls_seen_)) return false;
    driver_ = Driver::thread;
    polls_since_armed_ = 0;
    took_over_at_ = now;
    stands_in_ = true;
    return true;
  }
  // The thread drives for a program that polled until a moment ago: others have its processor, most likely. If its
  // receive queues ran empty meanwhile, peers would have to send again what nobody has lost. `low`: one of them soon
  // will. True: what comes now waits where it is, in rings and sockets, for a while or until the program polls.
  [[nodiscard]] bool leaves_the_rest(bool low, Time now) {
    if (!stands_in_ || !low) return false;
    held_until_ = std::min(held_until_, now + kHold);
    return now < held_until_;
  }
  [[nodiscard]] bool is_wary(Time now) const { return now < wary_until_; }
  // While the thread drives: a packet came.
  void heard(Time now) {
    if (now - took_over_at_ < kWary) wary_until_ = now + kWary;
  }

 private:
  // With the lock held: there is no other writer.
  static void add_one(std::atomic<std::uint64_t>& calls) {
    calls.store(calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  static bool has_moved(const std::atomic<std::uint64_t>& calls, std::uint64_t& seen) {
    const std::uint64_t now = calls.load(std::memory_order_relaxed);
    return std::exchange(seen, now) != now;
  }

  Driver driver_ = Driver::thread;
  std::uint32_t polls_since_armed_ = 0;               // while the thread drives
  std::atomic<std::uint64_t> polls_ = 0, posts_ = 0;  // the program's
  std::atomic<std::uint32_t> vain_polls_{0};          // in a row, whoever drives
  std::uint32_t quiet_polls_ = 0, ring_polls_ = 0, greetings_ = 0;
  std::uint32_t waited_ = 0;  // vain polls since the program posted last
  std::atomic<std::uint32_t> deferred_posts_ = 0;
  std::uint32_t deferred_answers_ = 0;
  std::uint64_t deferred_from_ = 0;
  Time last_post_ = 0;
  // The thread's alone.
  std::uint64_t polls_seen_ = 0, posts_seen_ = 0;
  bool stands_in_ = false;  // for a program that polled, and wants no event
  Time held_until_ = kNever;
  bool moment_ = false;
  Time wary_until_ = 0;
  Time took_over_at_ = -seconds(1);
};

}  // namespace weft::real
