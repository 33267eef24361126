// Two cards in one process, the kernel's UDP or shared memory between them.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

#include "broker_list.h"
#include "foreign_peer.h"
#include "lanes.h"

namespace weft::real {
namespace {

struct Way {
  const char* name;
  WireChoice wire;
  wire::Address a, b;
};

class Lanes : public testing::TestWithParam<Way> {
 protected:
  static Settings settings(const wire::Address& address) {
    Settings s;
    s.addresses = {address};
    s.wire = GetParam().wire;
    s.max_qps = 64;
    return s;
  }
  void connect() {
    qa = a.make_qp();
    qb = b.make_qp();
    a.connect(*qa, GetParam().b, qb->qpn());
    b.connect(*qb, GetParam().a, qa->qpn());
  }
  static std::uint64_t packets_sent_by(TestLane& one) {
    const std::lock_guard guard(one.lane.lock());
    return one.lane.device().card().counters.get(nic::Counter::sent_pkts);
  }
  TestLane a{settings(GetParam().a)}, b{settings(GetParam().b)};
  host::QueuePair *qa = nullptr, *qb = nullptr;
};

TEST_P(Lanes, HavePlacesOfTheirOwn) {
  EXPECT_NE(a.lane.number(), b.lane.number());
  EXPECT_EQ(a.make_qp()->qpn().raw() >> 17, a.lane.number());
}

TEST_P(Lanes, WriteEachOthersMemory) {
  connect();
  for (const std::uint32_t bytes : {1U, 64U, 4096U, 65536U, 300'000U}) {
    for (std::size_t i = 0; i < bytes; ++i) a.memory[i] = static_cast<std::byte>(i * 7 + bytes);
    a.write(*qa, 0, bytes, 500'000, b.key);
    EXPECT_EQ(a.wait().status, nic::Status::success) << bytes;
    EXPECT_TRUE(b.holds(500'000, a.memory.data(), bytes)) << bytes;
  }
}

// Small messages one at a time are sent and received in another way than many, and than large ones (port.h).
TEST_P(Lanes, GoFromSmallMessagesToLargeOnesAndBack) {
  connect();
  for (std::uint32_t round = 0; round < 2; ++round) {
    for (std::uint32_t i = 0; i < 600; ++i) {
      a.memory[i] = static_cast<std::byte>(i * 3 + round);
      a.write(*qa, i, 1, 500'000 + i, b.key);
      ASSERT_EQ(a.wait().status, nic::Status::success) << i;
      ASSERT_TRUE(b.holds(500'000 + i, &a.memory[i], 1));
      b.write(*qb, 500'000 + i, 1, 600'000 + i, a.key);
      ASSERT_EQ(b.wait().status, nic::Status::success) << i;
      ASSERT_TRUE(a.holds(600'000 + i, &a.memory[i], 1));
    }
    for (std::uint32_t i = 0; i < 16; ++i) a.write(*qa, 0, 200'000, 500'000, b.key);
    for (std::size_t done = 0; done < 16;) {
      const auto got = a.poll();
      for (const nic::Completion& c : got) ASSERT_EQ(c.status, nic::Status::success);
      done += got.size();
    }
    EXPECT_TRUE(b.holds(500'000, a.memory.data(), 200'000));
  }
}

TEST_P(Lanes, ServeAPeerWhoseProgramDoesNothing) {
  connect();
  a.write(*qa, 0, 64, 4096, b.key);
  EXPECT_EQ(a.wait(false).status, nic::Status::success)
      << "neither program polled: the lanes' threads must have driven";
}

// A program sends a lot and ends at once. The other, busy with something else, hears of the end first. Only a part of
// what was in the ring was read then: udaddy's client waited for ever for the answers of a server that had ended.
TEST_P(Lanes, HearAllThatWasSentByOneThatHasEnded) {
  constexpr std::uint32_t kWrites = 100, kEach = 500;
  Settings hurried = settings(GetParam().b);
  hurried.congestion = nic::CongestionControl::none;  // or else it waits for answers when the first one was late
  auto ends = std::make_unique<TestLane>(hurried);
  host::QueuePair *from = ends->make_qp(), *to = a.make_qp();
  ends->connect(*from, GetParam().a, to->qpn(), 0, 0);  // without a timeout: nobody acknowledges while it sends
  a.connect(*to, GetParam().b, from->qpn());
  ends->write(*from, 0, 1, 0, a.key);  // they have met
  ASSERT_EQ(ends->wait().status, nic::Status::success);
  const std::uint8_t number = ends->lane.number();
  std::vector<std::byte> sent(std::size_t{kWrites} * kEach);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i * 7 + i / kEach + 1);
  std::copy(sent.begin(), sent.end(), ends->memory.begin());
  {
    const std::lock_guard busy(a.lane.lock());
    for (std::uint32_t i = 0; i < kWrites; ++i) {
      const std::uint64_t before = packets_sent_by(*ends);
      ends->write(*from, std::uint64_t{i} * kEach, kEach, std::uint64_t{i} * kEach, a.key);
      ASSERT_TRUE(eventually([&] { return packets_sent_by(*ends) > before; })) << "each goes by itself";
    }
    ends.reset();
    ASSERT_NO_FATAL_FAILURE(wait_until_gone(number));  // and the broker has told
  }
  EXPECT_TRUE(eventually([&] { return a.holds(0, sent.data(), sent.size()); }));
}

INSTANTIATE_TEST_SUITE_P(
    Ways, Lanes,
    testing::Values(
        Way{"udp", WireChoice::udp, wire::Address::v4(127, 0, 3, 1), wire::Address::v4(127, 0, 3, 1)},
        Way{"udp_two_addresses", WireChoice::udp, wire::Address::v4(127, 0, 3, 2), wire::Address::v4(127, 0, 3, 3)},
        Way{"udp_ipv6", WireChoice::udp, wire::Address{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
            wire::Address{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}}},
        Way{"shm", WireChoice::automatic, wire::Address::v4(127, 0, 3, 4), wire::Address::v4(127, 0, 3, 4)}),
    [](const auto& way) { return way.param.name; });

// Messages go to and fro by one address without a pause, and all that time the other one is heard, too: each has a
// socket, and the one that is quiet is asked less often, but not never.
TEST(LaneOfTwoAddresses, HearsTheOtherThoughOneIsNeverSilent) {
  Settings s;
  s.addresses = {wire::Address::v4(127, 0, 3, 5), wire::Address::v4(127, 0, 3, 6)};
  s.wire = WireChoice::udp;
  s.max_qps = 64;
  TestLane a(s), b(s);
  host::QueuePair *qa[2], *qb[2];
  for (std::uint8_t i = 0; i < 2; ++i) {
    qa[i] = a.make_qp();
    qb[i] = b.make_qp();
    a.connect(*qa[i], s.addresses[i], qb[i]->qpn(), i);
    b.connect(*qb[i], s.addresses[i], qa[i]->qpn(), i);
  }
  std::uint32_t ended[2]{};  // of each
  // Until one more by the first address has ended.
  const auto exchange = [&] {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMilliseconds);
    a.write(*qa[0], 0, 1, 500'000, b.key);
    for (const std::uint32_t before = ended[0]; ended[0] == before;) {
      ASSERT_LT(std::chrono::steady_clock::now(), until);
      for (const nic::Completion& c : a.poll()) {
        ASSERT_EQ(c.status, nic::Status::success);
        ++ended[c.qpn == qa[0]->qpn() ? 0 : 1];
      }
      ASSERT_TRUE(b.poll().empty());
    }
  };
  for (std::uint32_t round = 0; round < 20; ++round) {
    for (std::uint32_t i = 0; i < 20; ++i) ASSERT_NO_FATAL_FAILURE(exchange());
    a.memory[round] = static_cast<std::byte>(round + 1);
    a.write(*qa[1], round, 1, 600'000 + round, b.key);
    std::uint32_t meanwhile = 0;
    for (; ended[1] == round; ++meanwhile) {
      ASSERT_LT(meanwhile, 1000U) << "the other is not heard";
      ASSERT_NO_FATAL_FAILURE(exchange());
    }
    ASSERT_EQ(ended[1], round + 1);
    ASSERT_TRUE(b.holds(600'000 + round, &a.memory[round], 1));
  }
}

// A long WRITE's packets leave as one datagram, to a local peer (wire/packed_datagram.h), and nobody sends them again
// here.
class FirstWrite : public testing::Test {
 protected:
  static Settings settings(std::vector<wire::Address> addresses) {
    Settings s;
    s.addresses = std::move(addresses);
    s.wire = WireChoice::udp;
    s.transport = TransportChoice::roce;
    s.max_qps = 64;
    return s;
  }
  static void connect(TestLane& a, host::QueuePair& qa, TestLane& b, host::QueuePair& qb, const wire::Address& both,
                      std::uint8_t gid_index) {
    a.connect(qa, both, qb.qpn(), gid_index, 0);
    b.connect(qb, both, qa.qpn(), gid_index, 0);
    std::fill_n(a.memory.begin(), kBytes, std::byte{0x5A});
  }
  static constexpr std::uint32_t kBytes = 4 * 4096;
};

// Bug: it had not heard yet that the other was a local peer, took all of it for one packet, and refused that.
TEST_F(FirstWrite, ArrivesThoughTheReceiverHasNotBeenToldOfItsSender) {
  const Settings s = settings({wire::Address::v4(127, 0, 3, 10)});
  TestLane a(s), b(s);
  host::QueuePair *qa = a.make_qp(), *qb = b.make_qp();
  connect(a, *qa, b, *qb, s.addresses[0], 0);
  {
    const std::lock_guard busy(b.lane.lock());  // with something else, when the broker tells
    a.write(*qa, 0, kBytes, 500'000, b.key);
    b.lane.poll();
  }
  EXPECT_EQ(a.wait().status, nic::Status::success);
  EXPECT_TRUE(b.holds(500'000, a.memory.data(), kBytes));
}

// The receiver's thread sleeps, and when it wakes it hears the broker first.
TEST_F(FirstWrite, ArrivesThoughTheReceiverHearsOfItsSenderBeforeItLooks) {
  const Settings s = settings({wire::Address::v4(127, 0, 3, 15)});
  TestLane a(s), b(s);
  host::QueuePair *qa = a.make_qp(), *qb = b.make_qp();
  connect(a, *qa, b, *qb, s.addresses[0], 0);
  {
    const std::lock_guard busy(b.lane.lock());
    a.write(*qa, 0, kBytes, 500'000, b.key);
  }
  EXPECT_EQ(a.wait().status, nic::Status::success);
  EXPECT_TRUE(b.holds(500'000, a.memory.data(), kBytes));
}

// Bug: of a local peer's addresses one is told, and what came from another was refused in the same way.
TEST_F(FirstWrite, ArrivesFromAnAddressThatTheReceiverHasNotBeenToldOf) {
  const Settings s = settings({wire::Address::v4(127, 0, 3, 11), wire::Address::v4(127, 0, 3, 12)});
  TestLane a(s), b(s);
  host::QueuePair *qa = a.make_qp(), *qb = b.make_qp();
  connect(a, *qa, b, *qb, s.addresses[1], 1);
  a.write(*qa, 0, kBytes, 500'000, b.key);
  EXPECT_EQ(a.wait().status, nic::Status::success);
  EXPECT_TRUE(b.holds(500'000, a.memory.data(), kBytes));
}

// A lane that is connected by UDP with a peer that the test plays.
class ConnectedWithForeigner {
 public:
  // `host` and the next are the last bytes of their addresses.
  ConnectedWithForeigner(std::uint8_t host, TransportChoice transport)
      : ours(wire::Address::v4(127, 0, 3, host)),
        lane(settings(ours, transport)),
        peer(wire::Address::v4(127, 0, 3, static_cast<std::uint8_t>(host + 1))),
        qp(lane.make_qp()) {
    lane.connect(*qp, wire::Address::v4(127, 0, 3, static_cast<std::uint8_t>(host + 1)), wire::Qpn(9U << 17 | 77));
  }

  const wire::Address ours;
  TestLane lane;
  ForeignPeer peer;
  host::QueuePair* qp;

 private:
  static Settings settings(const wire::Address& address, TransportChoice transport) {
    Settings s;
    s.addresses = {address};
    s.wire = WireChoice::udp;
    s.transport = transport;
    s.max_qps = 64;
    return s;
  }
};

// Only the broker says who is on this host. Bug: whoever packed datagrams was taken for a local peer.
TEST(LaneThatHearsAStranger, DoesNotTakeItsPackedDatagramApart) {
  ConnectedWithForeigner two(16, TransportChoice::roce);
  auto& [ours, lane, stranger, qp] = two;
  const std::array<std::byte, 8> payload{std::byte{1}, std::byte{2}, std::byte{3}};
  wire::Headers h;
  h.bth.opcode = wire::Opcode::rc_write_only;
  h.bth.destination = qp->qpn();
  h.bth.ack_request = true;
  h.reth = {.address = 64, .key = lane.key, .length = 8};
  const auto refused = [&] {
    const std::lock_guard guard(lane.lane.lock());
    return lane.lane.device().card().counters.get(Refusal::payload_not_allowed);
  };
  stranger.say_packed(ours, h, payload);
  EXPECT_TRUE(eventually([&] { return refused() == 1; }));
  EXPECT_FALSE(lane.holds(64, payload.data(), payload.size()));
  stranger.say(ours, h, payload);
  EXPECT_TRUE(eventually([&] { return lane.holds(64, payload.data(), payload.size()); })) << "alone it is sound";
  EXPECT_EQ(refused(), 1U);
}

// The peer is not ready, and says when to try again. A program that looks now and then takes that in, and does not come
// back: its lane's thread, asleep since before, must try. Nothing else would wake it, as no timeout is set. Bug: it
// slept on.
TEST(LaneThatIsLookedAtOnce, TriesAgainWhenThePeerHasAskedForIt) {
  Settings s;
  s.addresses = {wire::Address::v4(127, 0, 3, 7)};
  s.wire = WireChoice::udp;
  s.transport = TransportChoice::roce;
  s.max_qps = 64;
  TestLane a(s), b(s);
  host::QueuePair *qa = a.make_qp(), *qb = b.make_qp();
  a.connect(*qa, s.addresses[0], qb->qpn(), 0, 0);
  b.connect(*qb, s.addresses[0], qa->qpn(), 0, 0);
  const auto told_to_wait = [&] {
    const std::lock_guard guard(a.lane.lock());
    a.lane.poll();
    return a.lane.device().card().counters.get(nic::Counter::rcvd_rnr_err);
  };
  for (std::uint32_t round = 0; round < 100; ++round) {
    const std::uint64_t before = told_to_wait();
    {
      const std::lock_guard guard(a.lane.lock());
      const nic::Sge sge{0, 8, a.key};
      ASSERT_EQ(qa->post_send({.kind = nic::WorkKind::send, .sges = {&sge, 1}}), host::Error::none);
      a.lane.rang();
    }
    while (told_to_wait() == before) {
    }
    {
      const std::lock_guard guard(b.lane.lock());
      const nic::Sge sge{0, 8, b.key};
      ASSERT_EQ(qb->post_receive({.id = round, .sges = {&sge, 1}}), host::Error::none);
      b.lane.rang();
    }
    ASSERT_EQ(a.wait(false).status, nic::Status::success) << "round " << round;
    ASSERT_EQ(b.wait(false).status, nic::Status::success) << "round " << round;
  }
}

// By shared memory messages come and go without a look at the clock, if their program has waited for them. Who sets a
// timer then looks at it.
class LaneThatHasWaited : public testing::Test {
 protected:
  using Clock = std::chrono::steady_clock;

  LaneThatHasWaited() {
    a.connect(*qa, s.addresses[0], qb->qpn());
    b.connect(*qb, s.addresses[0], qa->qpn());
    a.write(*qa, 0, 8, 500'000, b.key);
    EXPECT_EQ(a.wait().status, nic::Status::success);  // they have met
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(a.poll().empty());
  }
  static Settings settings() {
    Settings s;
    s.addresses = {wire::Address::v4(127, 0, 3, 13)};
    s.wire = WireChoice::automatic;
    s.transport = TransportChoice::roce;
    s.max_qps = 64;
    return s;
  }
  // Polls, until it has counted so many. How many it has counted then: the lane's thread may have counted some more.
  std::uint64_t poll_until(nic::Counter what, std::uint64_t many) {
    const auto end = Clock::now() + std::chrono::milliseconds(kPatienceMilliseconds);
    while (count(what) < many && Clock::now() < end) EXPECT_TRUE(a.poll().empty());
    EXPECT_GE(count(what), many);
    return count(what);
  }
  std::uint64_t count(nic::Counter what) {
    const std::lock_guard guard(a.lane.lock());
    return a.lane.device().card().counters.get(what);
  }
  const Settings s = settings();
  TestLane a{s}, b{s};
  host::QueuePair *qa = a.make_qp(), *qb = b.make_qp();
};

TEST_F(LaneThatHasWaited, IsPatientWithOneThatIsSilent) {
  const std::lock_guard silent(b.lane.lock());
  const auto began = Clock::now();
  a.write(*qa, 0, 8, 500'000, b.key);
  poll_until(nic::Counter::local_ack_timeout_err, 1);
  EXPECT_GE(Clock::now() - began, std::chrono::milliseconds(66));
}

TEST_F(LaneThatHasWaited, DoesNotAskAgainBeforeItShall) {
  const auto began = Clock::now();
  {
    const std::lock_guard guard(a.lane.lock());
    const nic::Sge sge{0, 8, a.key};
    ASSERT_EQ(qa->post_send({.kind = nic::WorkKind::send, .sges = {&sge, 1}}), host::Error::none);
    a.lane.rang();
  }
  const std::uint64_t times = poll_until(nic::Counter::rcvd_rnr_err, 100);
  EXPECT_GE(Clock::now() - began, (times - 1) * std::chrono::microseconds(630))
      << "b wants to be left alone for 640 us each time";
}

TEST_F(LaneThatHasWaited, HearsAllThatCameMeanwhile) {
  constexpr std::uint64_t kMany = 40;
  {
    const std::lock_guard busy(a.lane.lock());
    for (std::uint64_t i = 0; i < kMany; ++i) b.write(*qb, 0, 8, 500'000, a.key);
  }
  std::size_t done = 0;
  const auto end = Clock::now() + std::chrono::milliseconds(kPatienceMilliseconds);
  while (done < kMany && Clock::now() < end) {
    EXPECT_TRUE(a.poll().empty());
    for (const nic::Completion& c : b.poll()) done += c.status == nic::Status::success ? 1 : 0;
  }
  EXPECT_EQ(done, kMany);
}

// A packet fills the second of two gaps. Nothing is owed for it, so nothing else is about to leave: the card says at
// once that it has come. Bug: that lay in the port until the next packet had to leave.
TEST(LaneThatMissesPackets, SaysAtOnceWhichOfThemHasCome) {
  ConnectedWithForeigner two(8, TransportChoice::srnic);
  auto& [ours, lane, peer, qp] = two;
  for (const std::uint32_t psn : {1U, 3U, 2U}) {  // the first one is still missing, too
    wire::Headers h;
    h.bth.opcode = wire::Opcode::srnic_write_only;
    h.bth.destination = qp->qpn();
    h.bth.psn = wire::Psn(psn);
    h.reth = {.address = 0, .key = lane.key, .length = 8};
    peer.say(ours, h, std::array<std::byte, 8>{});
    const auto heard = peer.hear();
    ASSERT_TRUE(heard.has_value()) << "of " << psn;
    EXPECT_EQ(heard->packet.headers.bth.opcode, wire::Opcode::srnic_ack);
    EXPECT_EQ(heard->packet.headers.bth.psn, wire::Psn(psn));
    EXPECT_EQ(heard->packet.headers.srnic_ack.expected, wire::Psn(0));
  }
}

}  // namespace
}  // namespace weft::real
