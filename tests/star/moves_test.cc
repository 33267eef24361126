// A running connection moves between RoCE or srnic and both roles of StaR, and back, with work of every kind under way
// and waiting. What is said about it is lost, repeated and late. No operation is lost, and none is done twice.
#include "support/moves.h"

#include "star/scene.h"

namespace weft::test {
namespace {

using host::StarRole;
using nic::Dialect;
using nic::Status;
using nic::WorkKind;
using testing::Each;
using testing::SizeIs;

constexpr std::uint64_t kTo = 8'192, kWord = 32'768, kAnswers = 40'000;

BedSpec moving_bed(Dialect dialect, std::uint64_t seed = 1) {
  BedSpec spec{.seed = seed};
  spec.dialect = dialect;
  spec.moves = true;
  return spec;
}

// Work of every kind from one side to the other, with places of its own, and an addition that must be done once.
struct Traffic {
  Endpoint from, to;
  std::uint64_t base = 0;
  std::uint32_t rounds = 0, receives = 0;

  void post() {
    const std::uint64_t at = base + (rounds % 4) * 1'024;
    EXPECT_EQ(to.receive(1'000 + receives++, {{kTo + at, 1'024}}), host::Error::none);
    EXPECT_EQ(from.post({.id = 5 * rounds, .kind = WorkKind::send, .local = {{at, 700}}}), host::Error::none);
    EXPECT_EQ(from.post({.id = 5 * rounds + 1, .kind = WorkKind::write, .local = {{at, 900}}, .remote = 16'384 + at}),
              host::Error::none);
    EXPECT_EQ(from.post({.id = 5 * rounds + 2,
                         .kind = WorkKind::read,
                         .local = {{24'576 + at, 800}},
                         .remote = 16'384 + at,
                         .fence = true}),
              host::Error::none);
    EXPECT_EQ(from.post({.id = 5 * rounds + 3,
                         .kind = WorkKind::fetch_add,
                         .local = {{kAnswers + base + 8 * (rounds % 64), 8}},
                         .remote = kWord + base,
                         .compare_add = 1}),
              host::Error::none);
    EXPECT_EQ(to.receive(1'000 + receives++, {{}}), host::Error::none);
    EXPECT_EQ(from.post({.id = 5 * rounds + 4,
                         .kind = WorkKind::write_immediate,
                         .local = {{at, 100}},
                         .remote = 50'000 + at,
                         .immediate = rounds}),
              host::Error::none);
    ++rounds;
  }
};

class Moving : public testing::TestWithParam<Dialect> {
 protected:
  void begin(std::uint64_t seed = 1) {
    bed = std::make_unique<Bed>(moving_bed(GetParam(), seed));
    connection.emplace(bed->connect());
    for (const std::size_t i : {0U, 1U}) {
      const Endpoint &from = i == 0 ? connection->a : connection->b, &to = i == 0 ? connection->b : connection->a;
      traffic.push_back({from, to, i * 4'096});
      to.node().word(kWord + i * 4'096) = 0;
    }
  }
  // Both sides work, and one of them asks for a move in the midst of it.
  void move(std::size_t side, StarRole role) {
    for (Traffic& t : traffic) t.post();
    const Time now = bed->now();
    (void)bed->run(now + microseconds(2));
    EXPECT_TRUE(bed->move(end(side), role));
    (void)bed->run(now + microseconds(3));
    for (Traffic& t : traffic) t.post();
    EXPECT_TRUE(bed->run());
    collect();
    for (Traffic& t : traffic) t.post();
    EXPECT_TRUE(bed->run());
    collect();
  }
  void collect() {
    for (const std::size_t i : {0U, 1U}) {
      for (const nic::Completion& c : drain(bed->node(i))) {
        EXPECT_EQ(c.status, Status::success) << text(c.reason).counter;
        auto& next = is_receive(c) ? received[i] : sent[i];
        EXPECT_EQ(c.id, (is_receive(c) ? 1'000U : 0U) + next++);
      }
    }
    for (const std::size_t i : {0U, 1U}) {
      const Traffic& t = traffic[i];
      EXPECT_EQ(sent[i], 5 * t.rounds);
      EXPECT_EQ(received[1 - i], t.receives);
      EXPECT_EQ(t.to.node().word(kWord + t.base), t.rounds);
      EXPECT_EQ(t.from.node().word(kAnswers + t.base + 8 * ((t.rounds - 1) % 64)), t.rounds - 1);
      const std::uint64_t at = t.base + ((t.rounds - 1) % 4) * 1'024;
      EXPECT_TRUE(same_bytes(t.from, {at, 700}, t.to, {kTo + at, 700}));
      EXPECT_TRUE(same_bytes(t.from, {at, 900}, t.to, {16'384 + at, 900}));
      EXPECT_TRUE(same_bytes(t.from, {24'576 + at, 800}, t.to, {16'384 + at, 800}));
    }
  }
  static bool is_receive(const nic::Completion& c) {
    return c.kind == nic::CompletionKind::receive || c.kind == nic::CompletionKind::receive_write_immediate;
  }
  [[nodiscard]] Endpoint end(std::size_t side) const { return side == 0 ? connection->a : connection->b; }
  [[nodiscard]] Dialect spoken(std::size_t side) const { return end(side).context().dialect; }
  [[nodiscard]] StarRole role(std::size_t side) const { return end(side).qp().options().role; }

  std::unique_ptr<Bed> bed;
  std::optional<Connection> connection;
  std::vector<Traffic> traffic;
  std::array<std::uint64_t, 2> sent{}, received{};
};

TEST_P(Moving, GoesToEachRoleAndBackWithWorkUnderWay) {
  begin();
  struct Leg {
    std::size_t side;
    StarRole role, first;
  };
  for (const Leg leg :
       {Leg{0, StarRole::stateless, StarRole::stateless}, Leg{1, StarRole::none, StarRole::none},
        Leg{0, StarRole::stateful, StarRole::stateful}, Leg{0, StarRole::stateless, StarRole::stateless},
        Leg{1, StarRole::stateless, StarRole::stateful}, Leg{0, StarRole::none, StarRole::none},
        Leg{1, StarRole::stateless, StarRole::stateful}, Leg{0, StarRole::none, StarRole::none}}) {
    move(leg.side, leg.role);
    EXPECT_EQ(role(0), leg.first);
    EXPECT_EQ(spoken(0), leg.role == StarRole::none ? GetParam() : Dialect::star);
    EXPECT_EQ(spoken(0), spoken(1));
    EXPECT_EQ(end(leg.side).qp().state(), nic::QpState::rts);
  }
  EXPECT_EQ(bed->moves().made(), 16U);
  EXPECT_EQ(bed->node(0).device().stateless()->free().empty(), false);
}

// What is said, in the order in which it is said, with one or two of the datagrams dropped, doubled or late.
enum class Fault : std::uint8_t { drop, twice, late, late_copy };
using Fates = std::map<std::uint32_t, Fault>;

std::function<std::vector<Time>(const wire::MoveMad&)> with_faults(const Fates& fates) {
  return [fates, n = 0U](const wire::MoveMad&) mutable -> std::vector<Time> {
    const Time way = microseconds(2);
    const auto found = fates.find(n++);
    if (found == fates.end()) return {way};
    switch (found->second) {
      case Fault::drop: return {};
      case Fault::twice: return {way, way};
      case Fault::late: return {way + microseconds(400)};
      case Fault::late_copy: return {way, way + milliseconds(3)};
    }
    return {};
  };
}

TEST_P(Moving, SurvivesEveryFaultOfWhatIsSaid) {
  for (std::uint32_t n = 0; n < 8; ++n) {
    for (const Fault f : {Fault::drop, Fault::twice, Fault::late, Fault::late_copy}) {
      SCOPED_TRACE("datagram " + std::to_string(n) + ", fault " + std::to_string(static_cast<int>(f)));
      traffic.clear();
      sent = received = {};
      begin(n + 1);
      for (const StarRole to : {StarRole::stateless, StarRole::none}) {
        bed->moves().fate = with_faults({{n, f}});
        move(n % 2, to);
        EXPECT_EQ(role(n % 2), to);
      }
      EXPECT_EQ(bed->moves().made(), 4U);
      if (HasFailure()) return;
    }
  }
}

TEST_P(Moving, IsMadeOnceIfBothAsk) {
  begin();
  for (Traffic& t : traffic) t.post();
  EXPECT_TRUE(bed->move(end(0), StarRole::stateless));
  EXPECT_TRUE(bed->move(end(1), StarRole::stateless));
  EXPECT_TRUE(bed->run());
  collect();
  EXPECT_EQ(bed->moves().made(), 2U);
  EXPECT_EQ(spoken(0), Dialect::star);
  EXPECT_NE(role(0), role(1));
}

// Programs see nothing of it: neither the state, nor an event, nor a queue that they may not post to.
TEST_P(Moving, IsNotSeenByPrograms) {
  begin();
  traffic[0].post();
  EXPECT_TRUE(bed->move(end(0), StarRole::stateless));
  bool was_held = false;
  for (Time t = bed->now(); bed->moves().made() < 2; t += nanoseconds(200)) {
    (void)bed->run(t);
    was_held |= end(1).context().state == nic::QpState::sqd;
    for (const std::size_t i : {0U, 1U}) {
      EXPECT_EQ(end(i).qp().state(), nic::QpState::rts);
      EXPECT_EQ(end(i).qp().query().state, nic::QpState::rts);
      EXPECT_FALSE(end(i).qp().query().draining);
    }
  }
  EXPECT_TRUE(was_held);
  traffic[1].post();
  EXPECT_TRUE(bed->run());
  collect();
  EXPECT_THAT(drain_events(bed->node(0)), SizeIs(0));
  EXPECT_THAT(drain_events(bed->node(1)), SizeIs(0));
}

// A receiver that is not ready: the move is given up, and the old dialect goes on as if nothing had been asked.
TEST_P(Moving, IsGivenUpIfAReceiveDoesNotCome) {
  begin();
  EXPECT_EQ(connection->a.post({.id = 1, .local = {{0, 100}}}), host::Error::none);
  (void)bed->run(microseconds(50));
  EXPECT_TRUE(bed->move(end(0), StarRole::stateless));
  (void)bed->run(bed->now() + milliseconds(300));
  EXPECT_EQ(bed->moves().made(), 0U);
  EXPECT_EQ(bed->moves().refused(), 1U);
  EXPECT_EQ(connection->a.post({.id = 2, .kind = WorkKind::write, .local = {{0, 100}}, .remote = 500}),
            host::Error::none);
  EXPECT_EQ(connection->b.receive(3, {{kTo, 100}}), host::Error::none);
  EXPECT_TRUE(bed->run());
  EXPECT_THAT(statuses(bed->node(0)), testing::ElementsAre(Status::success, Status::success));
  EXPECT_EQ(spoken(0), GetParam());
}

// No socket for its packets, say: a connection that works is not broken for that.
TEST_P(Moving, IsGivenUpIfAHostCannotHearStar) {
  begin();
  bed->moves().prepared = false;
  EXPECT_TRUE(bed->move(end(0), StarRole::stateless));
  for (Traffic& t : traffic) t.post();
  EXPECT_TRUE(bed->run());
  collect();
  EXPECT_EQ(bed->moves().made(), 0U);
  EXPECT_EQ(bed->moves().refused(), 1U);
  bed->moves().prepared = true;
  move(0, StarRole::stateless);
  EXPECT_EQ(role(0), StarRole::stateless);
}

TEST_P(Moving, IsRefusedByASideThatCannotBeStateless) {
  begin();
  Node& b = bed->node(1);
  QpSpec with_srq;
  with_srq.srq = *b.device().create_srq(b.domain, 16, 1);
  const Connection shared = bed->connect(bed->node(0), {}, b, with_srq);
  EXPECT_FALSE(bed->move(shared.b, StarRole::stateless)) << "it need not ask";
  EXPECT_TRUE(bed->move(shared.a, StarRole::stateful));
  EXPECT_TRUE(bed->run());
  EXPECT_EQ(bed->moves().made(), 0U);
  EXPECT_EQ(bed->moves().refused(), 1U);
  EXPECT_TRUE(bed->move(shared.a, StarRole::stateless)) << "the other way round it may";
  EXPECT_TRUE(bed->run());
  EXPECT_EQ(bed->moves().made(), 2U);
}

// Between the two last steps nobody may go on alone. If the peer says nothing any more, the work fails, as with any
// peer that is gone.
TEST_P(Moving, BreaksIfThePeerFallsSilentBehindTheLastStep) {
  begin();
  bed->moves().fate = [](const wire::MoveMad& m) -> std::vector<Time> {
    if (m.kind == wire::MoveMad::Kind::done || m.kind == wire::MoveMad::Kind::confirm) return {};
    return {microseconds(2)};
  };
  EXPECT_TRUE(bed->move(end(0), StarRole::stateless));
  (void)bed->run(milliseconds(1));
  for (Traffic& t : traffic) t.post();
  (void)bed->run(kMoveTimes.patience / 2);
  EXPECT_THAT(statuses(bed->node(0)), SizeIs(0));
  EXPECT_TRUE(bed->run());
  EXPECT_EQ(bed->moves().lost(), 2U);
  for (const std::size_t i : {0U, 1U}) {
    const std::vector<Status> all = statuses(bed->node(i));
    ASSERT_THAT(all, SizeIs(7)) << i;
    EXPECT_EQ(std::count(all.begin(), all.end(), Status::retry_exceeded), 1) << i;
    EXPECT_EQ(std::count(all.begin(), all.end(), Status::flushed), 6) << i;
    EXPECT_EQ(end(i).qp().state(), nic::QpState::error);
  }
}

// A program that resets its queue pair, or destroys it, ends its part of the move; its peer goes on in what it spoke.
TEST_P(Moving, EndsWithAReset) {
  for (const std::size_t who : {0U, 1U}) {
    traffic.clear();
    begin();
    EXPECT_TRUE(bed->move(end(0), StarRole::stateless));
    (void)bed->run(nanoseconds(2'500));
    EXPECT_EQ(end(who).go_to(nic::QpState::reset), host::Error::none);
    EXPECT_TRUE(bed->run());
    EXPECT_EQ(bed->moves().made(), 0U);
    EXPECT_EQ(end(1 - who).context().state, nic::QpState::rts);
    EXPECT_EQ(end(who).qp().move(), nullptr);
  }
}

// A program that drains its queue pair while it moves gets what it asked for.
TEST_P(Moving, LetsAProgramDrainItsSendQueue) {
  begin();
  for (Traffic& t : traffic) t.post();
  EXPECT_TRUE(bed->move(end(0), StarRole::stateful));
  (void)bed->run(microseconds(3));
  EXPECT_EQ(end(0).go_to(nic::QpState::sqd), host::Error::none);
  EXPECT_EQ(end(0).qp().state(), nic::QpState::sqd);
  EXPECT_TRUE(bed->run());
  EXPECT_EQ(end(0).qp().state(), nic::QpState::sqd);
  EXPECT_FALSE(end(0).qp().query().draining);
  traffic[0].post();
  const std::uint64_t before = bed->world().counters().sent;
  EXPECT_TRUE(bed->run());
  EXPECT_EQ(bed->world().counters().sent, before) << "it is drained";
  EXPECT_EQ(end(0).go_to(nic::QpState::rts), host::Error::none);
  EXPECT_TRUE(bed->run());
  collect();
}

// A state of an earlier time in StaR, which says where completions went then, comes when the connection is there again.
TEST_P(Moving, TakesNoStateOfAnEarlierTime) {
  begin();
  move(1, StarRole::stateless);
  const std::uint32_t era = end(0).context().link->era;
  move(0, StarRole::none);
  move(1, StarRole::stateless);
  const nic::StarLink& link = *end(0).context().link;
  EXPECT_NE(link.era, era);
  const wire::Capability control = link.control;
  wire::Headers h;
  h.bth.opcode = wire::Opcode::star_wqep;
  h.bth.destination = end(0).qp().qpn();
  h.bth.solicited = true;
  std::array<std::byte, wire::StarInitial::kBytes> payload;
  wire::star_write(payload.data(), wire::StarInitial{.qpn = end(1).qp().qpn(), .block = 77, .era = era});
  const std::uint64_t refused = bed->node(0).counted(Refusal::star_not_migrated);
  inject(*bed, {.source = bed->node(1).host.address(), .destination = bed->node(0).host.address()}, h, payload, 1);
  EXPECT_TRUE(bed->run());
  EXPECT_EQ(bed->node(0).counted(Refusal::star_not_migrated), refused + 1);
  EXPECT_EQ(link.control.base, control.base);
  for (Traffic& t : traffic) t.post();
  EXPECT_TRUE(bed->run());
  collect();
}

// In srnic answers have numbers of their own, which READs drive far ahead of the requests'. None of them comes again.
TEST_P(Moving, BeginsWithNumbersThatNoPacketHasHad) {
  begin();
  for (std::uint64_t id = 0; id < 8; ++id) {
    EXPECT_EQ(connection->a.post({.id = id, .kind = WorkKind::read, .local = {{0, 20'000}}, .remote = 20'000}),
              host::Error::none);
  }
  EXPECT_TRUE(bed->run());
  const auto newest = [](const nic::Context& c) {
    const bool answers_ahead = c.dialect == Dialect::srnic && c.responses.in_expected.ahead_of(c.next_psn) > 0;
    return answers_ahead ? c.responses.in_expected : c.next_psn;
  };
  const wire::Psn a = newest(connection->a.context()), b = newest(connection->b.context());
  for (const StarRole to : {StarRole::stateless, StarRole::none}) {
    EXPECT_TRUE(bed->move(end(0), to));
    EXPECT_TRUE(bed->run());
  }
  ASSERT_EQ(bed->moves().made(), 4U);
  EXPECT_GE(connection->a.context().next_psn.ahead_of(a), 0);
  EXPECT_GE(connection->b.context().next_psn.ahead_of(b), 0);
  EXPECT_EQ(connection->a.context().next_psn, connection->b.context().expected_psn);
  EXPECT_EQ(connection->b.context().next_psn, connection->a.context().expected_psn);
}

// Packets of what was spoken before come late, and change nothing.
TEST_P(Moving, TakesNoPacketOfAnEarlierDialect) {
  begin();
  BedSpec late = moving_bed(GetParam(), 3);
  late.link.faults.reordering = 0.2;
  late.link.faults.hold = microseconds(30);
  traffic.clear();
  bed = std::make_unique<Bed>(late);
  connection.emplace(bed->connect());
  for (const std::size_t i : {0U, 1U}) {
    traffic.push_back({end(i), end(1 - i), i * 4'096});
    end(1 - i).node().word(kWord + i * 4'096) = 0;
  }
  for (int n = 0; n < 12; ++n) move(static_cast<std::size_t>(n % 2), n % 2 == 0 ? StarRole::stateless : StarRole::none);
}

INSTANTIATE_TEST_SUITE_P(From, Moving, testing::Values(Dialect::roce, Dialect::srnic),
                         [](const auto& which) { return which.param == Dialect::roce ? "Roce" : "Srnic"; });

}  // namespace
}  // namespace weft::test
