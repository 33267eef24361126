// Calls are carried out once and in order, whichever packets are dropped, duplicated, delayed past the next or
// corrupted: memory on both sides and all completions are those of a run without faults.
#include "kernels/scene.h"

namespace weft::test {
namespace {

using nic::KernelEvent;
using nic::KernelNext;
using nic::KernelStep;
using nic::WorkKind;
using sim::Fault;
using sim::ScriptedFault;

constexpr std::uint64_t kBump = 1, kSum = 2, kLong = 3;

// Adds one to a word of the server's, and answers what it was: whoever carries it out twice, or never, is found out.
KernelNext bump(KernelStep& s) {
  struct State {
    std::uint64_t address;
  };
  auto& state = nic::state_of<State>(s);
  if (s.event == KernelEvent::call) {
    std::memcpy(&state, s.input, sizeof state);
    return s.read(state.address, 8);
  }
  std::uint64_t word = 0;
  std::memcpy(&word, s.input, sizeof word);
  if (!s.reply(&word, sizeof word)) return KernelNext::failed;
  ++word;
  return s.write(state.address, &word, sizeof word) ? KernelNext::done : KernelNext::failed;
}
// A checksum that knows the order of the bytes.
KernelNext ordered_sum(KernelStep& s) {
  auto& total = nic::state_of<std::uint64_t>(s);
  if (s.event == KernelEvent::call) return s.reply(&total, sizeof total) ? KernelNext::wait : KernelNext::failed;
  for (std::uint32_t i = 0; i < s.input_bytes; ++i) total = total * 31 + std::to_integer<unsigned>(s.input[i]);
  return KernelNext::wait;
}
// Answers 2500 bytes in steps of 500, of what lies at an address.
KernelNext copy(KernelStep& s) {
  struct State {
    std::uint64_t address;
    std::uint32_t done;
  };
  auto& state = nic::state_of<State>(s);
  if (s.event == KernelEvent::call) std::memcpy(&state.address, s.input, sizeof state.address);
  if (s.event == KernelEvent::data) {
    if (!s.reply(s.input, s.input_bytes)) return KernelNext::failed;
    state.done += s.input_bytes;
  }
  return state.done == 2500 ? KernelNext::done : s.read(state.address + state.done, 500);
}

struct Ends {
  bool at_rest = false;
  std::vector<std::byte> caller, server;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> completions;  // ids and bytes, of sends and of receives
  std::uint64_t packets = 0, faults = 0;
  friend bool operator==(const Ends& a, const Ends& b) {
    return a.at_rest == b.at_rest && same_memory(a.caller, b.caller) && same_memory(a.server, b.server) &&
           a.completions == b.completions;
  }
};

Ends run_with(nic::Dialect dialect, std::vector<ScriptedFault> script) {
  BedSpec spec = speaking(dialect);
  spec.link.faults.count_world = true;
  spec.link.faults.script = std::move(script);
  const QpSpec qp{.mtu = 256, .psn = wire::Psn(0xFF'FFFA)};
  CallScene scene(spec, qp, qp);
  scene.clear_answers();
  const auto word = scene.memory().bytes.subspan(40 * 1024, 8);
  std::ranges::fill(word, std::byte{0});
  (void)scene.card().deploy({.opcode = kBump, .step = &bump, .state_bytes = 8, .instances = 2});
  (void)scene.card().deploy({.opcode = kSum, .step = &ordered_sum, .state_bytes = 8, .instances = 2});
  (void)scene.card().deploy({.opcode = kLong, .step = &copy, .state_bytes = 16, .instances = 2});
  const std::uint64_t at = scene.memory().address + 40 * 1024, from = scene.memory().address;
  (void)scene.caller().receive(100, {{0, 0}});
  (void)scene.caller().receive(101, {{0, 0}});
  std::uint64_t id = 0;
  const auto call = [&](std::uint64_t opcode, const std::uint64_t& parameter, std::uint64_t answer, bool completes) {
    EXPECT_EQ(scene.call({.id = ++id,
                          .opcode = opcode,
                          .parameters = bytes_of_object(parameter),
                          .answer = answer,
                          .room = 3000,
                          .completes = completes,
                          .immediate = 7}),
              host::Error::none);
  };
  call(kBump, at, 0, false);
  EXPECT_EQ(scene.caller().post({.id = ++id, .kind = WorkKind::rpc_write, .local = {{8192, 700}}, .opcode = kSum}),
            host::Error::none);
  call(kLong, from, 4096, true);
  call(kBump, at, 1024, true);
  EXPECT_EQ(scene.caller().post({.id = ++id, .kind = WorkKind::write, .local = {{8192, 300}}, .remote = 20'000}),
            host::Error::none);
  call(kSum, at, 2048, false);
  call(kBump, at, 3072, false);

  Ends e;
  e.at_rest = scene.bed.run();
  for (const nic::Completion& c : drain(scene.caller().node())) {
    EXPECT_EQ(c.status, nic::Status::success);
    e.completions.emplace_back(c.id, c.id >= 100 ? c.bytes : 0);
  }
  std::ranges::stable_sort(e.completions, {}, [](const auto& c) { return c.first >= 100; });  // each kind in its order
  const auto mine = scene.caller().node().arena.bytes, theirs = scene.memory().bytes;
  e.caller.assign(mine.begin(), mine.end());
  e.server.assign(theirs.begin(), theirs.end());
  const auto f = scene.bed.world().fault_counters();
  for (const Endpoint* end : {&scene.both.a, &scene.both.b}) e.packets += end->node().counted(nic::Counter::sent_pkts);
  e.faults = f.dropped() + f.duplicated + f.held + f.corrupted;
  return e;
}

constexpr std::array kEveryFault{Fault::drop, Fault::duplicate, Fault::delay, Fault::corrupt};

class KernelFaults : public testing::TestWithParam<nic::Dialect> {};

TEST_P(KernelFaults, WithoutAnyAllIsAsItShouldBe) {
  const Ends clean = run_with(GetParam(), {});
  EXPECT_TRUE(clean.at_rest);
  const std::vector<std::pair<std::uint64_t, std::uint32_t>> expected{{1, 0}, {2, 0}, {3, 0},      {4, 0},  {5, 0},
                                                                      {6, 0}, {7, 0}, {100, 2500}, {101, 8}};
  std::vector<std::pair<std::uint64_t, std::uint32_t>> sends(clean.completions.begin(), clean.completions.begin() + 7);
  EXPECT_EQ(sends, std::vector(expected.begin(), expected.begin() + 7));
  std::uint64_t word = 0;
  std::memcpy(&word, &clean.server[40 * 1024], sizeof word);
  EXPECT_EQ(word, 3U) << "three calls have added one each";
  const auto answer = [&](std::uint64_t at) {
    std::uint64_t value = 0;
    std::memcpy(&value, &clean.caller[kAnswers + at + sizeof(nic::ReplyHead)], sizeof value);
    return value;
  };
  EXPECT_EQ(answer(0), 0U);
  EXPECT_EQ(answer(1024), 1U);
  EXPECT_EQ(answer(3072), 2U);
  EXPECT_EQ(std::memcmp(&clean.caller[kAnswers + 4096 + sizeof(nic::ReplyHead)], clean.server.data(), 2500), 0);
  std::uint64_t total = 0;
  for (std::size_t i = 8192; i < 8192 + 700; ++i) total = total * 31 + std::to_integer<unsigned>(clean.caller[i]);
  EXPECT_EQ(answer(2048), total);
}

TEST_P(KernelFaults, AnyOneLeavesTheOutcomeAsItWas) {
  const Ends clean = run_with(GetParam(), {});
  ASSERT_GT(clean.packets, 10U);
  for (const Fault fault : kEveryFault) {
    for (std::uint64_t nth = 1; nth <= clean.packets && !HasFailure(); ++nth) {
      const Ends got = run_with(GetParam(), {{fault, nth}});
      EXPECT_GT(got.faults, 0U);
      EXPECT_TRUE(got == clean) << "fault " << static_cast<int>(fault) << " of packet " << nth;
    }
  }
}

TEST_P(KernelFaults, AnyTwoLeaveTheOutcomeAsItWas) {
  const Ends clean = run_with(GetParam(), {});
  for (std::uint64_t first = 1; first <= clean.packets; ++first) {
    for (std::uint64_t second = first; second <= clean.packets + 4; ++second) {
      for (const Fault one : kEveryFault) {
        for (const Fault other : kEveryFault) {
          if (first == second && one >= other) continue;
          const Ends got = run_with(GetParam(), {{one, first}, {other, second}});
          EXPECT_TRUE(got == clean) << "faults " << static_cast<int>(one) << " of packet " << first << " and "
                                    << static_cast<int>(other) << " of packet " << second;
          if (HasFailure()) return;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Dialects, KernelFaults, testing::Values(nic::Dialect::roce, nic::Dialect::srnic),
                         [](const auto& i) { return i.param == nic::Dialect::roce ? "Roce" : "Srnic"; });

}  // namespace
}  // namespace weft::test
