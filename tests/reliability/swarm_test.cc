// A swarm of random programs: the outcome is one that the reference model allows, and of every fourth program a second
// run is the same to the last bit. A failure prints the line that replays it.
//
//   WEFT_SEED=17 build/tests/swarm_test            one seed
//   WEFT_SEEDS=1..5000 build/tests/swarm_test      a range
//   WEFT_TRACE=1 WEFT_SEED=17 ...                  and every packet of it
#include "reliability/swarm.h"

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reliability/model.h"
#include "support/seeds.h"

namespace weft::test {
namespace {

using testing::IsEmpty;

std::string bursts_in_words() {
  const auto words = [](const char* variable, std::uint32_t bytes) {
    return bytes > 0 ? variable + std::to_string(bytes) + " " : std::string();
  };
  return words("WEFT_TEST_BURSTS=", usual_burst_bytes()) + words("WEFT_TEST_ONE_COPY=", usual_one_copy_bytes());
}
std::string replay_line(std::uint64_t seed) {
  const char* dialect = usual_dialect() == nic::Dialect::srnic  ? "WEFT_TEST_DIALECT=srnic "
                        : usual_dialect() != nic::Dialect::star ? ""
                        : usual_first_is_stateless()            ? "WEFT_TEST_DIALECT=star_first "
                                                                : "WEFT_TEST_DIALECT=star ";
  return std::string("replay: ") + dialect + (usual_moves() ? "WEFT_TEST_MOVES=1 " : "") + bursts_in_words() +
         "WEFT_SEED=" + std::to_string(seed) + " build/tests/swarm_test";
}

TEST(Swarm, AnotherProcessGivesTheSameDigest) {
  for (const std::uint64_t seed : {1U, 42U, 1000U}) {
    EXPECT_EQ(digest_in_another_process(seed, "Swarm.EndsAs*"), run(swarm_program(seed)).digest) << replay_line(seed);
  }
}

// What a swarm of some size must have met, or its silence would mean nothing.
void expect_variety(const nic::Counters& met) {
  using enum nic::Counter;
  std::vector<nic::Counter> wanted{duplicate_request,  out_of_sequence,        rcvd_rnr_err,          rcvd_seq_err,
                                   retry_exceeded_err, retry_rnr_exceeded_err, local_ack_timeout_err, out_of_buffer,
                                   retransmitted_pkts, read_responses_resent,  req_cqe_error,         resp_cqe_error};
  if (usual_dialect() == nic::Dialect::srnic) {
    wanted.insert(wanted.end(), {placed_early, recoveries_entered, recoveries_left, fast_exits, ecn_marked_pkts});
  } else if (usual_dialect() == nic::Dialect::star || usual_moves()) {
    wanted = {retry_exceeded_err, local_ack_timeout_err, out_of_buffer,
              retransmitted_pkts, req_cqe_error,         resp_cqe_error};
  } else {
    wanted.push_back(implied_nak_seq_err);
  }
  for (const nic::Counter c : wanted) {
    EXPECT_GE(met.get(c), 20U) << nic::kCounterNames[static_cast<std::size_t>(c)];
  }
}

// A second run takes as long as the first, and what would make two runs differ seldom does so for one seed alone.
constexpr std::uint64_t kTwice = 4;

void expect_the_same_again(const Program& program, const Outcome& once) {
  const Outcome again = run(program);
  EXPECT_EQ(once.digest, again.digest);
  for (std::size_t h = 0; h < once.arenas.size(); ++h) EXPECT_TRUE(same_memory(once.arenas[h], again.arenas[h])) << h;
}

TEST(Swarm, EndsAsTheModelAllowsAndTwiceTheSame) {
  std::uint64_t failures = 0, packets = 0, changes = 0, refused = 0;
  nic::Counters met;
  const Seeds seeds = chosen_seeds();
  for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    const Program program = swarm_program(seed);
    SCOPED_TRACE(replay_line(seed) + "   faults: " + program.bed.link.faults.text());
    std::ostream* trace = std::getenv("WEFT_TRACE") != nullptr ? &std::cout : nullptr;
    if (trace != nullptr) *trace << program;
    const Outcome once = run(program, trace);
    if (seeds.count() == 1) std::cout << "digest " << std::hex << once.digest << std::dec << std::endl;
    ASSERT_THAT(judge(program, once), IsEmpty());
    if (seeds.count() == 1 || seed % kTwice == 0) expect_the_same_again(program, once);
    if (testing::Test::HasFailure()) return;
    failures += has_failures(once);
    packets += once.packets;
    changes += once.changes;
    refused += once.moves_refused;
    for (std::size_t i = 0; i < nic::kCounterNames.size(); ++i) {
      met.add(static_cast<nic::Counter>(i), once.counters.get(static_cast<nic::Counter>(i)));
    }
  }
  std::cout << seeds.count() << " programs, " << packets << " packets; work of " << failures << " failed as it may\n";
  if (usual_moves()) std::cout << changes << " sides have moved; " << refused << " moves were not made\n";
  if (seeds.count() < 1000) return;
  EXPECT_LT(failures, seeds.count() / 2) << "most programs should come through";
  if (usual_moves()) {
    EXPECT_GT(changes, 2 * seeds.count()) << "connections should have moved";
  }
  expect_variety(met);
}

}  // namespace
}  // namespace weft::test
