// A swarm of scenes, each played twice: every message arrives once and whole or fails for a reason that the scene has,
// nothing hangs, and both runs are the same to the last event. A failure prints the line that replays it.
//
//   WEFT_SEED=17 build/tests/scene_swarm_test            one seed
//   WEFT_SEEDS=1..50000 build/tests/scene_swarm_test     a range: a soak
//   WEFT_TRACE=1 WEFT_SEED=17 ...                        and every event of it
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "real_parts/spec.h"
#include "support/seeds.h"

namespace weft::scene {
namespace {

using testing::IsEmpty;

constexpr test::Seeds kUsual{1, 100};

std::string replay_line_of_swarm(std::uint64_t seed) {
  return "replay: WEFT_SEED=" + std::to_string(seed) + " build/tests/scene_swarm_test";
}

// What a swarm of some size must have met, or its silence would mean nothing.
void expect_variety(const Met& met) {
  const std::initializer_list<std::pair<std::uint64_t Met::*, std::string_view>> wanted{
      {&Met::preemptions, "steps in the middle of another's step"},
      {&Met::failed_messages, "messages that failed"},
      {&Met::payloads_gone, "fetches that came too late"},
      {&Met::drivers_changed, "changes of the driver"},
      {&Met::sleeps, "threads that slept"},
      {&Met::returns, "lanes that came back to a new broker"},
      {&Met::datagrams, "datagrams"},
      {&Met::killed_inside, "lanes killed in the middle of a step"},
  };
  for (const auto& [field, name] : wanted) EXPECT_GT(met.*field, 0U) << name;
}

TEST(SceneSwarm, AnotherProcessGivesTheSameDigest) {
  for (const std::uint64_t seed : {2U, 17U, 100U}) {
    EXPECT_EQ(test::digest_in_another_process(seed, "SceneSwarm.Every*"), run(draw_scene(seed)).digest)
        << replay_line_of_swarm(seed);
  }
}

TEST(SceneSwarm, EveryMessageArrivesOnceOrFailsForAReasonAndTwiceTheSame) {
  const test::Seeds seeds = test::chosen_seeds(kUsual);
  std::ostream* const trace = std::getenv("WEFT_TRACE") != nullptr ? &std::cout : nullptr;
  Met met;
  for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    SCOPED_TRACE(replay_line_of_swarm(seed));
    const SceneSpec spec = draw_scene(seed);
    if (trace != nullptr) *trace << spec;
    const Outcome once = run(spec, trace), again = run(spec);
    if (seeds.count() == 1) std::cout << "digest " << std::hex << once.digest << std::dec << std::endl;
    ASSERT_THAT(once.violations, IsEmpty()) << spec;
    ASSERT_EQ(once.digest, again.digest);
    met.add(once.met);
  }
  std::cout << seeds.count() << " scenes, " << met.steps << " steps, " << met.messages << " messages, "
            << met.failed_messages << " of them failed as they may\n";
  if (seeds.count() >= kUsual.count()) expect_variety(met);
}

}  // namespace
}  // namespace weft::scene
