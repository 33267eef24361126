// The fault injector of one direction of a wire: it decides what happens to each packet that is offered, from a plan
// and a stream of chance of its own. What it decides is carried out by the wire's own world.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "world/fault_plan.h"
#include "world/random.h"

namespace weft::world {

enum class DropReason : std::uint8_t { loss, black_hole, script, no_route, no_room };

// All that may befall one packet. Faults hit the original; a second copy is whole and in time.
struct Fate {
  bool drop = false, duplicate = false, hold = false, corrupt = false, mark = false;
  DropReason reason{};  // of a drop
  Time late = 0;
};

struct FaultCounters {
  std::uint64_t offered = 0, lost = 0, black_holed = 0, dropped_by_script = 0, duplicated = 0, held = 0, delayed = 0,
                corrupted = 0, marked = 0;
  [[nodiscard]] std::uint64_t dropped() const { return lost + black_holed + dropped_by_script; }
  FaultCounters& operator+=(const FaultCounters& other);
  friend bool operator==(const FaultCounters&, const FaultCounters&) = default;
};

class FaultInjector {
 public:
  // `world_count` is the number of packets that all injectors with count_world have seen together; it outlives this.
  FaultInjector(FaultPlan plan, Random random, std::uint64_t& world_count);

  // A packet is offered whose last bit leaves at `departs`.
  [[nodiscard]] Fate judge(Time departs) {
    if (!only_loses_) return judge_by_plan(departs);
    ++counters_.offered;
    if (!random_.chance(loss_)) [[likely]]
      return {};
    ++counters_.lost;
    return {.drop = true, .reason = DropReason::loss};
  }

  [[nodiscard]] const FaultPlan& plan() const { return plan_; }
  [[nodiscard]] const FaultCounters& counters() const { return counters_; }
  [[nodiscard]] Random& random() { return random_; }

 private:
  [[nodiscard]] Fate judge_by_plan(Time departs);
  void follow_script(std::uint64_t nth, Fate& verdict);
  void draw(Fate& verdict);
  void count(const Fate& verdict);

  FaultPlan plan_;  // its script in the order of packets
  Chance loss_, duplication_, reordering_, corruption_, jitter_, ecn_;
  Random random_;
  std::uint64_t* world_count_;
  bool only_loses_;            // packets at random, as most plans do: nothing else is to be looked at for each packet
  std::size_t script_at_ = 0;  // what stands before this in the script is over
  FaultCounters counters_;
};

}  // namespace weft::world
