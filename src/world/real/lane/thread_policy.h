// How a lane's thread drives, while the program does not: how long it looks for more after the last packet, when others
// may have the lock or the processor, when it hears the broker, and until when it sleeps. A pure machine: times and
// what came go in, decisions come out.
#pragma once

#include <cstdint>

#include "world/real/os/time.h"

namespace weft::real {

// From when the thread begins to look until it sleeps, or turns to the broker.
class ThreadShift {
 public:
  // -- all thresholds
  static constexpr Time kAfterglow = microseconds(10);  // after the last packet it looks on
  static constexpr Time kFetching = microseconds(50);   // or this, while a local peer copies from our memory
  static constexpr Time kHearBroker = milliseconds(1);  // so often it hears the broker, however much comes
  static constexpr std::uint32_t kRounds = 16;          // that find something, before the program may have the lock
  static constexpr std::uint32_t kPauses = 4;           // before others may have the processor
  static constexpr Time kNap = microseconds(50);        // it sleeps no longer while the card has work

  // `wary`: the program looks at its memory for what is written there (drive_policy.h).
  ThreadShift(Time now, bool wary) : began_(now), last_(now), wary_(wary) {}

  // More may come. `fetched_from`: a local peer copies from our memory, and will answer.
  [[nodiscard]] bool goes_on(Time now, bool fetched_from) const {
    return now - last_ < (fetched_from ? kFetching : kAfterglow);
  }
  // A round has found something. True: one more, before others may have the lock.
  [[nodiscard]] bool heard(Time now) {
    last_ = now;
    return ++rounds_ < kRounds && !hears_broker();
  }
  enum class Pause : std::uint8_t {
    brief,   // whoever waits for the lock may have it
    yields,  // so may others the processor
    sleeps,  // likewise, but who yields to one that spins, waiting for a WRITE, gets the processor back in
             // milliseconds: woken from sleep it has it at once
  };
  // After those rounds.
  [[nodiscard]] Pause pause() {
    rounds_ = 0;
    if (++pauses_ % kPauses != 0) return Pause::brief;
    return wary_ ? Pause::sleeps : Pause::yields;
  }
  // What comes has kept it from the broker for long enough.
  [[nodiscard]] bool hears_broker() const { return last_ - began_ >= kHearBroker; }

  // Until when it sleeps: `deadline` is the next of all.
  [[nodiscard]] static Time sleeps_until(Time now, Time deadline, bool has_work) {
    return has_work ? now + kNap : deadline;
  }

 private:
  Time began_, last_;  // when the last packet came
  bool wary_;
  std::uint32_t rounds_ = 0, pauses_ = 0;
};

}  // namespace weft::real
