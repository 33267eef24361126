// A swarm of random programs, each run twice: the outcome is one that the reference model allows, and both runs are the same
// to the last bit. A failure prints the line that replays it.
//
//   WEFT_SEED=17 build/tests/swarm_test            one seed
//   WEFT_SEEDS=1..5000 build/tests/swarm_test      a range
//   WEFT_TRACE=1 WEFT_SEED=17 ...                  and every packet of it
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "reliability/model.h"
#include "reliability/swarm.h"

namespace weft::test {
namespace {

using testing::IsEmpty;

struct Seeds {
  std::uint64_t first = 1, last = 1000;
};

Seeds chosen_seeds() {
  if (const char* one = std::getenv("WEFT_SEED")) {
    const std::uint64_t seed = std::strtoull(one, nullptr, 0);
    return {seed, seed};
  }
  Seeds seeds;
  if (const char* range = std::getenv("WEFT_SEEDS")) {
    char* dots = nullptr;
    seeds.first = std::strtoull(range, &dots, 0);
    seeds.last = std::string_view(dots).starts_with("..") ? std::strtoull(dots + 2, nullptr, 0) : seeds.first;
  }
  return seeds;
}

std::string replay_line(std::uint64_t seed) { return "replay: WEFT_SEED=" + std::to_string(seed) + " build/tests/swarm_test"; }

TEST(Swarm, EndsAsTheModelAllowsAndTwiceTheSame) {
  std::uint64_t failures = 0, packets = 0, runs = 0;
  const Seeds seeds = chosen_seeds();
  for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    const Program program = swarm_program(seed);
    SCOPED_TRACE(replay_line(seed) + "   faults: " + program.bed.link.faults.text());
    std::ostream* trace = std::getenv("WEFT_TRACE") != nullptr ? &std::cout : nullptr;
    if (trace != nullptr) *trace << program;
    const Outcome once = run(program, trace), again = run(program);
    ASSERT_THAT(judge(program, once), IsEmpty());
    ASSERT_EQ(once.digest, again.digest);
    ASSERT_TRUE(once.arenas == again.arenas);
    failures += has_failures(once);
    packets += once.packets;
    ++runs;
  }
  std::printf("%llu programs, %llu packets, in %llu programs retries ran out\n", static_cast<unsigned long long>(runs),
              static_cast<unsigned long long>(packets), static_cast<unsigned long long>(failures));
  if (runs >= 100) {
    EXPECT_LT(failures, runs / 2) << "most programs should come through";
    EXPECT_GT(failures, 0U) << "some programs should fail, or nothing is known of failing";
  }
}

}  // namespace
}  // namespace weft::test
