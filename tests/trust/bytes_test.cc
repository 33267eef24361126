// Bytes that are no packet (checklist 1-8 and 14): counted under their name, dropped without a word.
#include "expect.h"
#include "wire/frame.h"
#include "wire/test_model.h"

namespace weft::trust {
namespace {

// A card with a live connection and a well-formed WRITE for it, as bytes, to be spoiled.
struct Bytewise : testing::Test {
  Victim victim;
  Area area = victim.allocate(1024);
  Connection peer = victim.connect();

  Crafted write(std::uint32_t bytes = 64) {
    return peer.request(Opcode::rc_write_only).at(area.address, area.key, bytes).carrying(bytes, 5);
  }
  Bytes write_frame() { return frame_of(write()); }
};
using TrustBytes = Bytewise;

// A second one over IPv6.
ConnectOptions over_six() {
  ConnectOptions o;
  o.attributes.peer = kPeerSixAddress;
  o.attributes.gid_index = 2;
  return o;
}

TEST_F(TrustBytes, T00_TheFrameThatIsNotSpoiledIsExecuted) {
  // Receive: the WRITE that the tests below spoil. Expect: placed and acknowledged.
  const Crafted good = write();
  const Effects got = victim.receive_frame(frame_of(good));
  EXPECT_TRUE(accepted(got, peer));
  EXPECT_TRUE(answered(got, peer, wire::Syndrome::ack(), peer.next));
  EXPECT_EQ(got.written, (std::vector<Written>{{area.offset, 64}}));
}

TEST_F(TrustBytes, T01_DatagramShorterThanBthAndIcrc) {
  const Bytes payload = pattern(16);
  for (std::size_t bytes = 0; bytes < 16; ++bytes) {
    SCOPED_TRACE(bytes);
    EXPECT_TRUE(dropped(victim.receive_datagram(std::span(payload).first(bytes), write().flow), Refusal::truncated));
  }
  EXPECT_TRUE(works(victim, peer, area));
}

TEST_F(TrustBytes, T02_EveryOpcodeAtEveryLength) {
  // Receive: all 256 opcodes x UDP payloads of 0 ... 120 bytes, ICRC right. Those that are no packet go to a live queue
  // pair, the others to one that does not exist. Expect: each dropped under the name that wire's own model gives it.
  std::uint64_t accepted_shapes = 0;
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    for (std::size_t bytes = 0; bytes <= 120; ++bytes) {
      SCOPED_TRACE(testing::Message() << "opcode " << opcode << ", " << bytes << " bytes");
      Bytes payload(bytes, std::byte{0});
      std::array<std::byte, wire::Bth::kBytes> bth;
      wire::Bth{.opcode = static_cast<Opcode>(opcode), .destination = peer.qpn(), .psn = peer.next}.encode(bth);
      std::copy_n(bth.begin(), std::min(bytes, bth.size()), payload.begin());
      Refusal expected = wire::model::verdict(payload);
      if (expected == Refusal::none) {
        ++accepted_shapes;
        expected = Refusal::no_such_qp;
        payload[7] ^= std::byte{0x10};
        payload[5] ^= std::byte{0x80};
      }
      ASSERT_TRUE(dropped(victim.receive_datagram(payload, write().flow), expected));
    }
  }
  EXPECT_GT(accepted_shapes, 500U);
  EXPECT_TRUE(works(victim, peer, area));
}

TEST_F(TrustBytes, T03_TransportVersionIsNotZero) {
  for (unsigned version = 1; version < 16; ++version) {
    SCOPED_TRACE(version);
    Bytes frame = write_frame();
    frame[bth_at(false) + 1] |= static_cast<std::byte>(version);
    seal(frame);
    EXPECT_TRUE(dropped(victim.receive_frame(frame), Refusal::bad_version));
  }
  EXPECT_TRUE(works(victim, peer, area));
}

TEST_F(TrustBytes, T04_ReservedBitsAreIgnored) {
  // IBA 9.2: reserved fields are sent as zero and not looked at by the receiver.
  const auto with_bits = [&](std::size_t at, unsigned bits) {
    SCOPED_TRACE(testing::Message() << "byte " << at << " bits " << bits);
    const Crafted good = write();
    Bytes frame = frame_of(good);
    frame[bth_at(false) + at] |= static_cast<std::byte>(bits);
    seal(frame);
    const Effects got = victim.receive_frame(frame);
    EXPECT_TRUE(accepted(got, peer));
    EXPECT_TRUE(answered(got, peer, wire::Syndrome::ack(), peer.next));
    peer.next = peer.next.plus(1);
  };
  for (unsigned bit = 0; bit < 6; ++bit) with_bits(4, 1U << bit);  // beside FECN and BECN
  for (unsigned bit = 0; bit < 7; ++bit) with_bits(8, 1U << bit);  // beside the acknowledgement request
  with_bits(4, 0xFF);
  with_bits(1, 0x40);  // migration request: Soft-RoCE never sets it
}

TEST_F(TrustBytes, T04_ReservedByteOfADatagramIsIgnored) {
  Connection ud = victim.connect({.service = wire::Service::ud});
  (void)victim.post_receive(ud, area.sge());
  Bytes frame = frame_of(ud.request(Opcode::ud_send_only).carrying(8));
  frame[bth_at(false) + 12 + 4] = std::byte{0xFF};
  seal(frame);
  const Effects got = victim.receive_frame(frame);
  EXPECT_TRUE(accepted(got, ud));
  ASSERT_EQ(got.completions.size(), 1U);
  EXPECT_EQ(got.completions[0].source_qpn, ud.peer_qpn);
}

TEST_F(TrustBytes, T05_PadThatDisagreesWithTheLength) {
  // Receive: a payload that is no multiple of four, whatever its pad says.
  for (std::size_t surplus = 1; surplus < 4; ++surplus) {
    for (unsigned pad = 0; pad < 4; ++pad) {
      Bytes datagram(12 + 16 + 64 + surplus + 4, std::byte{0});
      datagram[0] = static_cast<std::byte>(Opcode::rc_write_only);
      datagram[1] = static_cast<std::byte>(pad << 4);
      EXPECT_TRUE(dropped(victim.receive_datagram(datagram, write().flow), Refusal::bad_pad));
    }
  }
  // Receive: more pad than there is payload.
  for (unsigned pad = 1; pad < 4; ++pad) {
    Crafted empty = peer.request(Opcode::rc_write_only).at(area.address, area.key, 0);
    Bytes frame = frame_of(empty);
    frame[bth_at(false) + 1] |= static_cast<std::byte>(pad << 4);
    seal(frame);
    EXPECT_TRUE(dropped(victim.receive_frame(frame), Refusal::bad_pad));
  }
  // Receive: a pad that is possible but not this packet's. Expect: 61 bytes where 64 were announced, which the card
  // refuses as a message, not as bytes (32).
  Bytes frame = write_frame();
  frame[bth_at(false) + 1] |= std::byte{3 << 4};
  seal(frame);
  EXPECT_TRUE(
      broken(victim.receive_frame(frame), peer, Refusal::message_length_mismatch, wire::NakCode::invalid_request));
}

// May a router change this bit of a frame from the IP header on? (IBA annex A17; the IPv4 header has a checksum of its
// own, so what changes there must be consistent.)
bool may_change(std::size_t at, unsigned bit, bool v6) {
  if (v6 && at == kIpAt) return bit < 4;  // traffic class
  if (v6 && at > kIpAt && at < kIpAt + 4) return true;
  if (v6 && at == kIpAt + 7) return true;  // hop limit
  if (at == udp_at(v6) + 6 || at == udp_at(v6) + 7) return true;
  return at == bth_at(v6) + 4;
}

void flip_each_bit(Victim& victim, Connection& peer, const Area& area, bool v6) {
  const auto write = [&] {
    return frame_of(peer.request(Opcode::rc_write_only).at(area.address, area.key, 8).carrying(8, peer.next.raw()));
  };
  for (std::size_t at = kIpAt; at < write().size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      SCOPED_TRACE(testing::Message() << "byte " << at << " bit " << bit);
      Bytes frame = write();
      frame[at] ^= static_cast<std::byte>(1U << bit);
      wire::Packet unused;
      const Refusal why = wire::parse_frame(frame, unused);
      const Effects got = victim.receive_frame(frame);
      if (may_change(at, bit, v6)) {
        ASSERT_TRUE(accepted(got, peer));
        ASSERT_TRUE(answered(got, peer, wire::Syndrome::ack(), peer.next));
        peer.next = peer.next.plus(1);
      } else {
        ASSERT_NE(why, Refusal::none);
        ASSERT_TRUE(dropped(got, why));
        if (at >= bth_at(v6)) {
          ASSERT_EQ(why, Refusal::bad_icrc);
        }
      }
    }
  }
}

TEST_F(TrustBytes, T06_EachSingleBitFlipped) {
  flip_each_bit(victim, peer, area, false);
  EXPECT_TRUE(works(victim, peer, area));
}

TEST_F(TrustBytes, T06_EachSingleBitFlippedOverIpv6) {
  Connection six = victim.connect(over_six());
  flip_each_bit(victim, six, area, true);
  EXPECT_TRUE(works(victim, six, area));
}

void put16(Bytes& frame, std::size_t at, std::size_t value) {
  frame[at] = static_cast<std::byte>(value >> 8);
  frame[at + 1] = static_cast<std::byte>(value);
}

TEST_F(TrustBytes, T07_IpAndUdpLengthsDisagree) {
  const std::size_t ip_length = write_frame().size() - kIpAt, udp_length = ip_length - 20;
  const auto lying = [&](std::size_t ip_says, std::size_t udp_says) {
    SCOPED_TRACE(testing::Message() << "IP says " << ip_says << ", UDP says " << udp_says);
    Bytes frame = write_frame();
    put16(frame, kIpAt + 2, ip_says);
    put16(frame, udp_at(false) + 4, udp_says);
    seal(frame);  // with the ICRC of just these bytes
    return victim.receive_frame(frame);
  };
  for (const std::size_t udp : {std::size_t{0}, std::size_t{7}, udp_length - 1, udp_length + 1, std::size_t{65535}}) {
    EXPECT_TRUE(dropped(lying(ip_length, udp), Refusal::bad_udp_length));
  }
  EXPECT_TRUE(dropped(lying(ip_length - 4, udp_length), Refusal::bad_udp_length));
  EXPECT_TRUE(dropped(lying(27, 7), Refusal::bad_udp_length));  // no room for UDP
  EXPECT_TRUE(dropped(lying(ip_length + 1, udp_length + 1), Refusal::bad_ip_length));
  EXPECT_TRUE(dropped(lying(65535, udp_length), Refusal::bad_ip_length));
  for (std::size_t ip = 0; ip < 20; ++ip) EXPECT_TRUE(dropped(lying(ip, udp_length), Refusal::bad_ip_length));
  // Four bytes fewer in both: consistent, and so not the packet whose ICRC this is.
  EXPECT_TRUE(dropped(lying(ip_length - 4, udp_length - 4), Refusal::bad_icrc));
  EXPECT_TRUE(works(victim, peer, area));
}

TEST_F(TrustBytes, T07_BytesBehindTheIpPacketAreEthernetPadding) {
  Bytes frame = write_frame();
  frame.resize(frame.size() + 18, std::byte{0xEE});
  const Effects got = victim.receive_frame(frame);
  EXPECT_TRUE(accepted(got, peer));
  EXPECT_TRUE(answered(got, peer, wire::Syndrome::ack(), peer.next));
}

TEST_F(TrustBytes, T08_ReservedAndUnsupportedOpcodes) {
  unsigned refused = 0;
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    if (wire::info(static_cast<Opcode>(opcode)).known()) continue;
    SCOPED_TRACE(opcode);
    Bytes frame = write_frame();
    frame[bth_at(false)] = static_cast<std::byte>(opcode);
    seal(frame);
    EXPECT_TRUE(dropped(victim.receive_frame(frame), Refusal::unknown_opcode));
    ++refused;
  }
  EXPECT_EQ(refused, 256U - 30 - 12 - 2 - 1 - 35);  // all but RC, UC, UD, the congestion notification, and srnic
  EXPECT_TRUE(works(victim, peer, area));
}

TEST_F(TrustBytes, T14_Fragments) {
  for (unsigned flags : {0x2000U, 0x6000U, 0x0001U, 0x4001U, 0x3FFFU}) {  // more fragments, or an offset
    SCOPED_TRACE(flags);
    Bytes frame = write_frame();
    put16(frame, kIpAt + 6, flags);
    seal(frame);
    EXPECT_TRUE(dropped(victim.receive_frame(frame), Refusal::fragment));
  }
  Connection six = victim.connect(over_six());
  Bytes frame = frame_of(six.request(Opcode::rc_write_only).at(area.address, area.key, 8).carrying(8));
  frame[kIpAt + 6] = std::byte{44};  // next header: fragment
  seal(frame);
  EXPECT_TRUE(dropped(victim.receive_frame(frame), Refusal::fragment));
  EXPECT_TRUE(works(victim, peer, area));
}

TEST_F(TrustBytes, T14_Jumbograms) {
  // Receive: an IPv6 packet whose length is said to stand in an option (RFC 2675).
  Connection six = victim.connect(over_six());
  Bytes frame = frame_of(six.request(Opcode::rc_write_only).at(area.address, area.key, 8).carrying(8));
  put16(frame, kIpAt + 4, 0);
  seal(frame);
  EXPECT_TRUE(dropped(victim.receive_frame(frame), Refusal::bad_ip_length));
  // Receive: a datagram of 9000 bytes at a port of 1024. Expect: silence, and the receive entry stays.
  Connection ud = victim.connect({.service = wire::Service::ud});
  (void)victim.post_receive(ud, area.sge());
  const Bytes jumbo = frame_of(ud.request(Opcode::ud_send_only).carrying(9000));
  EXPECT_TRUE(dropped(victim.receive_frame(jumbo), Refusal::bad_length));
  const Effects got = victim.receive_frame(frame_of(ud.request(Opcode::ud_send_only).carrying(64)));
  EXPECT_EQ(got.completions.size(), 1U);
}

TEST_F(TrustBytes, T14_ZeroLengthUdp) {
  EXPECT_TRUE(dropped(victim.receive_datagram({}, write().flow), Refusal::truncated));
  EXPECT_TRUE(works(victim, peer, area));
}

TEST_F(TrustBytes, T14_EveryEcnCombinationIsHeard) {
  // ECN is the network's to set: no combination may cost a packet, and a datagram's receiver is told which it was.
  Connection ud = victim.connect({.service = wire::Service::ud});
  for (unsigned ecn = 0; ecn < 4; ++ecn) {
    for (unsigned dscp : {0U, 26U, 63U}) {
      Crafted p = write();
      p.flow.traffic_class = static_cast<std::uint8_t>(dscp << 2 | ecn);
      EXPECT_TRUE(accepted(victim.receive_frame(frame_of(p)), peer));
      peer.next = peer.next.plus(1);
      (void)victim.post_receive(ud, area.sge());
      Crafted d = ud.request(Opcode::ud_send_only).carrying(8);
      d.flow.traffic_class = p.flow.traffic_class;
      const Effects got = victim.receive_frame(frame_of(d));
      ASSERT_EQ(got.completions.size(), 1U);
      EXPECT_EQ(got.completions[0].traffic_class, p.flow.traffic_class);
    }
  }
}

TEST_F(TrustBytes, WhatIsNotForUsAtAll) {
  // Frames that a port sees and that are no RoCE: too short, VLAN-tagged, other protocols, other ports, IP options.
  const Bytes good = write_frame();
  for (std::size_t bytes = 0; bytes < 14; ++bytes) {
    EXPECT_TRUE(dropped(victim.receive_frame(std::span(good).first(bytes)), Refusal::bad_ethernet));
  }
  for (std::size_t bytes = 14; bytes < kIpAt + 20; ++bytes) {
    EXPECT_TRUE(dropped(victim.receive_frame(std::span(good).first(bytes)), Refusal::bad_ip_header));
  }
  const auto changed = [&](std::size_t at, unsigned value) {
    Bytes frame = good;
    frame[at] = static_cast<std::byte>(value);
    seal(frame);
    return victim.receive_frame(frame);
  };
  EXPECT_TRUE(dropped(changed(12, 0x81), Refusal::bad_ethernet));      // 802.1Q
  EXPECT_TRUE(dropped(changed(kIpAt, 0x46), Refusal::bad_ip_header));  // options
  EXPECT_TRUE(dropped(changed(kIpAt, 0x65), Refusal::bad_ip_header));  // version 6 behind EtherType 0x0800
  EXPECT_TRUE(dropped(changed(kIpAt + 9, 6), Refusal::not_udp));       // TCP
  EXPECT_TRUE(dropped(changed(udp_at(false) + 3, 0xB8), Refusal::not_roce_port));
  EXPECT_TRUE(works(victim, peer, area));
}

}  // namespace
}  // namespace weft::trust
