// Random calls in bad weather, on several connections, while kernels are deployed, replaced and removed. Whatever
// happens, each call has one answer, and what it has changed is what the answers say.
#include <array>

#include "kernels/scene.h"
#include "support/seeds.h"
#include "world/random.h"

namespace weft::test {
namespace {

using nic::CallOutcome;
using nic::KernelEvent;
using nic::KernelNext;
using nic::KernelStep;

constexpr std::uint64_t kAdd = 1, kStream = 2;
constexpr std::uint32_t kConnections = 3, kCalls = 24;

// Adds the parameter to a word of the server's.
KernelNext add(KernelStep& s) {
  struct State {
    std::uint64_t address, amount;
  };
  auto& state = nic::state_of<State>(s);
  if (s.event == KernelEvent::call) {
    std::memcpy(&state, s.input, sizeof state);
    return s.read(state.address, 8);
  }
  std::uint64_t word = 0;
  std::memcpy(&word, s.input, sizeof word);
  word += state.amount;
  const bool done = s.reply(&word, sizeof word) && s.write(state.address, &word, sizeof word);
  return done ? KernelNext::done : KernelNext::failed;
}
// How many bytes of payload there have been.
KernelNext length(KernelStep& s) {
  auto& total = nic::state_of<std::uint64_t>(s);
  if (s.event == KernelEvent::call) return s.reply(&total, sizeof total) ? KernelNext::wait : KernelNext::failed;
  total += s.input_bytes;
  return KernelNext::wait;
}

struct Draw {
  bool payload = false;
  std::uint32_t bytes = 0;   // of payload
  std::uint32_t amount = 0;  // to add
};

// The word of a connection, and the answers to its calls.
constexpr std::uint64_t word_of(std::uint32_t connection) { return 48 * 1024 + 8 * connection; }
constexpr std::uint64_t answer_of(std::uint32_t connection, std::uint32_t call) {
  return (connection * kCalls + call) * 32;
}

class KernelWeather {
 public:
  KernelWeather(nic::Dialect dialect, std::uint64_t seed) : random_(seed), bed_(bed_for(dialect, seed)) {
    std::ranges::fill(client_.bytes({kAnswers, 32 * 1024}), std::byte{0});
    std::ranges::fill(server_.bytes({48 * 1024, 8 * kConnections}), std::byte{0});
    EXPECT_EQ(
        server_.device().deploy({.opcode = kStream, .step = &length, .state_bytes = 8, .instances = kConnections}),
        host::Error::none);
    const QpSpec calling{.mtu = 256, .may_call = true};
    for (std::uint32_t i = 0; i < kConnections; ++i) {
      connections_.push_back(bed_.connect(calling, {.mtu = 256, .serves_calls = 1 + below(4)}));
    }
  }

  void call_and_change() {
    for (std::uint32_t n = 0; n < kCalls; ++n) {
      for (std::uint32_t i = 0; i < kConnections; ++i) post(i, n);
      const std::uint32_t change = below(4);
      if (change == 0) (void)server_.device().deploy({.opcode = kAdd, .step = &add, .state_bytes = 16, .instances = 2});
      if (change == 1) (void)server_.device().remove_kernel(kAdd);
      (void)bed_.run(bed_.world().now() + microseconds(static_cast<Time>(below(12))));
    }
    ASSERT_TRUE(bed_.run());
    for (const nic::Completion& c : drain(client_)) EXPECT_EQ(c.status, nic::Status::success);
  }

  void judge() {
    for (std::uint32_t i = 0; i < kConnections; ++i) {
      std::uint64_t expected = 0, bytes = 0;
      for (std::uint32_t n = 0; n < kCalls; ++n) {
        const Draw& d = drawn_[i][n];
        d.payload ? void(bytes += d.bytes) : judge_answer(i, n, d.amount, expected);
      }
      EXPECT_EQ(server_.word(word_of(i)), expected);
      EXPECT_EQ(payload_of(i), bytes) << "payload of connection " << i;
    }
  }

 private:
  static BedSpec bed_for(nic::Dialect dialect, std::uint64_t seed) {
    world::Random random(seed + 1'000'000);
    const auto percent = [&](std::uint64_t most) { return static_cast<double>(random.next() % (most + 1)) / 100; };
    BedSpec spec = speaking(dialect);
    spec.seed = seed;
    sim::FaultPlan& weather = spec.link.faults;
    weather.loss = percent(5);
    weather.duplication = percent(3);
    weather.reordering = percent(3);
    weather.corruption = percent(2);
    return spec;
  }
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_.next() % n); }

  void post(std::uint32_t i, std::uint32_t n) {
    const Draw d{below(3) == 0, below(1500), below(1000)};
    drawn_[i].push_back(d);
    const Endpoint& caller = connections_[i].a;
    if (d.payload) {
      ASSERT_EQ(caller.post({.id = n, .kind = nic::WorkKind::rpc_write, .local = {{0, d.bytes}}, .opcode = kStream}),
                host::Error::none);
      return;
    }
    struct {
      nic::CallHead head;
      std::uint64_t address, amount;
    } const call{head_for(answer_of(i, n)), server_.arena.address + word_of(i), d.amount};
    const std::uint64_t at = 8192 + answer_of(i, n) * 2;
    std::memcpy(&client_.arena.bytes[at], &call, sizeof call);
    ASSERT_EQ(caller.post({.id = n, .kind = nic::WorkKind::rpc, .local = {{at, sizeof call}}, .opcode = kAdd}),
              host::Error::none);
  }
  [[nodiscard]] nic::CallHead head_for(std::uint64_t answer) const {
    return {client_.arena.address + kAnswers + answer, client_.arena.key.raw(), 32, 0, 0};
  }
  [[nodiscard]] std::uint64_t said_at(std::uint64_t answer) const {
    std::uint64_t said = 0;
    std::memcpy(&said, &client_.arena.bytes[kAnswers + answer + sizeof(nic::ReplyHead)], sizeof said);
    return said;
  }

  void judge_answer(std::uint32_t i, std::uint32_t n, std::uint64_t amount, std::uint64_t& expected) const {
    nic::ReplyHead head;
    std::memcpy(&head, &client_.arena.bytes[kAnswers + answer_of(i, n)], sizeof head);
    if (head.outcome == CallOutcome::no_such_kernel) return;
    EXPECT_EQ(head.outcome, CallOutcome::success) << "call " << n << " of connection " << i;
    expected += amount;
    EXPECT_EQ(said_at(answer_of(i, n)), expected) << "call " << n << " of connection " << i;
  }
  // What the stream of a connection has counted.
  std::uint64_t payload_of(std::uint32_t i) {
    const nic::CallHead head = head_for(0);
    std::memcpy(client_.arena.bytes.data(), &head, sizeof head);
    EXPECT_EQ(connections_[i].a.post({.kind = nic::WorkKind::rpc, .local = {{0, sizeof head}}, .opcode = kStream}),
              host::Error::none);
    EXPECT_TRUE(bed_.run());
    return said_at(0);
  }

  world::Random random_;
  Bed bed_;
  Node &client_ = bed_.node(0), &server_ = bed_.node(1);
  std::vector<Connection> connections_;
  std::array<std::vector<Draw>, kConnections> drawn_;
};

class KernelSwarm : public testing::TestWithParam<nic::Dialect> {};

TEST_P(KernelSwarm, EachCallHasOneAnswerAndChangesWhatThatSays) {
  const Seeds seeds = chosen_seeds({1, 2000});
  for (std::uint64_t seed = seeds.first; seed <= seeds.last && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    KernelWeather weather(GetParam(), seed);
    weather.call_and_change();
    weather.judge();
  }
}

INSTANTIATE_TEST_SUITE_P(Dialects, KernelSwarm, testing::Values(nic::Dialect::roce, nic::Dialect::srnic),
                         [](const auto& i) { return i.param == nic::Dialect::roce ? "Roce" : "Srnic"; });

}  // namespace
}  // namespace weft::test
