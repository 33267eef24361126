// Unreliable connections and datagrams: a fault costs the message it hits and no other, nothing wrong is ever
// delivered, and the receive that a lost message would have taken serves the next one.
#include <algorithm>

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

constexpr std::uint32_t kMessages = 4;

std::vector<Exchange> more_messages(std::vector<Exchange> exchanges) {
  for (Exchange& e : exchanges) e.messages = kMessages;
  return exchanges;
}

bool holds(const std::vector<std::byte>& arena, std::uint64_t offset, std::span<const std::byte> bytes) {
  return std::equal(bytes.begin(), bytes.end(), arena.begin() + static_cast<std::ptrdiff_t>(offset));
}

// How often message `m` arrived.
std::uint32_t arrivals(const Program& program, const Outcome& outcome, std::size_t m) {
  const Lane& lane = program.channels[0].lanes[0];
  const Step& step = lane.steps[m];
  const std::uint64_t grh = program.channels[0].qps[0].service == wire::Service::ud ? 40 : 0;
  const auto source = std::span(outcome.arenas[0]).subspan(step.local[0].offset, step.length());
  if (step.kind == nic::WorkKind::write) return holds(outcome.arenas[1], step.remote, source) ? 1 : 0;
  std::uint32_t count = 0;
  for (const nic::Completion& c : outcome.logs[1]) {
    if (!is_receive(c)) continue;
    const bool write = step.kind == nic::WorkKind::write_immediate;
    const std::uint64_t at = write ? step.remote : lane.receives[place_of(c.id)].local[0].offset + grh;
    if ((!c.has_immediate || c.immediate == step.immediate) && holds(outcome.arenas[1], at, source)) ++count;
  }
  return count;
}

// Packets are counted from 1 and leave in program order: there are no acknowledgements.
std::size_t message_of(const Exchange& e, std::uint64_t packet) { return (packet - 1) / e.packets; }

// May these faults cost the message, or bring it twice? They may if they hit it, or if a delayed packet passes into it.
bool is_touched(const Exchange& e, const std::vector<ScriptedFault>& script, std::size_t m) {
  const auto stays_behind = [&](std::uint64_t nth) {
    return std::any_of(script.begin(), script.end(), [&](const ScriptedFault& f) {
      return f.nth == nth && (f.fault == Fault::drop || f.fault == Fault::delay);
    });
  };
  return std::any_of(script.begin(), script.end(), [&](const ScriptedFault& f) {
    std::uint64_t last = f.nth;
    if (f.fault == Fault::delay) ++last;
    while (last > f.nth && stays_behind(last)) ++last;
    return message_of(e, f.nth) <= m && m <= message_of(e, last);
  });
}

class UnreliableFaults : public testing::TestWithParam<Exchange> {
 protected:
  // Runs with these faults, holds the outcome against the model, and expects the messages that they do not touch.
  Outcome try_faults(const std::vector<ScriptedFault>& script) {
    const Program faulty = with_faults(program_of(GetParam()), script);
    SCOPED_TRACE(faulty.bed.link.faults.text());
    const Outcome got = run(faulty);
    EXPECT_THAT(judge(faulty, got), IsEmpty());
    for (std::size_t m = 0; m < GetParam().messages; ++m) {
      if (is_touched(GetParam(), script, m)) continue;
      EXPECT_EQ(arrivals(faulty, got, m), 1U) << "message " << m << " was not touched";
    }
    return got;
  }
  [[nodiscard]] std::uint64_t packets() const { return std::uint64_t{GetParam().packets} * GetParam().messages; }
};

TEST_P(UnreliableFaults, WithoutAnyEverythingArrives) {
  const Program program = program_of(GetParam());
  const Outcome clean = run(program);
  EXPECT_THAT(judge(program, clean), IsEmpty());
  EXPECT_EQ(clean.packets, packets());
  for (std::size_t m = 0; m < GetParam().messages; ++m) EXPECT_EQ(arrivals(program, clean, m), 1U);
}

TEST_P(UnreliableFaults, ALostPacketCostsItsMessageOnly) {
  for (std::uint64_t nth = 1; nth <= packets() && !HasFailure(); ++nth) {
    const Outcome got = try_faults({{Fault::drop, nth}});
    EXPECT_EQ(arrivals(program_of(GetParam()), got, message_of(GetParam(), nth)), 0U) << "packet " << nth;
  }
}

TEST_P(UnreliableFaults, ADuplicateDelayedOrCorruptPacketCostsItsMessageAtMost) {
  for (std::uint64_t nth = 1; nth <= packets() && !HasFailure(); ++nth) {
    for (const Fault fault : {Fault::duplicate, Fault::delay, Fault::corrupt}) try_faults({{fault, nth}});
  }
}

TEST_P(UnreliableFaults, AnyTwoCostTheirMessagesAtMost) {
  if (GetParam().packets > 3) return;  // pairs are for the short ones
  for (std::uint64_t first = 1; first <= packets(); ++first) {
    for (std::uint64_t second = first + 1; second <= packets() && !HasFailure(); ++second) {
      for (const Fault one : kEveryFault) {
        for (const Fault other : kEveryFault) try_faults({{one, first}, {other, second}});
      }
    }
  }
}

std::string param_name(const testing::TestParamInfo<Exchange>& info) { return name_of(info.param); }
INSTANTIATE_TEST_SUITE_P(UcShort, UnreliableFaults, ValuesIn(more_messages(short_exchanges(wire::Service::uc))),
                         param_name);
INSTANTIATE_TEST_SUITE_P(UcLong, UnreliableFaults, ValuesIn(more_messages(long_exchanges(wire::Service::uc))),
                         param_name);
INSTANTIATE_TEST_SUITE_P(UdShort, UnreliableFaults, ValuesIn(more_messages(short_exchanges(wire::Service::ud))),
                         param_name);

}  // namespace
}  // namespace weft::test
