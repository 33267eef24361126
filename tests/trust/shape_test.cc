// Messages of the wrong shape (checklist 30-32, 34, 35, 37, 38): a reliable responder says why and breaks, an
// unreliable one drops the message and says nothing.
#include <cstdlib>

#include "expect.h"

namespace weft::trust {
namespace {

using nic::Status;
using wire::NakCode;
using wire::Service;
using wire::Step;
using wire::Syndrome;
using wire::Verb;

struct TrustShape : testing::Test {
  Victim victim;
  Area area = victim.allocate(4096);
  Connection bystander = victim.connect();

  Connection connect(Service service = Service::rc) { return victim.connect({.service = service}); }
  // A packet of this opcode that would be right at the right place.
  Crafted packet(Connection& c, Opcode opcode, bool moves_on = false) {
    const wire::OpcodeInfo& info = wire::info(opcode);
    const std::uint32_t bytes = !info.payload ? 0 : info.ends() ? 64 : c.mtu;
    Crafted p = (moves_on ? c.next_request(opcode) : c.request(opcode)).carrying(bytes);
    const std::uint32_t announced = info.verb == Verb::read_request ? 64 : info.ends() ? bytes : 2 * c.mtu + 64;
    if (info.reth) p = std::move(p).at(area.address, area.key, announced);
    if (info.atomic_eth) p = std::move(p).atomic(area.address, area.key, 1);
    return p;
  }
};

// ---- 30: the order of packets in messages -------------------------------------------------------------------------

enum class Under { nothing, send, write };

// IBA 9.7.4.1.2, table 36: which opcode may follow what.
bool may_follow(Under under, const wire::OpcodeInfo& next) {
  if (next.starts()) return under == Under::nothing;
  return (next.verb == Verb::send && under == Under::send) || (next.verb == Verb::write && under == Under::write);
}

Refusal out_of_place(Under under) { return under == Under::nothing ? Refusal::not_first : Refusal::not_continued; }

TEST_F(TrustShape, T30_EveryRequestAfterEveryOther) {
  for (const Under under : {Under::nothing, Under::send, Under::write}) {
    for (unsigned opcode = 0; opcode < 0x20; ++opcode) {
      const wire::OpcodeInfo& info = wire::info(static_cast<Opcode>(opcode));
      if (!info.known() || info.is_response()) continue;
      SCOPED_TRACE(testing::Message() << info.name << " under " << static_cast<int>(under));
      Connection c = connect();
      (void)victim.post_receive(c, area.sge(1024));
      if (under == Under::send) (void)victim.receive(packet(c, Opcode::rc_send_first, true));
      if (under == Under::write) (void)victim.receive(packet(c, Opcode::rc_write_first, true));
      const Effects got = victim.receive(packet(c, static_cast<Opcode>(opcode)));
      if (may_follow(under, info)) {
        if (info.verb == Verb::rpc || info.verb == Verb::rpc_write) {  // in its place, but nobody serves it
          EXPECT_TRUE(broken(got, c, Refusal::kernel_off, NakCode::invalid_request));
        } else if (!info.ieth && !(info.verb == Verb::write && info.step == Step::last)) {
          EXPECT_TRUE(accepted(got, c));
        }
      } else {
        EXPECT_TRUE(broken(got, c, out_of_place(under), NakCode::invalid_request));
        ASSERT_EQ(got.completions.size(), 1U);  // the receive that was taken says why, any other comes back unused
        EXPECT_EQ(got.completions[0].status, under == Under::send ? Status::remote_invalid_request : Status::flushed);
      }
      victim.destroy(c);
    }
  }
  EXPECT_TRUE(works(victim, bystander, area));
}

TEST_F(TrustShape, T30_UnreliableMessageWithoutItsBeginning) {
  Connection c = connect(Service::uc);
  (void)victim.post_receive(c, area.sge(0, 1024));
  for (const Opcode opcode : {Opcode::uc_send_middle, Opcode::uc_send_last, Opcode::uc_send_last_imm,
                              Opcode::uc_write_middle, Opcode::uc_write_last, Opcode::uc_write_last_imm}) {
    const Effects got = victim.receive(packet(c, opcode, true));
    EXPECT_TRUE(counted(got, Refusal::not_first));
    EXPECT_TRUE(silent(got));
  }
  // Receive: SEND FIRST, then the middle of a WRITE. Expect: both messages are lost, silently, and the next is not.
  (void)victim.receive(packet(c, Opcode::uc_send_first, true));
  EXPECT_TRUE(counted(victim.receive(packet(c, Opcode::uc_write_middle, true)), Refusal::not_continued));
  EXPECT_TRUE(counted(victim.receive(packet(c, Opcode::uc_send_last, true)), Refusal::not_first));
  for (const Crafted& p : c.next_send(600, 3)) EXPECT_TRUE(accepted(victim.receive(p), c));
  const auto sent = pattern(600, 3);
  EXPECT_TRUE(std::equal(sent.begin(), sent.end(), area.bytes.begin()));
}

TEST_F(TrustShape, T30_UnreliableMessageThatNeverEnds) {
  // Receive: SEND FIRST, then another message. Expect: the first is given up, its receive entry serves the second.
  Connection c = connect(Service::uc);
  (void)victim.post_receive(c, area.sge(0, 1024), 7);
  (void)victim.receive(packet(c, Opcode::uc_send_first, true));
  const Effects got = victim.receive(packet(c, Opcode::uc_send_only, true));
  EXPECT_TRUE(accepted(got, c));
  ASSERT_EQ(got.completions.size(), 1U);
  EXPECT_EQ(got.completions[0].id, 7U);
  EXPECT_EQ(got.completions[0].bytes, 64U);
}

// ---- 31: the length of packets ------------------------------------------------------------------------------------

struct WrongLength {
  Opcode opcode;
  std::vector<std::size_t> bytes;
};

TEST_F(TrustShape, T31_PacketOfTheWrongLength) {
  // IBA 9.7.4.1.6: FIRST and MIDDLE carry the path MTU exactly (256 here), LAST one byte to the MTU, ONLY none to the
  // MTU.
  const std::vector<std::size_t> not_mtu{0, 1, 252, 255, 257, 260, 1024}, not_last{0, 257, 512, 4096},
      not_only{257, 4096};
  const WrongLength cases[] = {{Opcode::rc_send_first, not_mtu},
                               {Opcode::rc_send_middle, not_mtu},
                               {Opcode::rc_send_last, not_last},
                               {Opcode::rc_send_last_imm, not_last},
                               {Opcode::rc_send_last_invalidate, not_last},
                               {Opcode::rc_send_only, not_only},
                               {Opcode::rc_send_only_imm, not_only},
                               {Opcode::rc_send_only_invalidate, not_only},
                               {Opcode::rc_write_first, not_mtu},
                               {Opcode::rc_write_middle, not_mtu},
                               {Opcode::rc_write_last, not_last},
                               {Opcode::rc_write_last_imm, not_last},
                               {Opcode::rc_write_only, not_only},
                               {Opcode::rc_write_only_imm, not_only}};
  for (const auto& [opcode, lengths] : cases) {
    for (const std::size_t bytes : lengths) {
      const wire::OpcodeInfo& info = wire::info(opcode);
      SCOPED_TRACE(testing::Message() << info.name << " with " << bytes << " bytes");
      Connection c = connect();
      (void)victim.post_receive(c, area.sge());
      const Opcode first = info.verb == Verb::send ? Opcode::rc_send_first : Opcode::rc_write_first;
      if (!info.starts()) (void)victim.receive(packet(c, first, true));
      EXPECT_TRUE(
          broken(victim.receive(packet(c, opcode).carrying(bytes)), c, Refusal::bad_length, NakCode::invalid_request));
      victim.destroy(c);
    }
  }
  EXPECT_TRUE(works(victim, bystander, area));
}

TEST_F(TrustShape, T31_UnreliablePacketOfTheWrongLength) {
  Connection c = connect(Service::uc);
  (void)victim.post_receive(c, area.sge());
  for (const std::size_t bytes : {0, 255, 257}) {
    const Effects got = victim.receive(packet(c, Opcode::uc_send_first, true).carrying(bytes));
    EXPECT_TRUE(counted(got, Refusal::bad_length));
    EXPECT_TRUE(silent(got));
  }
  EXPECT_EQ(victim.receive(packet(c, Opcode::uc_send_only, true)).completions.size(), 1U);
}

// ---- 32: the length that a WRITE announces ------------------------------------------------------------------------

TEST_F(TrustShape, T32_PayloadsDoNotAddUpToTheAnnouncedLength) {
  const auto announced = [&](std::uint32_t length, std::vector<std::size_t> payloads) {
    SCOPED_TRACE(testing::Message() << length << " bytes in " << payloads.size() << " packets");
    Connection c = connect();
    for (std::size_t i = 0; i < payloads.size(); ++i) {
      const bool starts = i == 0, ends = i + 1 == payloads.size();
      const Opcode opcode = nic::rc_opcodes(nic::WorkKind::write).at(starts, ends);
      const Crafted p = c.request(opcode).at(area.address, area.key, length).carrying(payloads[i]);
      const Effects got = victim.receive(p);
      if (got.refusals.empty()) {
        c.next = c.next.plus(1);
        EXPECT_FALSE(ends) << "was accepted";
        continue;
      }
      EXPECT_TRUE(broken(got, c, Refusal::message_length_mismatch, NakCode::invalid_request));
      break;
    }
    victim.destroy(c);
  };
  announced(64, {63});
  announced(64, {65});
  announced(0, {1});
  announced(0xFF, {256});
  announced(256, {0});
  announced(512, {256, 255});
  announced(512, {256, 256, 1});
  announced(513, {256, 256});
  announced(100, {256, 1});
  announced(600, {256, 256, 87});
  announced(600, {256, 256, 89});
  EXPECT_TRUE(works(victim, bystander, area));
}

TEST_F(TrustShape, T32_MessageLongerThanTwoGibibytes) {
  for (const Opcode opcode : {Opcode::rc_write_first, Opcode::rc_write_only, Opcode::rc_read_request}) {
    for (const std::uint32_t length : {0x8000'0001U, 0xFFFF'FFFFU}) {
      Connection c = connect();
      const Effects got = victim.receive(packet(c, opcode).at(area.address, area.key, length));
      EXPECT_TRUE(broken(got, c, Refusal::too_long, NakCode::invalid_request));
      victim.destroy(c);
    }
    // Exactly 2 GiB is a legal message, if not one of this memory.
    Connection c = connect();
    const Effects got = victim.receive(packet(c, opcode).at(area.address, area.key, 0x8000'0000U));
    EXPECT_TRUE(broken(got, c, Refusal::out_of_bounds, NakCode::remote_access));
    victim.destroy(c);
  }
}

TEST_F(TrustShape, T32_NothingWithABogusKeyIsLegal) {
  // IBA 9.7.4.1.5: a WRITE or READ of no bytes touches no memory, so its key is not checked.
  Connection c = connect();
  const wire::Key bogus(0xDEAD'BEEF);
  Effects got = victim.receive(c.next_request(Opcode::rc_write_only).at(~0ULL, bogus, 0));
  EXPECT_TRUE(accepted(got, c));
  EXPECT_TRUE(answered(got, c, Syndrome::ack(), c.next.minus(1)));
  got = victim.receive(c.next_request(Opcode::rc_read_request).at(~0ULL, bogus, 0));
  EXPECT_TRUE(accepted(got, c));
  ASSERT_EQ(got.sent.size(), 1U);
  EXPECT_EQ(got.sent[0].headers.bth.opcode, Opcode::rc_read_response_only);
  EXPECT_TRUE(got.sent[0].payload.empty());
  EXPECT_TRUE(works(victim, c, area));
}

// ---- 34, 35: what a READ may cost ---------------------------------------------------------------------------------

TEST_F(TrustShape, T34_LargestReadDoesNotStarveOthers) {
  // Receive: one packet that asks for 2 GiB. Expect: a burst's worth of answers a turn, others in between, and nothing
  // more for asking again.
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  const std::uint32_t length = 1U << 31;
  const std::unique_ptr<void, Free> memory(std::calloc(length, 1));
  ASSERT_NE(memory, nullptr);
  auto* bytes = static_cast<std::byte*>(memory.get());
  const wire::Key key =
      *victim.device().register_region(victim.domain(), {bytes, length, 0x7000'0000'0000, nic::Rights::remote_read});
  Connection c = connect();
  victim.hold(true);
  std::vector<Crafted> requests(
      1000, c.next_request(Opcode::rc_read_request, length / c.mtu).at(0x7000'0000'0000, key, length));
  EXPECT_TRUE(victim.receive_all(requests).sent.empty());
  const nic::Sge sge = area.sge(0, 64);
  (void)victim.post(bystander, {.id = 1, .kind = nic::WorkKind::write, .sges = {&sge, 1}});
  const std::uint32_t burst = victim.device().config().card.burst_bytes;
  const Effects first = victim.take_turns(1), second = victim.take_turns(1), third = victim.take_turns(1);
  EXPECT_EQ(first.sent.size(), burst / c.mtu);
  ASSERT_EQ(second.sent.size(), 1U);
  EXPECT_EQ(second.sent[0].headers.bth.opcode, Opcode::rc_write_only);
  EXPECT_EQ(third.sent.size(), burst / c.mtu);
  EXPECT_EQ(third.sent[0].headers.bth.psn, first.sent[0].headers.bth.psn.plus(burst / c.mtu));
  // Receive: an end to it. Expect: nothing more is sent.
  host::QpAttributes a;
  a.state = nic::QpState::error;
  (void)victim.modify(c, a, host::QpMask::state);
  victim.hold(false);
  EXPECT_TRUE(victim.settle().sent.empty());
}

TEST_F(TrustShape, T35_MoreReadsThanWereAgreed) {
  for (const std::uint8_t agreed : {0, 1, 2, 4}) {
    SCOPED_TRACE(int{agreed});
    ConnectOptions o;
    o.attributes.max_peer_reads = agreed;
    Connection c = victim.connect(o);
    std::vector<Crafted> requests;
    for (int i = 0; i < agreed; ++i) {
      const bool read = i % 2 == 0;
      requests.push_back(packet(c, read ? Opcode::rc_read_request : Opcode::rc_fetch_add, true));
    }
    requests.push_back(packet(c, agreed % 2 == 0 ? Opcode::rc_compare_swap : Opcode::rc_read_request));
    // Receive: one more than agreed, all at once. Expect: answers to what was agreed, then the NAK, then the end.
    Effects got = victim.receive_all(requests);
    ASSERT_EQ(got.sent.size(), agreed + 1U);
    got.sent.erase(got.sent.begin(), got.sent.begin() + agreed);
    got.written.clear();  // of the atomics that were agreed
    EXPECT_TRUE(broken(got, c, Refusal::too_many_reads, NakCode::invalid_request));
    victim.destroy(c);
  }
  EXPECT_TRUE(works(victim, bystander, area));
}

TEST_F(TrustShape, T35_AsManyAsAgreedAtATimeForEver) {
  ConnectOptions o;
  o.attributes.max_peer_reads = 1;
  Connection c = victim.connect(o);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(accepted(victim.receive(packet(c, Opcode::rc_read_request, true)), c));
}

// ---- 37, 38: the receive queue ------------------------------------------------------------------------------------

TEST_F(TrustShape, T37_NoReceivePosted) {
  for (const Opcode opcode : {Opcode::rc_send_only, Opcode::rc_send_first, Opcode::rc_send_only_imm,
                              Opcode::rc_write_only_imm, Opcode::rc_write_last_imm}) {
    SCOPED_TRACE(wire::info(opcode).name);
    Connection c = connect();
    if (opcode == Opcode::rc_write_last_imm) {
      const Crafted first = c.next_request(Opcode::rc_write_first).at(area.address, area.key, c.mtu + 64);
      EXPECT_TRUE(accepted(victim.receive(Crafted(first).carrying(c.mtu)), c));
    }
    const Crafted request = packet(c, opcode).carrying(wire::info(opcode).ends() ? 64 : c.mtu, 8).immediate(0x1234);
    // Expect: "receiver not ready" with the agreed timer; nothing is placed, not even the WRITE's bytes.
    const Effects got = victim.receive(request);
    EXPECT_TRUE(counted(got, Refusal::no_receive));
    EXPECT_TRUE(answered(got, c, Syndrome::rnr(c.qp->context().min_rnr_timer), c.next));
    EXPECT_TRUE(got.written.empty() && got.completions.empty() && got.events.empty());
    // What followed it is dropped without a word. Then a receive is posted, and the same packet again.
    EXPECT_TRUE(dropped(victim.receive(c.request(Opcode::rc_send_only).psn(c.next.plus(1))), Refusal::psn_ahead));
    (void)victim.post_receive(c, area.sge(2048));
    const Effects again = victim.receive(request);
    EXPECT_TRUE(accepted(again, c));
    EXPECT_EQ(again.completions.size(), wire::info(opcode).ends() ? 1U : 0U);
    victim.destroy(c);
  }
}

TEST_F(TrustShape, T37_NoReceivePostedForAnInvalidation) {
  // The key must still be good when the sender is told to wait: it will ask again.
  Connection c = connect();
  const wire::Key window = *victim.device().create_window(victim.domain(), 2);
  const host::WorkRequest bind{.id = 1,
                               .kind = nic::WorkKind::bind_window,
                               .binding = {window, area.key, area.address, 256, nic::Rights::remote_write, window}};
  ASSERT_EQ(victim.post(c, bind).completions.at(0).status, Status::success);
  EXPECT_TRUE(
      counted(victim.receive(c.request(Opcode::rc_send_only_invalidate).invalidating(window)), Refusal::no_receive));
  const Crafted write = c.next_request(Opcode::rc_write_only).at(area.address, window, 16).carrying(16);
  EXPECT_TRUE(accepted(victim.receive(write), c));
}

TEST_F(TrustShape, T37_NoReceivePostedOnUnreliableServices) {
  Connection uc = connect(Service::uc), ud = connect(Service::ud);
  for (const Opcode opcode : {Opcode::uc_send_only, Opcode::uc_send_only_imm, Opcode::uc_write_only_imm}) {
    const Effects got = victim.receive(packet(uc, opcode, true));
    EXPECT_TRUE(counted(got, Refusal::no_receive));
    EXPECT_TRUE(silent(got));
  }
  EXPECT_TRUE(dropped(victim.receive(packet(ud, Opcode::ud_send_only_imm)), Refusal::no_receive));
  EXPECT_EQ(victim.count(nic::Counter::out_of_buffer), 4U);
}

TEST_F(TrustShape, T38_SendLongerThanTheReceive) {
  // Reliable: the sender is told, the receive says why, and that is the end.
  for (const std::uint32_t bytes : {65U, 256U, 257U, 600U}) {
    SCOPED_TRACE(bytes);
    Connection c = connect();
    (void)victim.post_receive(c, area.sge(0, bytes == 600 ? 300 : 64), 5);
    const auto message = c.next_send(bytes);
    c.next = message[0].headers.bth.psn;
    for (const Crafted& p : message) {
      const Effects got = victim.receive(p);
      if (got.refusals.empty()) {
        c.next = c.next.plus(1);
        continue;
      }
      EXPECT_TRUE(broken(got, c, Refusal::receive_too_small, NakCode::invalid_request));
      ASSERT_EQ(got.completions.size(), 1U);
      EXPECT_EQ(got.completions[0].id, 5U);
      EXPECT_EQ(got.completions[0].status, Status::local_length);
      EXPECT_EQ(got.completions[0].reason, Refusal::receive_too_small);
      break;
    }
    EXPECT_EQ(c.state(), nic::QpState::error);
    victim.destroy(c);
  }
  EXPECT_TRUE(works(victim, bystander, area));
}

TEST_F(TrustShape, T38_DatagramLongerThanTheReceiveIsDroppedSilently) {
  // CVE-2024-40992: it must not break the queue pair, which others use as well. The receive waits for the next.
  Connection ud = connect(Service::ud), uc = connect(Service::uc);
  (void)victim.post_receive(ud, area.sge(0, 40 + 64), 5);
  const Effects got = victim.receive(packet(ud, Opcode::ud_send_only).carrying(65));
  EXPECT_TRUE(counted(got, Refusal::receive_too_small));
  EXPECT_TRUE(silent(got));
  EXPECT_EQ(ud.state(), nic::QpState::rts);
  const Effects fits = victim.receive(packet(ud, Opcode::ud_send_only).carrying(64));
  ASSERT_EQ(fits.completions.size(), 1U);
  EXPECT_EQ(fits.completions[0].id, 5U);
  EXPECT_EQ(fits.completions[0].bytes, 104U);
  // A buffer that does not even hold the 40 bytes in front.
  (void)victim.post_receive(ud, area.sge(0, 39), 6);
  EXPECT_TRUE(counted(victim.receive(packet(ud, Opcode::ud_send_only).carrying(0)), Refusal::receive_too_small));
  // IBA 9.8.3: unreliable connections drop the message too.
  (void)victim.post_receive(uc, area.sge(0, 64), 7);
  EXPECT_TRUE(counted(victim.receive(packet(uc, Opcode::uc_send_only, true).carrying(65)), Refusal::receive_too_small));
  EXPECT_EQ(victim.receive(packet(uc, Opcode::uc_send_only, true)).completions.size(), 1U);
}

}  // namespace
}  // namespace weft::trust
