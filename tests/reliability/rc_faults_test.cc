// Reliable connections: whichever packets of an exchange are dropped, duplicated, delayed past the next or corrupted,
// the outcome is that of a run without faults: same memory, each completion once and in order, the world at rest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reliability/exchanges.h"
#include "reliability/model.h"

namespace weft::test {
namespace {

using sim::Fault;
using sim::ScriptedFault;
using testing::IsEmpty;
using testing::ValuesIn;

// Send work and receives complete in their own order; how the two interleave is the network's business.
std::vector<nic::Completion> only(const std::vector<nic::Completion>& log, bool receives) {
  std::vector<nic::Completion> some;
  std::copy_if(log.begin(), log.end(), std::back_inserter(some),
               [&](const nic::Completion& c) { return is_receive(c) == receives; });
  return some;
}

// Both runs have the same seed: keys and queue pair numbers are the same, and completions compare as they are.
void expect_same(const Outcome& got, const Outcome& clean) {
  EXPECT_TRUE(got.at_rest);
  for (std::size_t h = 0; h < clean.arenas.size(); ++h) {
    EXPECT_TRUE(same_memory(got.arenas[h], clean.arenas[h])) << "memory of host " << h << " differs";
    for (const bool receives : {false, true}) {
      const auto some = only(got.logs[h], receives), expected = only(clean.logs[h], receives);
      EXPECT_TRUE(std::equal(some.begin(), some.end(), expected.begin(), expected.end(), same_content))
          << (receives ? "receive" : "send") << " completions of host " << h << " differ";
    }
  }
}

Outcome clean_run(const Program& program) {
  const Outcome clean = run(program);
  EXPECT_THAT(judge(program, clean), IsEmpty());
  return clean;
}

void try_faults(const Program& program, const Outcome& clean, std::vector<ScriptedFault> script) {
  const Program faulty = with_faults(program, std::move(script));
  SCOPED_TRACE(faulty.bed.link.faults.text());
  const Outcome got = run(faulty);
  EXPECT_GT(got.faults.dropped() + got.faults.duplicated + got.faults.held + got.faults.corrupted, 0U);
  expect_same(got, clean);
}

void try_each_fault(const Program& program) {
  const Outcome clean = clean_run(program);
  ASSERT_GT(clean.packets, 0U);
  for (const Fault fault : kEveryFault) {
    for (std::uint64_t nth = 1; nth <= clean.packets && !testing::Test::HasFailure(); ++nth) {
      try_faults(program, clean, {{fault, nth}});
    }
  }
}

// The second fault may also hit what is sent because of the first, and the very same packet.
void try_each_pair(const Program& program, std::uint64_t beyond) {
  const Outcome clean = clean_run(program);
  const std::uint64_t last = clean.packets + beyond;
  for (std::uint64_t first = 1; first <= clean.packets; ++first) {
    for (std::uint64_t second = first; second <= last; ++second) {
      for (const Fault one : kEveryFault) {
        for (const Fault other : kEveryFault) {
          if (first == second && one >= other) continue;
          try_faults(program, clean, {{one, first}, {other, second}});
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

class RcFaults : public testing::TestWithParam<Exchange> {};
TEST_P(RcFaults, AnyOneLeavesTheOutcomeAsItWas) { try_each_fault(program_of(GetParam())); }

class RcFaultPairs : public testing::TestWithParam<Exchange> {};
TEST_P(RcFaultPairs, AnyTwoLeaveTheOutcomeAsItWas) { try_each_pair(program_of(GetParam()), 6); }

std::string param_name(const testing::TestParamInfo<Exchange>& info) { return name_of(info.param); }
INSTANTIATE_TEST_SUITE_P(Short, RcFaults, ValuesIn(short_exchanges(wire::Service::rc)), param_name);
INSTANTIATE_TEST_SUITE_P(Long, RcFaults, ValuesIn(long_exchanges(wire::Service::rc)), param_name);
INSTANTIATE_TEST_SUITE_P(Late, RcFaults, ValuesIn(late_exchanges()), param_name);
INSTANTIATE_TEST_SUITE_P(Late, RcFaultPairs, ValuesIn(late_exchanges()), param_name);
INSTANTIATE_TEST_SUITE_P(Short, RcFaultPairs, ValuesIn(short_exchanges(wire::Service::rc)), param_name);

TEST(RcMixedFaults, AnyOneLeavesTheOutcomeAsItWas) { try_each_fault(mixed_program(wire::Psn(100))); }
TEST(RcMixedFaults, AnyOneAcrossTheWrapLeavesTheOutcomeAsItWas) { try_each_fault(mixed_program(wire::Psn(0xFF'FFFA))); }
TEST(RcMixedFaults, AnyTwoLeaveTheOutcomeAsItWas) { try_each_pair(mixed_program(wire::Psn(100)), 4); }

}  // namespace
}  // namespace weft::test
