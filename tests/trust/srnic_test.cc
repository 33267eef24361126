// A peer that speaks srnic and means harm (checklist 60-68): packets ahead of their turn, ACKs and echoes that lie.
#include <algorithm>

#include "expect.h"

namespace weft::trust {
namespace {

using nic::QpState;
using nic::Status;
using nic::WorkKind;

constexpr std::uint8_t kAck = wire::Syndrome::ack().encode();
constexpr std::uint8_t kSelective = wire::Syndrome::nak(wire::NakCode::psn_sequence).encode();
constexpr std::uint8_t kMissing = wire::SrnicAck::kMissing;

ConnectOptions srnic_options() {
  ConnectOptions o;
  o.dialect = nic::Dialect::srnic;
  return o;
}

struct TrustSrnic : testing::Test {
  Victim victim;
  Area area = victim.allocate(4096), other = victim.allocate(4096);
  Connection peer = victim.connect(srnic_options());
  Connection local_peer = victim.connect(srnic_options());
  Connection bystander = victim.connect();

  Crafted write(const Connection& c, Psn psn, std::uint32_t msn = 0) {
    return c.request(Opcode::srnic_write_only).psn(psn).in(msn, 0, 0).at(area.address, area.key, 0).carrying(64, 3);
  }
  Crafted read(const Connection& c, Psn psn, std::uint32_t msn = 0) {
    return c.request(Opcode::srnic_read_request).psn(psn).in(msn, 0, 0).at(area.address, area.key, 64);
  }
  Crafted send(const Connection& c, Psn psn, std::uint32_t ssn) {
    return c.request(Opcode::srnic_send_only).psn(psn).in(0, ssn, 0).carrying(64, 5);
  }
  Crafted srnic_ack(const Connection& c, Psn psn, std::uint8_t syndrome, Psn expected, std::uint16_t run = 0) {
    return c.answer(Opcode::srnic_ack, psn).srnic_ack(syndrome, expected, run);
  }
  Effects post(Connection& c, WorkKind kind, std::uint32_t bytes, std::uint64_t id = 1) {
    const nic::Sge sge = area.sge(0, bytes);
    return victim.post(c, {.id = id, .kind = kind, .sges = {&sge, 1}, .remote_address = 0x1000});
  }
  // The local peer, who speaks srnic as well, and the one who does not go on as ever.
  void expect_others_work() {
    const Effects got = victim.receive(write(local_peer, local_peer.next));
    EXPECT_TRUE(accepted(got, local_peer)) << text_of(got);
    local_peer.next = local_peer.next.plus(1);
    EXPECT_TRUE(works(victim, bystander, other));
  }
  std::uint32_t notes() { return victim.device().card().reorder_notes.used(); }
};

TEST_F(TrustSrnic, T60_PacketsOfTheOtherDialectAreDropped) {
  EXPECT_TRUE(dropped(victim.receive(peer.request(Opcode::rc_send_only).carrying(4)), Refusal::wrong_dialect));
  EXPECT_TRUE(dropped(victim.receive(peer.ack(Psn(7))), Refusal::wrong_dialect));
  EXPECT_TRUE(dropped(victim.receive(send(bystander, bystander.next, 0)), Refusal::wrong_dialect));
  EXPECT_TRUE(dropped(victim.receive(srnic_ack(bystander, Psn(1), kAck, Psn(2))), Refusal::wrong_dialect));
  expect_others_work();
}

TEST_F(TrustSrnic, T61_FurtherAheadThanAnyWindowIsDropped) {
  for (const std::uint32_t distance : {nic::kMaxWindow, nic::kMaxWindow + 1, 1U << 20, (1U << 23) - 1}) {
    EXPECT_TRUE(dropped(victim.receive(write(peer, peer.next.plus(distance))), Refusal::too_far_ahead)) << distance;
  }
  EXPECT_TRUE(accepted(victim.receive(write(peer, peer.next.plus(nic::kMaxWindow - 1))), peer));
  expect_others_work();
}

TEST_F(TrustSrnic, T62_FloodOfEndsAheadOfTheirTurn) {
  // Receive: READs ahead of their turn until no note is left. Expect: the rest dropped by name.
  const std::uint32_t room = victim.device().card().config.reorder_notes;
  for (std::uint32_t i = 1; i <= room; ++i) (void)victim.receive(read(peer, peer.next.plus(i), i));
  EXPECT_EQ(notes(), room);
  EXPECT_TRUE(dropped(victim.receive(read(peer, peer.next.plus(room + 1))), Refusal::early_full));
  // The local peer loses a packet just now. Expect: it can still be told what is missing, and go on.
  const Psn lost = local_peer.next;
  EXPECT_TRUE(accepted(victim.receive(write(local_peer, lost.plus(1))), local_peer));
  EXPECT_TRUE(dropped(victim.receive(read(local_peer, lost.plus(2))), Refusal::early_full));
  EXPECT_TRUE(accepted(victim.receive(write(local_peer, lost)), local_peer));
  EXPECT_EQ(local_peer.qp->context().expected_psn, lost.plus(2));
  local_peer.next = lost.plus(2);
  expect_others_work();
  // Receive: what was missing. Expect: as many READs answered as were agreed, then the end, and all notes given back.
  const Effects end = victim.receive(write(peer, peer.next));
  EXPECT_TRUE(counted(end, Refusal::too_many_reads));
  (void)victim.wait(seconds(10));  // for the answers to be acknowledged, in vain
  EXPECT_EQ(peer.state(), QpState::error);
  EXPECT_EQ(notes(), 0U);
  expect_others_work();
}

TEST_F(TrustSrnic, T63_ReceiptsForWhatWasNeverSent) {
  const Psn first = post(peer, WorkKind::write, 4 * 256).sent.at(0).headers.bth.psn;
  const Psn next = first.plus(4);
  const auto ghost = [&](Crafted p) { EXPECT_TRUE(counted(victim.receive(p), Refusal::ack_ghost)); };
  for (const std::uint32_t beyond : {1U, 2U, 1000U, (1U << 23) - 8}) {
    ghost(srnic_ack(peer, next, kAck, next.plus(beyond)));
    ghost(srnic_ack(peer, next.plus(beyond - 1), kSelective, first, 1));
    ghost(srnic_ack(peer, next.minus(1), kMissing, first, static_cast<std::uint16_t>(std::min(beyond + 1, 4000U))));
  }
  ghost(srnic_ack(peer, first.plus(2), kSelective, first, 0));
  ghost(srnic_ack(peer, first.plus(2), kSelective, first, nic::kMaxWindow + 1));
  ghost(srnic_ack(peer, first.plus(2), kSelective, first, 4));  // more than there are between them
  ghost(srnic_ack(peer, first, kMissing, first, 0));
  ghost(srnic_ack(peer, first, kMissing, first, 0xFFFF));
  EXPECT_EQ(peer.state(), QpState::rts);
  // The same for responses, of which there are none.
  EXPECT_TRUE(
      counted(victim.receive(peer.answer(Opcode::srnic_response_ack, Psn(9)).srnic_ack(kAck, peer.next.plus(5))),
              Refusal::ack_ghost));
  // The true ACK still counts.
  const Effects done = victim.receive(srnic_ack(peer, next.minus(1), kAck, next));
  ASSERT_EQ(done.completions.size(), 1U);
  EXPECT_EQ(done.completions[0].status, Status::success);
  expect_others_work();
}

// Only good news travels with a request; a lie about what has arrived is none.
TEST_F(TrustSrnic, T63_ReceiptsThatTravelWithRequests) {
  const Psn first = post(peer, WorkKind::write, 2 * 256).sent.at(0).headers.bth.psn;
  const auto with = [&](std::uint8_t syndrome, Psn expected, std::uint16_t run = 0) {
    return peer.request(Opcode::srnic_write_only_srnic_ack)
        .psn(peer.next)
        .in(0, 0, 0)
        .at(area.address + 1024, area.key, 0)
        .carrying(64, 3)
        .srnic_ack(syndrome, expected, run);
  };
  // Not ready, each NAK, what is missing, and what means nothing. Expect: nothing of the packet counts.
  for (const std::uint8_t syndrome : {0x22, 0x60, 0x61, 0x62, 0x63, 0x80, 0x40, 0xFF}) {
    EXPECT_TRUE(dropped(victim.receive(with(syndrome, first.plus(2), 1)), Refusal::bad_syndrome)) << int{syndrome};
  }
  // More than was ever sent. Expect: counted, and nothing completes; the request is a request all the same.
  const Effects ghost = victim.receive(with(kAck, first.plus(3)));
  EXPECT_TRUE(counted(ghost, Refusal::ack_ghost));
  EXPECT_TRUE(ghost.completions.empty());
  peer.next = peer.next.plus(1);
  // The truth. Expect: the work is done, and the request carried out.
  const Effects done = victim.receive(with(kAck, first.plus(2)));
  ASSERT_EQ(done.completions.size(), 1U);
  EXPECT_EQ(done.completions[0].status, Status::success);
  EXPECT_TRUE(accepted(done, peer)) << text_of(done);
  peer.next = peer.next.plus(1);
  // And again. Expect: a duplicate, of both.
  EXPECT_TRUE(victim.receive(with(kAck, first.plus(2))).completions.empty());
  EXPECT_EQ(peer.state(), QpState::rts);
  expect_others_work();
}

// Nothing is under way, so nothing can have been refused, and no work may fail that was never posted or never sent.
TEST_F(TrustSrnic, T63_RefusalsOfWhatWasNeverSent) {
  const Psn next = peer.qp->context().next_psn;
  const auto refuse_all = [&] {
    for (const std::uint8_t syndrome : {0x22, 0x61, 0x62, 0x63}) {  // not ready, and each NAK
      for (const std::uint32_t msn : {0U, 1U, 2U, 0xFFFFFU}) {
        const Effects got = victim.receive(srnic_ack(peer, next, syndrome, next).in(msn, 0, 0));
        EXPECT_TRUE(dropped(got, Refusal::ack_ghost)) << int{syndrome} << ", " << msn;
      }
    }
  };
  refuse_all();
  // Work that is posted and may not be sent: the send queue is drained.
  host::QpAttributes a;
  a.state = QpState::sqd;
  (void)victim.modify(peer, a, host::QpMask::state);
  ASSERT_TRUE(post(peer, WorkKind::write, 64).sent.empty());
  refuse_all();
  a.state = QpState::rts;
  ASSERT_EQ(victim.modify(peer, a, host::QpMask::state).sent.size(), 1U);
  EXPECT_EQ(victim.receive(srnic_ack(peer, next, kAck, next.plus(1))).completions.size(), 1U);
  expect_others_work();
}

TEST_F(TrustSrnic, T64_WrongEchoesSendNothingButOurOwnPackets) {
  const Effects sent = post(peer, WorkKind::write, 8 * 256);
  ASSERT_EQ(sent.sent.size(), 8U);
  const Psn first = sent.sent[0].headers.bth.psn;
  for (const std::uint32_t msn : {0U, 1U, 5U, 0x7FFFFU, 0xFFFFFU}) {
    for (const std::uint32_t offset : {0U, 1U, 6U, 7U, 8U, 100U, 0xFFFFFFU}) {
      const Effects got = victim.receive(srnic_ack(peer, first.plus(6), kSelective, first, 1).in(msn, 0, offset));
      EXPECT_LE(got.sent.size(), 8U);
      for (const Crafted& p : got.sent) {
        // Its place decides what it carries: a piece of that WRITE, where that piece goes.
        const std::uint32_t at = p.headers.sequence.offset();
        ASSERT_LT(at, 8U);
        EXPECT_EQ(p.headers.reth.address, 0x1000 + at * 256U);
        EXPECT_TRUE(std::ranges::equal(p.payload, area.bytes.subspan(at * 256, 256)));
      }
      EXPECT_TRUE(got.completions.empty() && got.written.empty());
      (void)victim.wait(microseconds(50));
    }
  }
  EXPECT_EQ(peer.state(), QpState::rts);
  const Effects done = victim.receive(srnic_ack(peer, first.plus(7), kAck, first.plus(8)));
  ASSERT_EQ(done.completions.size(), 1U);
  EXPECT_EQ(victim.device().retransmission().bytes(), 0U);
  expect_others_work();
}

TEST_F(TrustSrnic, T65_SendsWithANumberThatCannotBe) {
  for (std::uint64_t i = 0; i < 8; ++i) (void)victim.post_receive(peer, other.sge(i * 64, 64), i);
  // Ahead of its turn: dropped. Each message before it would need a packet of its own.
  for (const std::uint32_t ssn : {3U, 7U, 8U, 4000U, 0xFFFFFU}) {
    const Effects got = victim.receive(send(peer, peer.next.plus(2), ssn));
    EXPECT_TRUE(counted(got, Refusal::not_continued)) << ssn;
    EXPECT_TRUE(got.written.empty()) << ssn;
  }
  EXPECT_EQ(notes(), 0U);
  EXPECT_TRUE(accepted(victim.receive(send(peer, peer.next.plus(2), 2)), peer));
  EXPECT_TRUE(accepted(victim.receive(send(peer, peer.next, 0)), peer));
  // In its turn: the connection ends.
  const Effects end = victim.receive(send(peer, peer.next.plus(1), 3));
  EXPECT_TRUE(counted(end, Refusal::not_continued));
  EXPECT_EQ(peer.state(), QpState::error);
  EXPECT_EQ(notes(), 0U);
  EXPECT_FALSE(end.guards_broken);
  expect_others_work();
}

TEST_F(TrustSrnic, T66_ResponsesToNothingAndBeyondTheEnd) {
  const auto response = [&](Opcode opcode, Psn psn, std::uint32_t msn, std::uint32_t offset, std::size_t bytes) {
    return victim.receive(peer.answer(opcode, psn).in(msn, 0, offset).carrying(bytes));
  };
  const Psn psn = peer.qp->context().responses.in_expected;
  EXPECT_TRUE(dropped(response(Opcode::srnic_read_response_only, psn, 0, 0, 64), Refusal::response_unexpected));
  EXPECT_TRUE(dropped(response(Opcode::srnic_atomic_response, psn, 5, 0, 0), Refusal::response_unexpected));
  (void)post(peer, WorkKind::read, 3 * 256 - 10);
  for (const Psn at : {psn, psn.plus(1), psn.plus(100)}) {
    const auto refused = [&](Opcode opcode, std::uint32_t msn, std::uint32_t offset, std::size_t bytes, Refusal why) {
      EXPECT_TRUE(dropped(response(opcode, at, msn, offset, bytes), why)) << offset << ", " << bytes;
    };
    refused(Opcode::srnic_read_response_last, 0, 3, 246, Refusal::response_out_of_order);
    refused(Opcode::srnic_read_response_last, 0, 0xFFFFFF, 246, Refusal::response_out_of_order);
    refused(Opcode::srnic_read_response_middle, 0, 2, 256, Refusal::response_out_of_order);
    refused(Opcode::srnic_read_response_first, 0, 1, 256, Refusal::response_out_of_order);
    refused(Opcode::srnic_read_response_last, 0, 2, 247, Refusal::response_bad_length);
    refused(Opcode::srnic_read_response_last, 0, 2, 256, Refusal::response_bad_length);
    refused(Opcode::srnic_read_response_first, 0, 0, 255, Refusal::response_bad_length);
    refused(Opcode::srnic_read_response_only, 1, 0, 64, Refusal::response_unexpected);
    refused(Opcode::srnic_atomic_response, 0, 0, 0, Refusal::response_unexpected);
  }
  EXPECT_EQ(peer.state(), QpState::rts);
  for (std::uint32_t i = 0; i < 3; ++i) {
    constexpr Opcode kSteps[] = {Opcode::srnic_read_response_first, Opcode::srnic_read_response_middle,
                                 Opcode::srnic_read_response_last};
    const Effects got = response(kSteps[i], psn.plus(i), 0, i, i == 2 ? 246 : 256);
    EXPECT_TRUE(accepted(got, peer));
    EXPECT_EQ(got.completions.size(), i == 2 ? 1U : 0U);
  }
  expect_others_work();
}

TEST_F(TrustSrnic, T67_WritesWithoutRightsAheadOfTheirTurn) {
  const Area closed = victim.allocate(256, nic::Rights::remote_read);
  const auto to = [&](Psn psn, std::uint64_t address, wire::Key key) {
    return peer.request(Opcode::srnic_write_only).psn(psn).in(1, 0, 0).at(address, key, 0).carrying(64, 9);
  };
  struct Case {
    std::uint64_t address;
    wire::Key key;
    Refusal why;
  };
  const Case cases[] = {{closed.address, closed.key, Refusal::key_no_permission},
                        {area.address + 4096 - 63, area.key, Refusal::out_of_bounds},
                        {area.address - 1, area.key, Refusal::out_of_bounds}};
  for (const Case& c : cases) {
    EXPECT_TRUE(dropped(victim.receive(to(peer.next.plus(1), c.address, c.key)), c.why));
  }
  // Its turn has come: NAK, and the end.
  EXPECT_TRUE(accepted(victim.receive(write(peer, peer.next)), peer));
  const Effects end = victim.receive(to(peer.next.plus(1), closed.address, closed.key));
  EXPECT_TRUE(counted(end, Refusal::key_no_permission));
  EXPECT_EQ(peer.state(), QpState::error);
  EXPECT_TRUE(end.written.empty());
  ASSERT_EQ(end.sent.size(), 1U);
  EXPECT_EQ(end.sent[0].headers.srnic_ack.syndrome, wire::Syndrome::nak(wire::NakCode::remote_access).encode());
  expect_others_work();
}

TEST_F(TrustSrnic, T68_ExportedPayloadsThatAreNotThere) {
  const auto burst = [&](Psn psn, std::uint64_t address) {
    return peer.request(Opcode::srnic_write_only).psn(psn).in(0, 0, 0).at(address, area.key, 0);
  };
  // It cannot be had: as if it had been lost, and the connection goes on.
  EXPECT_TRUE(dropped(victim.receive_burst(burst(peer.next, area.address), 4, 1024), Refusal::payload_gone));
  EXPECT_EQ(victim.world().fetches, 1U);
  EXPECT_TRUE(accepted(victim.receive(write(peer, peer.next)), peer));
  peer.next = peer.next.plus(1);
  // Nothing is fetched for a place that is wrong.
  const Effects end = victim.receive_burst(burst(peer.next, area.address + 4096 - 1023).in(1, 0, 0), 4, 1024);
  EXPECT_TRUE(counted(end, Refusal::out_of_bounds));
  EXPECT_EQ(victim.world().fetches, 1U);
  expect_others_work();
}

}  // namespace
}  // namespace weft::trust
