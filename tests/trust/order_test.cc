// Requests out of their order (checklist 16-21, 26): what a responder answers, and that nothing is carried out twice.
#include <algorithm>

#include "expect.h"

namespace weft::trust {
namespace {

using wire::NakCode;
using wire::Syndrome;

const Syndrome kGapNak = Syndrome::nak(NakCode::psn_sequence);

struct TrustOrder : testing::Test {
  Victim victim;
  Area area = victim.allocate(4096);
  Connection peer = victim.connect();

  Crafted write(unsigned seed = 1) {
    return peer.next_request(Opcode::rc_write_only).at(area.address, area.key, 64).carrying(64, seed);
  }
  Crafted read(std::uint32_t bytes, std::uint32_t from = 0) {
    const std::uint32_t packets = std::max(1U, (bytes + peer.mtu - 1) / peer.mtu);
    return peer.next_request(Opcode::rc_read_request, packets).at(area.address + from, area.key, bytes);
  }
  Crafted add(std::uint64_t value) {
    return peer.next_request(Opcode::rc_fetch_add).atomic(area.address, area.key, value);
  }
  Connection connect_at(Psn receive_psn, std::uint8_t max_peer_reads = 4) {
    ConnectOptions o;
    o.attributes.receive_psn = receive_psn;
    o.attributes.max_peer_reads = max_peer_reads;
    return victim.connect(o);
  }
  std::uint64_t word() const {
    std::uint64_t value = 0;
    std::copy_n(area.bytes.begin(), 8, std::as_writable_bytes(std::span(&value, 1)).begin());
    return value;
  }
};

std::vector<std::uint32_t> psns_of(const Effects& e) {
  std::vector<std::uint32_t> psns;
  for (const Crafted& p : e.sent) psns.push_back(p.headers.bth.psn.raw());
  return psns;
}

// The packets are READ responses with these PSNs, first to last, and carry these bytes.
AssertionResult responded(const Effects& e, const std::vector<std::uint32_t>& psns, std::span<const std::byte> bytes) {
  if (psns_of(e) != psns) return testing::AssertionFailure() << "other PSNs: " << text_of(e);
  Bytes all;
  for (std::size_t i = 0; i < e.sent.size(); ++i) {
    const bool starts = i == 0, ends = i + 1 == e.sent.size();
    const Opcode wanted = starts ? (ends ? Opcode::rc_read_response_only : Opcode::rc_read_response_first)
                                 : (ends ? Opcode::rc_read_response_last : Opcode::rc_read_response_middle);
    if (e.sent[i].headers.bth.opcode != wanted) return testing::AssertionFailure() << "other steps: " << text_of(e);
    all.insert(all.end(), e.sent[i].payload.begin(), e.sent[i].payload.end());
  }
  if (!std::equal(all.begin(), all.end(), bytes.begin(), bytes.end())) {
    return testing::AssertionFailure() << "other bytes: " << text_of(e);
  }
  return testing::AssertionSuccess();
}

// ---- 16: ahead --------------------------------------------------------------------------------------------------

TEST_F(TrustOrder, T16_PsnAheadGetsOneNak) {
  // IBA 9.7.5.2.8: the responder sends one NAK per gap, whose PSN is the one that it expects.
  const Crafted lost = write(1);
  const Effects first = victim.receive(write(2));
  EXPECT_TRUE(counted(first, Refusal::psn_ahead));
  EXPECT_TRUE(answered(first, peer, kGapNak, lost.headers.bth.psn));
  EXPECT_TRUE(first.written.empty());
  // Receive: a hundred more behind the same gap. Expect: not a word.
  for (unsigned i = 0; i < 100; ++i) EXPECT_TRUE(dropped(victim.receive(write(i)), Refusal::psn_ahead));
  EXPECT_EQ(victim.count(nic::Counter::out_of_sequence), 101U);
  // Receive: what was missing. Expect: placed, acknowledged, and the next gap gets a NAK of its own.
  const Effects filled = victim.receive(lost);
  EXPECT_TRUE(accepted(filled, peer));
  EXPECT_TRUE(answered(filled, peer, Syndrome::ack(), lost.headers.bth.psn));
  EXPECT_TRUE(answered(victim.receive(write()), peer, kGapNak, lost.headers.bth.psn.plus(1)));
}

TEST_F(TrustOrder, T16_AheadIsLessThanHalfTheCircle) {
  const Psn expected = peer.next;
  for (const std::uint32_t distance : {1U, 2U, 255U, 256U, 1U << 22, (1U << 23) - 1}) {
    Connection c = connect_at(expected);
    const Effects got = victim.receive(c.request(Opcode::rc_send_only).psn(expected.plus(distance)));
    EXPECT_TRUE(counted(got, Refusal::psn_ahead)) << distance;
    EXPECT_TRUE(answered(got, c, kGapNak, expected)) << distance;
  }
  for (const std::uint32_t distance : {1U << 23, (1U << 23) + 1, 0xFF'FFFFU}) {
    Connection c = connect_at(expected);
    EXPECT_TRUE(
        counted(victim.receive(c.request(Opcode::rc_send_only).psn(expected.plus(distance))), Refusal::psn_duplicate))
        << distance;
  }
}

TEST_F(TrustOrder, T16_FloodAheadIsOnePacketOut) {
  // Receive: ten thousand requests ahead before the card can say anything. Expect: one NAK.
  const Psn expected = peer.next;
  std::vector<Crafted> flood(10'000, peer.request(Opcode::rc_send_only).carrying(16).psn(expected.plus(9)));
  const Effects got = victim.receive_all(flood);
  EXPECT_TRUE(counted(got, Refusal::psn_ahead, flood.size()));
  EXPECT_TRUE(answered(got, peer, kGapNak, expected));
  EXPECT_TRUE(works(victim, peer, area));
}

TEST_F(TrustOrder, T16_GapClosedBeforeTheNakHasLeft) {
  // Receive: two packets in the wrong order, and then the right one, at once. Expect: no NAK, which would be a lie.
  const std::vector<Crafted> swapped = {write(1), write(2)};
  const std::vector<Crafted> arrival = {swapped[1], swapped[0], swapped[1]};
  const Effects got = victim.receive_all(arrival);
  EXPECT_TRUE(counted(got, Refusal::psn_ahead));
  EXPECT_TRUE(answered(got, peer, Syndrome::ack(), swapped[1].headers.bth.psn));
}

// ---- 17 ... 20, 26: duplicates ------------------------------------------------------------------------------------

TEST_F(TrustOrder, T17_DuplicateIsAcknowledgedAgainAndNotPlacedAgain) {
  (void)victim.post_receive(peer, area.sge(1024));
  Crafted first = write(1);
  const Crafted send = peer.next_request(Opcode::rc_send_only).carrying(64, 2), last = write(3);
  for (const Crafted& p : {first, send, last}) EXPECT_TRUE(accepted(victim.receive(p), peer));
  // Receive: the first WRITE again, with other bytes, elsewhere, under a key that names nothing.
  first = std::move(first).carrying(64, 9).at(area.address + 512, wire::Key(0xDEAD'BEEF), 64);
  // Expect: an acknowledgement of the last PSN carried out, whatever the duplicate's was.
  for (const Crafted& again : {first, send, last}) {
    const Effects got = victim.receive(again);
    EXPECT_TRUE(counted(got, Refusal::psn_duplicate));
    EXPECT_TRUE(answered(got, peer, Syndrome::ack(), last.headers.bth.psn));
    EXPECT_TRUE(got.written.empty() && got.completions.empty() && got.events.empty());
  }
  EXPECT_EQ(victim.count(nic::Counter::duplicate_request), 3U);
  EXPECT_TRUE(works(victim, peer, area));
}

TEST_F(TrustOrder, T17_DuplicateInTheMiddleOfAMessageChangesNothingOfIt) {
  (void)victim.post_receive(peer, area.sge(1024));
  const Crafted before = write(1);
  (void)victim.receive(before);
  const auto message = peer.next_send(3 * 256, 4);
  for (const Crafted& p : message) {
    EXPECT_TRUE(counted(victim.receive(before), Refusal::psn_duplicate));
    EXPECT_TRUE(accepted(victim.receive(p), peer));
  }
  const auto sent = pattern(3 * 256, 4);
  EXPECT_TRUE(std::equal(sent.begin(), sent.end(), area.bytes.begin() + 1024));
}

TEST_F(TrustOrder, T17_FloodOfDuplicatesIsOnePacketOut) {
  const Crafted p = write();
  (void)victim.receive(p);
  const std::vector<Crafted> flood(10'000, p);
  const Effects got = victim.receive_all(flood);
  EXPECT_TRUE(counted(got, Refusal::psn_duplicate, flood.size()));
  EXPECT_TRUE(answered(got, peer, Syndrome::ack(), p.headers.bth.psn));
}

TEST_F(TrustOrder, T18_DuplicateReadIsCarriedOutAgain) {
  const Crafted request = read(3 * 256);
  const std::uint32_t psn = request.headers.bth.psn.raw();
  const auto bytes = area.bytes.first(3 * 256);
  EXPECT_TRUE(responded(victim.receive(request), {psn, psn + 1, psn + 2}, bytes));
  // IBA 9.7.5.1.4: a repeated READ reads the memory as it is now.
  area.bytes[300] ^= std::byte{0xFF};
  (void)victim.settle();
  const Effects again = victim.receive(request);
  EXPECT_TRUE(accepted(again, peer));
  EXPECT_TRUE(responded(again, {psn, psn + 1, psn + 2}, bytes));
  EXPECT_TRUE(works(victim, peer, area));
}

TEST_F(TrustOrder, T18_DuplicateReadInsideAMessageDoesNotResetIt) {
  // rxe 4e4c53df: a repeated READ reset the opcode sequence, and the next ACK carried the READ's PSN.
  const Crafted request = read(256);
  (void)victim.receive(request);
  const auto message = peer.next_write(area, 3 * 256, 6);
  for (const Crafted& p : message) {
    EXPECT_TRUE(responded(victim.receive(request), {request.headers.bth.psn.raw()}, area.bytes.first(256)));
    const Effects got = victim.receive(p);
    EXPECT_TRUE(accepted(got, peer));
    if (p.headers.bth.ack_request) {
      EXPECT_TRUE(answered(got, peer, Syndrome::ack(), p.headers.bth.psn));
    }
  }
  EXPECT_TRUE(works(victim, peer, area));
}

TEST_F(TrustOrder, T18_FloodOfDuplicateReadsIsOneAnswer) {
  const Crafted request = read(4 * 256);
  (void)victim.receive(request);
  const std::vector<Crafted> flood(10'000, request);
  const std::uint32_t psn = request.headers.bth.psn.raw();
  EXPECT_TRUE(responded(victim.receive_all(flood), {psn, psn + 1, psn + 2, psn + 3}, area.bytes.first(4 * 256)));
}

TEST_F(TrustOrder, T19_DuplicateAtomicReturnsTheSavedResult) {
  const std::uint64_t before = word();
  const Crafted request = add(5);
  for (int times = 0; times < 3; ++times) {
    const Effects got = victim.receive(request);
    EXPECT_TRUE(accepted(got, peer));
    ASSERT_EQ(got.sent.size(), 1U);
    EXPECT_EQ(got.sent[0].headers.bth.opcode, Opcode::rc_atomic_ack);
    EXPECT_EQ(got.sent[0].headers.bth.psn, request.headers.bth.psn);
    EXPECT_EQ(got.sent[0].headers.atomic_ack.original, before);
    EXPECT_EQ(word(), before + 5);  // once
  }
  // Receive: the same PSN with another operand, address and key. Expect: the saved result, and nothing done.
  const Effects got = victim.receive(Crafted(request).atomic(area.address + 8, wire::Key(1), 77));
  ASSERT_EQ(got.sent.size(), 1U);
  EXPECT_EQ(got.sent[0].headers.atomic_ack.original, before);
  EXPECT_TRUE(got.written.empty());
  EXPECT_TRUE(works(victim, peer, area));
}

TEST_F(TrustOrder, T20_DuplicateOlderThanTheSavedResults) {
  peer = connect_at(Psn(500), 2);
  const Crafted oldest_atomic = add(1), oldest_read = read(256);
  for (const Crafted& p : {oldest_atomic, oldest_read, add(1), add(1)}) EXPECT_TRUE(accepted(victim.receive(p), peer));
  EXPECT_TRUE(dropped(victim.receive(oldest_atomic), Refusal::duplicate_too_old));
  EXPECT_TRUE(dropped(victim.receive(oldest_read), Refusal::duplicate_too_old));
  // A READ where an atomic was, and an atomic where a READ was.
  const Crafted kept_read = read(256), kept_add = add(1);
  for (const Crafted& p : {kept_read, kept_add}) EXPECT_TRUE(accepted(victim.receive(p), peer));
  Crafted p = Crafted(kept_read).psn(kept_add.headers.bth.psn);
  EXPECT_TRUE(dropped(victim.receive(p), Refusal::duplicate_too_old));
  p = Crafted(kept_add).psn(kept_read.headers.bth.psn);
  EXPECT_TRUE(dropped(victim.receive(p), Refusal::duplicate_too_old));
  EXPECT_TRUE(works(victim, peer, area));
}

TEST_F(TrustOrder, T20_DuplicateReadOfMemoryThatIsGone) {
  // Receive: a READ repeated after its region was deregistered, as a late copy in the network or a forger would.
  // Expect: silence. Its answer was given once, so nobody may wait for it, and a NAK would end a sound connection.
  const Area other = victim.allocate(512);
  const Crafted request = peer.next_request(Opcode::rc_read_request, 2).at(other.address, other.key, 512);
  EXPECT_TRUE(accepted(victim.receive(request), peer));
  ASSERT_EQ(victim.device().deregister_region(other.key), host::Error::none);
  EXPECT_TRUE(dropped(victim.receive(request), Refusal::key_stale));
  EXPECT_TRUE(works(victim, peer, area));
}

TEST_F(TrustOrder, T26_ReadRepeatedForTheRemainingPart) {
  // rxe 030e46e4: after losing responses a requester asks for what is missing, from some response to the end.
  const Crafted whole = read(3 * 256 + 10);
  const Psn first = whole.headers.bth.psn;
  (void)victim.receive(whole);
  for (std::uint32_t from = 0; from < 4; ++from) {
    const Crafted part =
        Crafted(whole).psn(first.plus(from)).at(area.address + from * 256, area.key, 3 * 256 + 10 - from * 256);
    std::vector<std::uint32_t> psns;
    for (std::uint32_t i = from; i < 4; ++i) psns.push_back(first.plus(i).raw());
    const Effects got = victim.receive(part);
    EXPECT_TRUE(accepted(got, peer));
    EXPECT_TRUE(responded(got, psns, area.bytes.subspan(from * 256, 3 * 256 + 10 - from * 256)));
  }
  EXPECT_TRUE(works(victim, peer, area));
}

TEST_F(TrustOrder, T26_PartThatWasNeverGranted) {
  // Receive: "repeated" READs that ask for other memory than the READ with that PSN did.
  const Crafted whole = read(3 * 256);
  const Psn second = whole.headers.bth.psn.plus(1);
  (void)victim.receive(whole);
  const std::uint64_t right = area.address + 256;
  const auto ask = [&](std::uint64_t address, wire::Key key, std::uint32_t length) {
    return victim.receive(Crafted(whole).psn(second).at(address, key, length));
  };
  EXPECT_TRUE(dropped(ask(right - 1, area.key, 512), Refusal::duplicate_too_old));
  EXPECT_TRUE(dropped(ask(area.address, area.key, 768), Refusal::duplicate_too_old));
  EXPECT_TRUE(dropped(ask(right, area.key, 513), Refusal::duplicate_too_old));
  EXPECT_TRUE(dropped(ask(right, area.key, 0xFFFF'FFFF), Refusal::duplicate_too_old));
  EXPECT_TRUE(dropped(ask(right, wire::Key(area.key.raw() ^ 1), 512), Refusal::duplicate_too_old));
  EXPECT_TRUE(works(victim, peer, area));
}

// ---- 21: the circle -----------------------------------------------------------------------------------------------

TEST_F(TrustOrder, T21_WrapInsideAMessage) {
  for (const bool sends : {false, true}) {
    peer = connect_at(Psn(0xFF'FFFE));
    (void)victim.post_receive(peer, area.sge(0, 1024));
    const auto message = sends ? peer.next_send(4 * 256, 8) : peer.next_write(area, 4 * 256, 9);
    EXPECT_EQ(peer.next, Psn(2));
    for (const Crafted& p : message) {
      const Effects got = victim.receive(p);
      EXPECT_TRUE(accepted(got, peer));
      if (p.headers.bth.ack_request) {
        EXPECT_TRUE(answered(got, peer, Syndrome::ack(), Psn(1)));
      }
    }
    const auto sent = pattern(4 * 256, sends ? 8 : 9);
    EXPECT_TRUE(std::equal(sent.begin(), sent.end(), area.bytes.begin()));
    // On both sides of the wrap, behind is behind and ahead is ahead.
    EXPECT_TRUE(answered(victim.receive(message[1]), peer, Syndrome::ack(), Psn(1)));
    EXPECT_TRUE(answered(victim.receive(peer.request(Opcode::rc_send_only).psn(Psn(3))), peer, kGapNak, Psn(2)));
  }
}

TEST_F(TrustOrder, T21_WrapInsideAReadReply) {
  peer = connect_at(Psn(0xFF'FFFE));
  const Crafted request = read(4 * 256);
  const auto bytes = area.bytes.first(4 * 256);
  EXPECT_TRUE(responded(victim.receive(request), {0xFF'FFFE, 0xFF'FFFF, 0, 1}, bytes));
  // And inside its repetition, on either side.
  EXPECT_TRUE(responded(victim.receive(request), {0xFF'FFFE, 0xFF'FFFF, 0, 1}, bytes));
  const Crafted before = Crafted(request).psn(Psn(0xFF'FFFF)).at(area.address + 256, area.key, 768);
  EXPECT_TRUE(responded(victim.receive(before), {0xFF'FFFF, 0, 1}, bytes.subspan(256)));
  const Crafted behind = Crafted(request).psn(Psn(1)).at(area.address + 768, area.key, 256);
  EXPECT_TRUE(responded(victim.receive(behind), {1}, bytes.subspan(768)));
  EXPECT_EQ(peer.next, Psn(2));
  EXPECT_TRUE(works(victim, peer, area));
}

TEST_F(TrustOrder, T21_WrapBetweenAtomicAndItsDuplicate) {
  peer = connect_at(Psn(0xFF'FFFF));
  const std::uint64_t before = word();
  const Crafted request = add(3);
  (void)victim.receive(request);
  (void)victim.receive(add(4));
  const Effects again = victim.receive(request);
  ASSERT_EQ(again.sent.size(), 1U);
  EXPECT_EQ(again.sent[0].headers.atomic_ack.original, before);
  EXPECT_EQ(word(), before + 7);
  EXPECT_TRUE(works(victim, peer, area));
}

}  // namespace
}  // namespace weft::trust
