#include "world/faults.h"

#include <algorithm>
#include <cassert>

namespace weft::world {

FaultCounters& FaultCounters::operator+=(const FaultCounters& other) {
  offered += other.offered;
  lost += other.lost;
  black_holed += other.black_holed;
  dropped_by_script += other.dropped_by_script;
  duplicated += other.duplicated;
  held += other.held;
  delayed += other.delayed;
  corrupted += other.corrupted;
  marked += other.marked;
  return *this;
}

namespace {

bool only_loses(FaultPlan plan) {
  plan.loss = 0;
  return plan.empty() && !plan.count_world;
}

}  // namespace

FaultInjector::FaultInjector(FaultPlan plan, Random random, std::uint64_t& world_count)
    : plan_(std::move(plan)),
      loss_(plan_.loss),
      duplication_(plan_.duplication),
      reordering_(plan_.reordering),
      corruption_(plan_.corruption),
      jitter_(plan_.jitter),
      ecn_(plan_.ecn),
      random_(random),
      world_count_(&world_count),
      only_loses_(plan_.loss > 0 && only_loses(plan_)) {
  assert(plan_.hold > 0 && plan_.jitter_max > 0);
  for (const ScriptedFault& one : plan_.script) assert(one.nth > 0);  // the first packet is 1
  std::stable_sort(plan_.script.begin(), plan_.script.end(),
                   [](const ScriptedFault& a, const ScriptedFault& b) { return a.nth < b.nth; });
}

Fate FaultInjector::judge_by_plan(Time departs) {
  ++counters_.offered;
  const std::uint64_t nth = plan_.count_world ? ++*world_count_ : counters_.offered;
  Fate verdict;
  draw(verdict);  // always all of it: what else happens to a packet must not change the fate of later ones
  follow_script(nth, verdict);
  for (const BlackHole& hole : plan_.holes) {
    if (departs >= hole.from && departs < hole.to) verdict = {.drop = true, .reason = DropReason::black_hole};
  }
  count(verdict);
  return verdict;
}

void FaultInjector::draw(Fate& verdict) {
  // What is not in the plan costs no draw.
  if (loss_.possible() && random_.chance(loss_)) verdict = {.drop = true, .reason = DropReason::loss};
  if (duplication_.possible()) verdict.duplicate = random_.chance(duplication_);
  if (reordering_.possible()) verdict.hold = random_.chance(reordering_);
  if (corruption_.possible()) verdict.corrupt = random_.chance(corruption_);
  if (jitter_.possible() && random_.chance(jitter_)) verdict.late = random_.between(1, plan_.jitter_max);
  if (ecn_.possible()) verdict.mark = random_.chance(ecn_);
}

void FaultInjector::follow_script(std::uint64_t nth, Fate& verdict) {
  const std::vector<ScriptedFault>& script = plan_.script;
  while (script_at_ < script.size() && script[script_at_].nth < nth) ++script_at_;
  for (; script_at_ < script.size() && script[script_at_].nth == nth; ++script_at_) {
    switch (script[script_at_].fault) {
      case Fault::drop:
        if (!verdict.drop) verdict.reason = DropReason::script;
        verdict.drop = true;
        break;
      case Fault::duplicate: verdict.duplicate = true; break;
      case Fault::delay: verdict.hold = true; break;
      case Fault::corrupt: verdict.corrupt = true; break;
      case Fault::mark: verdict.mark = true; break;
    }
  }
}

void FaultInjector::count(const Fate& verdict) {
  counters_.duplicated += verdict.duplicate;
  if (verdict.drop) {
    switch (verdict.reason) {
      case DropReason::loss: ++counters_.lost; break;
      case DropReason::black_hole: ++counters_.black_holed; break;
      case DropReason::script: ++counters_.dropped_by_script; break;
      case DropReason::no_route:
      case DropReason::no_room: break;  // not an injector's doing
    }
    return;  // the rest happens to no one
  }
  counters_.corrupted += verdict.corrupt;
  counters_.marked += verdict.mark;
  counters_.held += verdict.hold;
  counters_.delayed += !verdict.hold && verdict.late > 0;
}

}  // namespace weft::world
