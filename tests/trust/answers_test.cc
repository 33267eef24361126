// Answers that nobody should have given (checklist 21-25, 29): acknowledgements, NAKs and READ responses that are late,
// out of place, reserved or forged. The requester drops what it can do without; work completes in order, once.
#include <algorithm>

#include "expect.h"

namespace weft::trust {
namespace {

using nic::QpState;
using nic::Status;
using nic::WorkKind;
using wire::NakCode;
using wire::Syndrome;

const Syndrome kSequenceNak = Syndrome::nak(NakCode::psn_sequence);

struct TrustAnswers : testing::Test {
  Victim victim;
  Area area = victim.allocate(8192), target = victim.allocate(4096);
  Connection peer = victim.connect();

  Effects post(WorkKind kind, std::uint32_t bytes, std::uint64_t id = 1) {
    const nic::Sge sge = kind == WorkKind::read || nic::is_atomic(kind) ? target.sge(0, bytes) : area.sge(0, bytes);
    return victim.post(peer, {.id = id, .kind = kind, .sges = {&sge, 1}, .remote_address = 0x1000});
  }
  static Psn psn_of(const Effects& e, std::size_t i = 0) { return e.sent.at(i).headers.bth.psn; }
  Connection connect_at(Psn send_psn, std::uint8_t retries = 7) {
    ConnectOptions o;
    o.attributes.send_psn = send_psn;
    o.attributes.retry_count = retries;
    return victim.connect(o);
  }
  // A READ response to the request at `first`: the i-th of `packets`, or what it pretends to be.
  Crafted response(Psn first, std::uint32_t i, std::uint32_t packets, std::size_t bytes = 256) {
    const bool starts = i == 0, ends = i + 1 == packets;
    const Opcode opcode = starts ? (ends ? Opcode::rc_read_response_only : Opcode::rc_read_response_first)
                                 : (ends ? Opcode::rc_read_response_last : Opcode::rc_read_response_middle);
    return peer.answer(opcode, first.plus(i)).carrying(bytes, i);
  }
};

AssertionResult completed(const Effects& e, std::vector<std::uint64_t> ids) {
  std::vector<std::uint64_t> got;
  for (const nic::Completion& c : e.completions) {
    if (c.status != Status::success) return testing::AssertionFailure() << "failed: " << text_of(e);
    got.push_back(c.id);
  }
  return got == ids ? testing::AssertionSuccess() : testing::AssertionFailure() << "others completed: " << text_of(e);
}

// ---- 22: acknowledgements of nothing ------------------------------------------------------------------------------

TEST_F(TrustAnswers, T22_AcknowledgementOfWhatWasNeverSent) {
  const Psn psn = psn_of(post(WorkKind::write, 64));
  for (const std::uint32_t ahead : {1U, 2U, 256U, 1U << 22, (1U << 23) - 1}) {
    EXPECT_TRUE(dropped(victim.receive(peer.ack(psn.plus(ahead))), Refusal::ack_ghost)) << ahead;
  }
  for (const std::uint32_t ahead : {1U << 23, (1U << 23) + 1, 0xFF'FFFFU}) {  // half the circle away is behind
    EXPECT_TRUE(dropped(victim.receive(peer.ack(psn.plus(ahead))), Refusal::ack_duplicate)) << ahead;
  }
  EXPECT_TRUE(completed(victim.receive(peer.ack(psn)), {1}));
  EXPECT_TRUE(works(victim, peer, area));
}

TEST_F(TrustAnswers, T22_EveryKindOfAnswerToNothing) {
  const Psn next = peer.qp->context().next_psn;
  for (const Opcode opcode :
       {Opcode::rc_ack, Opcode::rc_atomic_ack, Opcode::rc_read_response_first, Opcode::rc_read_response_middle,
        Opcode::rc_read_response_last, Opcode::rc_read_response_only}) {
    for (const Syndrome s : {Syndrome::ack(), Syndrome::rnr(1), kSequenceNak, Syndrome::nak(NakCode::remote_access)}) {
      EXPECT_TRUE(dropped(victim.receive(peer.answer(opcode, next).saying(s).carrying(64)), Refusal::ack_ghost));
      EXPECT_TRUE(
          dropped(victim.receive(peer.answer(opcode, next.minus(1)).saying(s).carrying(64)), Refusal::ack_duplicate));
    }
  }
  EXPECT_TRUE(works(victim, peer, area));
}

TEST_F(TrustAnswers, T22_AcknowledgedBefore) {
  const Psn first = psn_of(post(WorkKind::write, 64, 1)), second = psn_of(post(WorkKind::write, 64, 2));
  EXPECT_TRUE(completed(victim.receive(peer.ack(second)), {1, 2}));  // one acknowledgement for both
  for (const Psn psn : {first, second}) {
    EXPECT_TRUE(dropped(victim.receive(peer.ack(psn)), Refusal::ack_duplicate));
    EXPECT_TRUE(
        dropped(victim.receive(peer.ack(psn, Syndrome::nak(NakCode::invalid_request))), Refusal::ack_duplicate));
  }
  EXPECT_TRUE(works(victim, peer, area));
}

// ---- 23: skipped READs and atomics ----------------------------------------------------------------------------------

TEST_F(TrustAnswers, T23_AcknowledgementThatSkipsAReadIsANak) {
  // IBA 9.7.5.1.1: acknowledging what came after an unanswered READ says that its answer was lost.
  for (const WorkKind kind : {WorkKind::read, WorkKind::fetch_add}) {
    const std::uint32_t bytes = kind == WorkKind::read ? 512 : 8;
    const Psn asked = psn_of(post(kind, bytes, 1));
    const Psn written = psn_of(post(WorkKind::write, 64, 2));
    const Effects got = victim.receive(peer.ack(written));
    EXPECT_TRUE(got.completions.empty() && got.written.empty());
    ASSERT_EQ(got.sent.size(), 2U);  // both again
    EXPECT_EQ(psn_of(got, 0), asked);
    EXPECT_EQ(psn_of(got, 1), written);
    // Told again, it is the same gap.
    EXPECT_TRUE(nothing(victim.receive(peer.ack(written))));
    // Then the answer comes. Expect: both complete, in order.
    Effects done;
    if (kind == WorkKind::read) {
      EXPECT_TRUE(completed(victim.receive(response(asked, 0, 2)), {}));
      done = victim.receive(response(asked, 1, 2));
    } else {
      done = victim.receive(peer.answer(Opcode::rc_atomic_ack, asked).original(42));
    }
    EXPECT_TRUE(completed(done, {1}));
    EXPECT_TRUE(completed(victim.receive(peer.ack(written)), {2}));
  }
  EXPECT_EQ(victim.count(nic::Counter::implied_nak_seq_err), 2U);
  EXPECT_TRUE(works(victim, peer, area));
}

TEST_F(TrustAnswers, T23_AcknowledgementOfTheReadItself) {
  // A plain ACK is no answer to a READ: it completes nothing and places nothing.
  const Psn asked = psn_of(post(WorkKind::read, 100));
  const Effects got = victim.receive(peer.ack(asked));
  EXPECT_TRUE(got.completions.empty() && got.written.empty());
  EXPECT_TRUE(completed(victim.receive(response(asked, 0, 1, 100)), {1}));
}

// ---- 24: READ responses ---------------------------------------------------------------------------------------------

TEST_F(TrustAnswers, T24_ReadResponseForNoRead) {
  const Psn psn = psn_of(post(WorkKind::write, 64));
  EXPECT_TRUE(dropped(victim.receive(response(psn, 0, 1, 64)), Refusal::response_unexpected));
  EXPECT_TRUE(dropped(victim.receive(peer.answer(Opcode::rc_atomic_ack, psn)), Refusal::response_unexpected));
  EXPECT_TRUE(completed(victim.receive(peer.ack(psn)), {1}));
  // An atomic's answer to a READ, and the other way round.
  const Psn asked = psn_of(post(WorkKind::read, 8, 2));
  EXPECT_TRUE(dropped(victim.receive(peer.answer(Opcode::rc_atomic_ack, asked)), Refusal::response_unexpected));
  EXPECT_TRUE(completed(victim.receive(response(asked, 0, 1, 8)), {2}));
  const Psn added = psn_of(post(WorkKind::fetch_add, 8, 3));
  EXPECT_TRUE(dropped(victim.receive(response(added, 0, 1, 8)), Refusal::response_unexpected));
  EXPECT_TRUE(completed(victim.receive(peer.answer(Opcode::rc_atomic_ack, added).original(1)), {3}));
}

TEST_F(TrustAnswers, T24_ReadResponseOfTheWrongStep) {
  // Receive: at each of three responses, every step that cannot stand there. FIRST in the middle can: a READ asked for
  // again in part starts anew there.
  const Psn asked = psn_of(post(WorkKind::read, 3 * 256));
  const auto wrong = [&](std::uint32_t i, Opcode opcode) {
    EXPECT_TRUE(
        dropped(victim.receive(peer.answer(opcode, asked.plus(i)).carrying(256, 9)), Refusal::response_out_of_order))
        << i << " " << wire::info(opcode).name;
  };
  for (const Opcode o :
       {Opcode::rc_read_response_middle, Opcode::rc_read_response_last, Opcode::rc_read_response_only}) {
    wrong(0, o);
  }
  EXPECT_TRUE(completed(victim.receive(response(asked, 0, 3)), {}));
  for (const Opcode o : {Opcode::rc_read_response_last, Opcode::rc_read_response_only}) wrong(1, o);
  EXPECT_TRUE(completed(victim.receive(response(asked, 1, 3)), {}));
  for (const Opcode o : {Opcode::rc_read_response_first, Opcode::rc_read_response_middle}) wrong(2, o);
  EXPECT_TRUE(completed(victim.receive(response(asked, 2, 3)), {1}));
  for (std::uint32_t i = 0; i < 3; ++i) {
    const auto bytes = pattern(256, i);
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), target.bytes.begin() + i * 256));
  }
}

TEST_F(TrustAnswers, T24_ReadResponseOfTheWrongLength) {
  const Psn asked = psn_of(post(WorkKind::read, 256 + 100));
  for (const std::size_t bytes : {0, 1, 255, 257, 1024}) {
    EXPECT_TRUE(dropped(victim.receive(response(asked, 0, 2, bytes)), Refusal::response_bad_length)) << bytes;
  }
  EXPECT_TRUE(completed(victim.receive(response(asked, 0, 2)), {}));
  for (const std::size_t bytes : {0, 99, 101, 256}) {
    EXPECT_TRUE(dropped(victim.receive(response(asked, 1, 2, bytes)), Refusal::response_bad_length)) << bytes;
  }
  EXPECT_TRUE(completed(victim.receive(response(asked, 1, 2, 100)), {1}));
}

TEST_F(TrustAnswers, T24_ReadResponsesInTheWrongOrder) {
  const Psn asked = psn_of(post(WorkKind::read, 4 * 256));
  // Receive: the third response first. Expect: not placed; the READ is asked for again, once for this gap.
  Effects got = victim.receive(response(asked, 2, 4));
  EXPECT_TRUE(counted(got, Refusal::response_out_of_order));
  EXPECT_TRUE(got.written.empty() && got.completions.empty());
  ASSERT_EQ(got.sent.size(), 1U);
  EXPECT_EQ(got.sent[0].headers.bth.opcode, Opcode::rc_read_request);
  EXPECT_TRUE(dropped(victim.receive(response(asked, 3, 4)), Refusal::response_out_of_order));
  // Receive: the first and second. Expect: placed; and behind a second gap only the rest is asked for.
  EXPECT_TRUE(completed(victim.receive(response(asked, 0, 4)), {}));
  EXPECT_TRUE(completed(victim.receive(response(asked, 1, 4)), {}));
  got = victim.receive(response(asked, 3, 4));
  EXPECT_TRUE(counted(got, Refusal::response_out_of_order));
  ASSERT_EQ(got.sent.size(), 1U);
  EXPECT_EQ(psn_of(got), asked.plus(2));
  EXPECT_EQ(got.sent[0].headers.reth.address, 0x1000U + 512);
  EXPECT_EQ(got.sent[0].headers.reth.length, 512U);
  EXPECT_TRUE(dropped(victim.receive(response(asked, 0, 4)), Refusal::ack_duplicate));
  EXPECT_TRUE(completed(victim.receive(response(asked.plus(2), 0, 2)), {}));
  EXPECT_TRUE(completed(victim.receive(response(asked.plus(2), 1, 2)), {1}));
}

// ---- 25: NAKs -------------------------------------------------------------------------------------------------------

TEST_F(TrustAnswers, T25_ReservedSyndromes) {
  // Receive: all 256 syndromes, as acknowledgement of the packet under way. Expect: the reserved ones are dropped.
  unsigned reserved = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    SCOPED_TRACE(byte);
    // NAK 4, "invalid RD request", is not RC's; NAK 31, "no kernel", is no answer to a WRITE.
    const bool legal = byte < 0x40 || (byte >= 0x60 && byte <= 0x63);
    if (legal) continue;
    ++reserved;
    const Effects sent = post(WorkKind::write, 600, byte);
    Crafted ack = peer.ack(psn_of(sent, 1));
    ack.headers.aeth.syndrome = static_cast<std::uint8_t>(byte);
    EXPECT_TRUE(dropped(victim.receive(ack), Refusal::bad_syndrome));
    EXPECT_TRUE(completed(victim.receive(peer.ack(psn_of(sent, 2))), {byte}));
  }
  EXPECT_EQ(reserved, 256U - 64 - 4);
}

TEST_F(TrustAnswers, T25_AnswerThatSaysNak) {
  // Receive: the answer to a READ or atomic whose AETH is no ACK: it contradicts itself. Expect: not placed.
  const Psn asked = psn_of(post(WorkKind::read, 100, 1));
  for (const Syndrome s :
       {Syndrome::rnr(3), kSequenceNak, Syndrome::nak(NakCode::remote_access), Syndrome::decode(0xFF)}) {
    EXPECT_TRUE(dropped(victim.receive(response(asked, 0, 1, 100).saying(s)), Refusal::bad_syndrome));
  }
  EXPECT_TRUE(completed(victim.receive(response(asked, 0, 1, 100)), {1}));
  const Psn added = psn_of(post(WorkKind::fetch_add, 8, 2));
  const Crafted answer = peer.answer(Opcode::rc_atomic_ack, added).original(5);
  EXPECT_TRUE(dropped(victim.receive(Crafted(answer).saying(kSequenceNak)), Refusal::bad_syndrome));
  EXPECT_TRUE(completed(victim.receive(answer), {2}));
}

TEST_F(TrustAnswers, T25_FloodOfSequenceNaks) {
  // Receive: ten thousand NAKs before the card can act. Expect: one retransmission, one retry spent.
  const Effects sent = post(WorkKind::write, 4 * 256);
  const std::vector<Crafted> flood(10'000, peer.ack(psn_of(sent, 1), kSequenceNak));
  const Effects got = victim.receive_all(flood);
  EXPECT_TRUE(got.completions.empty() && got.refusals.empty());
  ASSERT_EQ(got.sent.size(), 3U);  // from the missing packet on: what came before is thereby acknowledged
  EXPECT_EQ(psn_of(got), psn_of(sent, 1));
  EXPECT_EQ(peer.qp->context().retries_left, 6U);
  EXPECT_TRUE(completed(victim.receive(peer.ack(psn_of(sent, 3))), {1}));
  EXPECT_EQ(peer.qp->context().retries_left, 7U);
  EXPECT_TRUE(works(victim, peer, area));
}

TEST_F(TrustAnswers, T25_ForgedNaksCostAtMostTheRetries) {
  // Receive: a NAK after every retransmission. Expect: exactly retry_count of them, then the work fails; a forger that
  // knows the PSN can end a connection (one NAK "invalid request" does), but not make the card send for ever.
  for (const std::uint8_t retries : {0, 1, 3, 7}) {
    peer = connect_at(Psn(1000), retries);
    const Psn psn = psn_of(post(WorkKind::write, 64));
    for (int i = 0; i < retries; ++i) EXPECT_EQ(victim.receive(peer.ack(psn, kSequenceNak)).sent.size(), 1U);
    const Effects end = victim.receive(peer.ack(psn, kSequenceNak));
    EXPECT_TRUE(failed(end, peer, Refusal::retry_exceeded, Status::retry_exceeded));
  }
}

TEST_F(TrustAnswers, T25_FloodOfReceiverNotReady) {
  // Receive: ten thousand RNR NAKs with ever longer timers. Expect: the first sets the wait, the others change nothing.
  const Psn psn = psn_of(post(WorkKind::send, 64));
  EXPECT_TRUE(victim.receive(peer.ack(psn, Syndrome::rnr(1))).sent.empty());  // 10 us
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(nothing(victim.receive(peer.ack(psn, Syndrome::rnr(static_cast<std::uint8_t>(i))))));
  }
  EXPECT_TRUE(victim.wait(microseconds(10) - 1).sent.empty());
  EXPECT_EQ(victim.wait(1).sent.size(), 1U);
  EXPECT_TRUE(completed(victim.receive(peer.ack(psn)), {1}));
}

TEST_F(TrustAnswers, T25_NaksThatEndTheConnection) {
  // What the peer says it could not do: the oldest work fails with that, the rest is flushed.
  struct Case {
    NakCode code;
    Refusal why;
    Status status;
  };
  for (const auto& [code, why, status] :
       {Case{NakCode::invalid_request, Refusal::peer_invalid_request, Status::remote_invalid_request},
        Case{NakCode::remote_access, Refusal::peer_access_error, Status::remote_access},
        Case{NakCode::remote_operation, Refusal::peer_operation_error, Status::remote_operation}}) {
    peer = victim.connect();
    const Psn first = psn_of(post(WorkKind::write, 64, 1)), second = psn_of(post(WorkKind::write, 64, 2));
    (void)post(WorkKind::write, 64, 3);
    // Receive: the NAK of the second. Expect: the first is done, by implication.
    Effects got = victim.receive(peer.ack(second, Syndrome::nak(code)));
    ASSERT_EQ(got.completions.size(), 3U);
    EXPECT_EQ(got.completions[0].status, Status::success);
    got.completions.erase(got.completions.begin());
    EXPECT_TRUE(failed(got, peer, why, status));
    EXPECT_TRUE(dropped(victim.receive(peer.ack(first)), Refusal::qp_not_ready));
  }
}

// ---- 21: the circle -----------------------------------------------------------------------------------------------

TEST_F(TrustAnswers, T21_WrapInsideOurMessage) {
  peer = connect_at(Psn(0xFF'FFFE));
  const Effects sent = post(WorkKind::write, 4 * 256, 1);
  ASSERT_EQ(sent.sent.size(), 4U);
  EXPECT_EQ(psn_of(sent, 3), Psn(1));
  // Acknowledgements from both sides of the wrap.
  EXPECT_TRUE(completed(victim.receive(peer.ack(Psn(0xFF'FFFF))), {}));
  EXPECT_TRUE(dropped(victim.receive(peer.ack(Psn(0xFF'FFFE))), Refusal::ack_duplicate));
  EXPECT_TRUE(dropped(victim.receive(peer.ack(Psn(2))), Refusal::ack_ghost));
  EXPECT_TRUE(completed(victim.receive(peer.ack(Psn(1))), {1}));
  EXPECT_TRUE(works(victim, peer, area));
}

TEST_F(TrustAnswers, T21_WrapInsideRetransmission) {
  peer = connect_at(Psn(0xFF'FFFE));
  const Effects sent = post(WorkKind::write, 4 * 256, 1);
  // Receive: a NAK for the packet before the wrap. Expect: it and both behind it again, with the right bytes.
  Effects again = victim.receive(peer.ack(Psn(0xFF'FFFF), kSequenceNak));
  ASSERT_EQ(again.sent.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(again.sent[i].headers.bth.psn, sent.sent[i + 1].headers.bth.psn);
    EXPECT_EQ(again.sent[i].payload, sent.sent[i + 1].payload);
  }
  // Silence. Expect: the same by time.
  again = victim.wait(wire::ack_timeout(10, nanoseconds(1)));
  ASSERT_EQ(again.sent.size(), 3U);
  EXPECT_EQ(psn_of(again), Psn(0xFF'FFFF));
  again = victim.receive(peer.ack(Psn(0), kSequenceNak));
  ASSERT_EQ(again.sent.size(), 2U);
  EXPECT_EQ(psn_of(again), Psn(0));
  EXPECT_TRUE(completed(victim.receive(peer.ack(Psn(1))), {1}));
}

TEST_F(TrustAnswers, T21_WrapInsideTheReplyToOurRead) {
  peer = connect_at(Psn(0xFF'FFFE));
  const Psn asked = psn_of(post(WorkKind::read, 4 * 256, 1));
  EXPECT_TRUE(completed(victim.receive(response(asked, 0, 4)), {}));
  EXPECT_TRUE(completed(victim.receive(response(asked, 1, 4)), {}));
  // Silence. Expect: the rest is asked for, from the other side of the wrap.
  const Effects again = victim.wait(wire::ack_timeout(10, nanoseconds(1)));
  ASSERT_EQ(again.sent.size(), 1U);
  EXPECT_EQ(psn_of(again), Psn(0));
  EXPECT_EQ(again.sent[0].headers.reth.length, 512U);
  EXPECT_TRUE(completed(victim.receive(response(Psn(0), 0, 2)), {}));
  EXPECT_TRUE(completed(victim.receive(response(Psn(0), 1, 2)), {1}));
  EXPECT_TRUE(works(victim, peer, area));
}

// ---- 29: congestion notifications -----------------------------------------------------------------------------------

TEST_F(TrustAnswers, T29_CongestionNotifications) {
  // No congestion control here to hear them: ten thousand change nothing but their counter.
  const std::vector<Crafted> flood(10'000, peer.request(Opcode::cnp));
  EXPECT_TRUE(dropped(victim.receive_all(flood), Refusal::cnp_unexpected, flood.size()));
  EXPECT_TRUE(dropped(victim.receive(peer.request(Opcode::cnp).to(wire::Qpn(0x12'3456))), Refusal::no_such_qp));
  Crafted stranger = peer.request(Opcode::cnp);
  stranger.flow.source = wire::Address::v4(10, 9, 9, 9);
  EXPECT_TRUE(dropped(victim.receive(stranger), Refusal::wrong_peer));
  // With a payload behind its 16 reserved bytes.
  Bytes datagram(12 + 16 + 8 + 4, std::byte{0});
  std::array<std::byte, wire::Bth::kBytes> bth;
  peer.request(Opcode::cnp).headers.bth.encode(bth);
  std::copy(bth.begin(), bth.end(), datagram.begin());
  EXPECT_TRUE(dropped(victim.receive_datagram(datagram, peer.request(Opcode::cnp).flow), Refusal::payload_not_allowed));
  EXPECT_TRUE(works(victim, peer, area));
}

}  // namespace
}  // namespace weft::trust
