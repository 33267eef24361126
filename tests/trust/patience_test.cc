// How often and how long a requester tries (checklist 27, 28): exactly as often as it was told, at exactly the times
// that the specification names.
#include "expect.h"

namespace weft::trust {
namespace {

using nic::QpState;
using nic::Status;
using wire::Syndrome;

struct TrustPatience : testing::Test {
  Victim victim;
  Area area = victim.allocate(1024);

  Connection connect(std::uint8_t retries, std::uint8_t rnr_retries, std::uint8_t timeout = 4) {
    ConnectOptions o;
    o.attributes.retry_count = retries;
    o.attributes.rnr_retry = rnr_retries;
    o.attributes.ack_timeout = timeout;
    return victim.connect(o);
  }
  Effects send(Connection& c, std::uint64_t id = 1) {
    const nic::Sge sge = area.sge(0, 64);
    return victim.post(c, {.id = id, .sges = {&sge, 1}});
  }
};

TEST_F(TrustPatience, T27_ReceiverNotReadyRetriesAreCounted) {
  for (std::uint8_t allowed = 0; allowed < 7; ++allowed) {
    SCOPED_TRACE(int{allowed});
    Connection c = connect(7, allowed);
    const Psn psn = send(c).sent.at(0).headers.bth.psn;
    (void)send(c, 2);
    for (int i = 0; i < allowed; ++i) {
      EXPECT_TRUE(victim.receive(c.ack(psn, Syndrome::rnr(1))).completions.empty());
      EXPECT_EQ(victim.wait(microseconds(10)).sent.size(), 2U);
    }
    const Effects end = victim.receive(c.ack(psn, Syndrome::rnr(1)));
    EXPECT_TRUE(failed(end, c, Refusal::rnr_retry_exceeded, Status::rnr_retry_exceeded));
    EXPECT_EQ(end.completions.size(), 2U);
  }
}

TEST_F(TrustPatience, T27_StormIsNoFasterThanItsTimer) {
  // slaclab #15: the shortest timer against a receiver that never posts. Expect: one packet each 10 us, not more, for
  // ever, because 7 means for ever; and still an end when the program asks for it.
  Connection c = connect(7, 7);
  const Psn psn = send(c).sent.at(0).headers.bth.psn;
  constexpr int kRounds = 2000;
  std::size_t sent = 0;
  const Time began = victim.now();
  for (int i = 0; i < kRounds; ++i) {
    EXPECT_TRUE(victim.receive(c.ack(psn, Syndrome::rnr(1))).sent.empty());
    sent += victim.wait(microseconds(10)).sent.size();
  }
  EXPECT_EQ(sent, std::size_t{kRounds});
  EXPECT_EQ(victim.now() - began, microseconds(10) * kRounds);
  EXPECT_EQ(c.state(), QpState::rts);
  host::QpAttributes a;
  a.state = QpState::error;
  const Effects end = victim.modify(c, a, host::QpMask::state);
  ASSERT_EQ(end.completions.size(), 1U);
  EXPECT_EQ(end.completions[0].status, Status::flushed);
  EXPECT_TRUE(silent(victim.wait(seconds(10))));
}

TEST_F(TrustPatience, T27_EveryTimerCodeIsWaitedExactly) {
  for (std::uint8_t code = 0; code < 32; ++code) {
    SCOPED_TRACE(int{code});
    Connection c = connect(7, 7);
    const Psn psn = send(c).sent.at(0).headers.bth.psn;
    (void)victim.receive(c.ack(psn, Syndrome::rnr(code)));
    EXPECT_TRUE(victim.wait(wire::rnr_delay(code, nanoseconds(1)) - 1).sent.empty());
    EXPECT_EQ(victim.wait(1).sent.size(), 1U);
    victim.destroy(c);
  }
}

TEST_F(TrustPatience, T27_ProgressRestoresThePatience) {
  Connection c = connect(7, 1);
  for (std::uint64_t id = 1; id < 10; ++id) {
    const Psn psn = send(c, id).sent.at(0).headers.bth.psn;
    (void)victim.receive(c.ack(psn, Syndrome::rnr(1)));
    EXPECT_EQ(victim.wait(microseconds(10)).sent.size(), 1U);
    EXPECT_EQ(victim.receive(c.ack(psn)).completions.at(0).status, Status::success);
  }
}

TEST_F(TrustPatience, T28_RetriesEndExactlyAtTheirCount) {
  const Time timeout = wire::ack_timeout(4, nanoseconds(1));
  for (std::uint8_t retries = 0; retries <= 7; ++retries) {
    SCOPED_TRACE(int{retries});
    Connection c = connect(retries, 7);
    EXPECT_EQ(send(c).sent.size(), 1U);
    for (int i = 0; i < retries; ++i) {
      EXPECT_TRUE(nothing(victim.wait(timeout - 1)));
      EXPECT_EQ(victim.wait(1).sent.size(), 1U);
    }
    EXPECT_TRUE(nothing(victim.wait(timeout - 1)));
    EXPECT_TRUE(failed(victim.wait(1), c, Refusal::retry_exceeded, Status::retry_exceeded));
    EXPECT_TRUE(nothing(victim.wait(seconds(100))));  // at rest
  }
  EXPECT_EQ(victim.count(nic::Counter::retry_exceeded_err), 8U);
}

TEST_F(TrustPatience, T28_ProgressRestoresTheCount) {
  Connection c = connect(1, 7);
  for (std::uint64_t id = 1; id < 10; ++id) {
    const Psn psn = send(c, id).sent.at(0).headers.bth.psn;
    EXPECT_EQ(victim.wait(wire::ack_timeout(4, nanoseconds(1))).sent.size(), 1U);
    EXPECT_EQ(victim.receive(c.ack(psn)).completions.at(0).status, Status::success);
  }
}

TEST_F(TrustPatience, T28_GhostsAndDuplicatesDoNotKeepItAlive) {
  // Receive: useless acknowledgements, all the time. Expect: the end comes when it would have come without them.
  Connection c = connect(2, 7);
  const Psn psn = send(c).sent.at(0).headers.bth.psn;
  const Time timeout = wire::ack_timeout(4, nanoseconds(1));
  for (int i = 0; i < 3 * 16; ++i) {
    (void)victim.receive(c.ack(psn.plus(5)));
    (void)victim.receive(c.ack(psn.minus(1)));
    if (i < 3 * 16 - 1) {
      (void)victim.wait(timeout / 16);
    }
  }
  EXPECT_TRUE(failed(victim.wait(timeout / 16), c, Refusal::retry_exceeded, Status::retry_exceeded));
}

TEST_F(TrustPatience, T28_TimeoutZeroIsForEver) {
  Connection c = connect(0, 7, 0);
  const Psn psn = send(c).sent.at(0).headers.bth.psn;
  EXPECT_TRUE(nothing(victim.wait(seconds(3600))));
  EXPECT_EQ(victim.receive(c.ack(psn)).completions.at(0).status, Status::success);
}

}  // namespace
}  // namespace weft::trust
