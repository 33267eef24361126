#include "wire/frame.h"

#include <array>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "wire/datagram.h"
#include "wire/grh.h"
#include "wire/test_model.h"

namespace weft::wire {
namespace {

using model::Numbers;
using Bytes = std::vector<std::byte>;

const Flow kFrameV4{.source = Address::v4(10, 0, 0, 1),
                    .destination = Address::v4(10, 0, 0, 2),
                    .source_port = 0xC123,
                    .traffic_class = 0x6A,
                    .hop_limit = 63};
const Flow kFrameV6{.source = {{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}},
                    .destination = {{0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
                    .flow_label = 0xB'EEF1,
                    .source_port = 0xC123,
                    .traffic_class = 0x6A,
                    .hop_limit = 63};

Bytes frame_of(const Flow& flow, Opcode opcode, std::size_t payload_bytes, std::uint64_t seed = 1) {
  Numbers numbers(seed);
  const auto headers = numbers.headers(opcode);
  const auto payload = numbers.bytes(payload_bytes);
  Bytes datagram(datagram_bytes(opcode, payload_bytes)), frame(datagram.size() + kMaxFrameHeaderBytes);
  EXPECT_EQ(encode_datagram(headers, payload, flow, datagram), datagram.size());
  frame.resize(build_frame(flow, datagram, frame));
  return frame;
}

Refusal refusal_of(const Bytes& frame, IcrcCheck check = IcrcCheck::verify) {
  const auto exact = std::make_unique<std::byte[]>(frame.size());  // a read behind it is AddressSanitizer's
  std::copy(frame.begin(), frame.end(), exact.get());
  Packet packet;
  return parse_frame({exact.get(), frame.size()}, packet, check);
}

void set16(Bytes& b, std::size_t at, std::size_t value) {
  b[at] = static_cast<std::byte>(value >> 8);
  b[at + 1] = static_cast<std::byte>(value);
}

// As a router that changed the IPv4 header would.
void fix_ip_checksum(Bytes& frame) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < 20; i += 2)
    sum += i == 10 ? 0 : static_cast<std::uint32_t>(model::number(frame, 14 + i, 2));
  while (sum > 0xFFFF) sum = sum % 0x1'0000 + sum / 0x1'0000;
  set16(frame, 24, 0xFFFF - sum);
}

void fix_icrc(Bytes& frame) {
  const std::uint32_t icrc = model::icrc(std::span(frame).subspan(14));
  for (std::size_t i = 0; i < 4; ++i) frame[frame.size() - 4 + i] = static_cast<std::byte>(icrc >> (8 * i));
}

TEST(Frame, ReturnsWhatWasBuiltForEveryOpcode) {
  for (const Flow& flow : {kFrameV4, kFrameV6}) {
    for (const auto& line : model::lines()) {
      const std::size_t size = line.payload ? 77 : 0;
      Numbers numbers(5);
      auto headers = numbers.headers(static_cast<Opcode>(line.opcode));
      const auto payload = numbers.bytes(size);
      const Bytes frame = frame_of(flow, headers.bth.opcode, size, 5);
      headers.bth.pad = pad_for(size);
      if (info(headers.bth.opcode).target) headers.reth.length = 0;  // which such a packet does not say
      Packet packet{.headers = headers};                             // headers that the opcode lacks stay as they are
      ASSERT_EQ(parse_frame(frame, packet), Refusal::none) << unsigned{line.opcode};
      EXPECT_EQ(packet.flow, flow);
      EXPECT_EQ(packet.headers, headers);
      EXPECT_TRUE(std::ranges::equal(payload, packet.payload.near()));
    }
  }
}

TEST(Frame, ADatagramFromPiecesIsTheOneInAFrame) {
  struct Piece {
    const std::byte* data;
    std::size_t bytes;
  };
  const auto payload = Numbers(3).bytes(333);
  Headers headers = Numbers(4).headers(Opcode::rc_write_only);
  Bytes whole(datagram_bytes(Opcode::rc_write_only, payload.size())), pieces(600);
  ASSERT_EQ(encode_datagram(headers, payload, kFrameV4, whole), whole.size());
  headers.bth.pad = pad_for(payload.size());
  const std::array parts{Piece{payload.data(), 10}, Piece{payload.data() + 10, 0}, Piece{payload.data() + 10, 323}};
  pieces.resize(static_cast<std::size_t>(encode_datagram(headers, parts, pieces.data()) - pieces.data()));
  seal_datagram(kFrameV4, pieces);
  EXPECT_EQ(whole, pieces);
}

TEST(Frame, IsNotWrittenWhereThereIsNoRoomOrNoOpcode) {
  Bytes out(datagram_bytes(Opcode::rc_send_only, 5));
  const auto payload = Numbers(3).bytes(5);
  const Headers headers{.bth = {.opcode = Opcode::rc_send_only}};
  EXPECT_EQ(encode_datagram(headers, payload, kFrameV4, out), out.size());
  EXPECT_EQ(encode_datagram(headers, payload, kFrameV4, std::span(out).first(out.size() - 1)), 0u);
  EXPECT_EQ(encode_datagram(Headers{.bth = {.opcode = Opcode{0x1F}}}, payload, kFrameV4, out), 0u);
  Bytes frame(14 + 20 + 8 + out.size());
  EXPECT_EQ(build_frame(kFrameV4, out, frame), frame.size());
  EXPECT_EQ(build_frame(kFrameV4, out, std::span(frame).first(frame.size() - 1)), 0u);
  const Bytes huge(65'508);
  Bytes room(70'000);
  EXPECT_EQ(build_frame(kFrameV4, huge, room), 0u);
  EXPECT_EQ(encode_datagram(headers, huge, kFrameV4, room), 0u);
}

TEST(Frame, EveryPrefixIsRefused) {
  for (const Flow& flow : {kFrameV4, kFrameV6}) {
    const Bytes frame = frame_of(flow, Opcode::rc_write_only_imm, 9);
    for (std::size_t size = 0; size < frame.size(); ++size) {
      const Bytes prefix(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size));
      const std::size_t ip_bytes = flow.destination.is_v4() ? 20 : 40;
      const Refusal expected = size < 14              ? Refusal::bad_ethernet
                               : size < 14 + ip_bytes ? Refusal::bad_ip_header
                                                      : Refusal::bad_ip_length;
      EXPECT_EQ(refusal_of(prefix), expected) << size;
    }
  }
}

TEST(Frame, EthernetPaddingIsNotPayload) {
  Bytes frame = frame_of(kFrameV4, Opcode::rc_send_only, 5);
  frame.resize(frame.size() + 46, std::byte{0xEE});
  Packet packet;
  ASSERT_EQ(parse_frame(frame, packet), Refusal::none);
  EXPECT_EQ(packet.payload.size(), 5u);
}

// --- each refusal of the envelope -----------------------------------------------------------------------------------

TEST(Frame, RefusesVlanTagsAndOtherEtherTypes) {
  Bytes frame = frame_of(kFrameV4, Opcode::rc_ack, 0);
  for (const unsigned type : {0x8100u, 0x88A8u, 0x0806u, 0x8915u, 0x0000u}) {
    set16(frame, 12, type);
    EXPECT_EQ(refusal_of(frame), Refusal::bad_ethernet) << type;
  }
}

TEST(Frame, RefusesIpThatDisagreesWithItsEtherType) {
  Bytes v4 = frame_of(kFrameV4, Opcode::rc_ack, 0), v6 = frame_of(kFrameV6, Opcode::rc_ack, 0);
  set16(v4, 12, 0x86DD);
  set16(v6, 12, 0x0800);
  EXPECT_EQ(refusal_of(v4), Refusal::bad_ip_header);
  EXPECT_EQ(refusal_of(v6), Refusal::bad_ip_header);
}

TEST(Frame, RefusesIpv4Options) {
  Bytes frame = frame_of(kFrameV4, Opcode::rc_send_only, 40);
  for (unsigned words = 0; words < 16; ++words) {
    frame[14] = static_cast<std::byte>(0x40 | words);
    fix_ip_checksum(frame);
    fix_icrc(frame);
    EXPECT_EQ(refusal_of(frame), words == 5 ? Refusal::none : Refusal::bad_ip_header) << words;
  }
}

// trust.md 13: an IPv6 header must not pass for an IPv4 peer.
TEST(Frame, RefusesIpv4MappedAddressesInIpv6) {
  for (const std::size_t at : {14 + 8, 14 + 24}) {
    Bytes frame = frame_of(kFrameV6, Opcode::rc_ack, 0);
    const Address mapped = Address::v4(10, 0, 0, 1);
    for (std::size_t i = 0; i < 16; ++i) frame[at + i] = std::byte{mapped.bytes[i]};
    fix_icrc(frame);
    EXPECT_EQ(refusal_of(frame), Refusal::bad_ip_header);
  }
}

TEST(Frame, BroadcastAndMulticastDestinationsAreTheCardsQuestion) {
  for (const Address to : {Address::v4(255, 255, 255, 255), Address::v4(224, 0, 0, 1)}) {
    Flow flow = kFrameV4;
    flow.destination = to;
    Packet packet;
    EXPECT_EQ(parse_frame(frame_of(flow, Opcode::rc_ack, 0), packet), Refusal::none);
    EXPECT_EQ(packet.flow.destination, to);
  }
}

// trust.md 14.
TEST(Frame, RefusesFragments) {
  for (const unsigned flags : {0x2000u, 0x6000u, 0x0001u, 0x4001u, 0x1FFFu}) {
    Bytes frame = frame_of(kFrameV4, Opcode::rc_send_only, 40);
    set16(frame, 20, flags);
    fix_ip_checksum(frame);
    fix_icrc(frame);
    EXPECT_EQ(refusal_of(frame), Refusal::fragment) << flags;
  }
  Bytes frame = frame_of(kFrameV6, Opcode::rc_send_only, 40);
  frame[20] = std::byte{44};
  EXPECT_EQ(refusal_of(frame), Refusal::fragment);
}

TEST(Frame, RefusesWhatIsNotUdp) {
  for (const Flow& flow : {kFrameV4, kFrameV6}) {
    for (const unsigned protocol : {0u, 1u, 6u, 43u, 58u, 60u, 136u}) {
      Bytes frame = frame_of(flow, Opcode::rc_ack, 0);
      frame[flow.destination.is_v4() ? 23 : 20] = static_cast<std::byte>(protocol);
      if (flow.destination.is_v4()) fix_ip_checksum(frame);
      EXPECT_EQ(refusal_of(frame), Refusal::not_udp) << protocol;
    }
  }
}

TEST(Frame, RefusesOtherPorts) {
  Bytes frame = frame_of(kFrameV4, Opcode::rc_ack, 0);
  set16(frame, 36, 4790);
  fix_icrc(frame);
  EXPECT_EQ(refusal_of(frame), Refusal::not_roce_port);
}

// trust.md 7: every UDP length but the right one, with an ICRC that is right for the bytes as they stand.
TEST(Frame, RefusesUdpLengthThatDisagreesWithIpEvenIfTheIcrcIsRight) {
  for (const Flow& flow : {kFrameV4, kFrameV6}) {
    Bytes frame = frame_of(flow, Opcode::rc_send_only, 40);
    const std::size_t udp = flow.destination.is_v4() ? 34 : 54, right = frame.size() - udp;
    for (std::size_t length = 0; length <= right + 8; ++length) {
      set16(frame, udp + 4, length);
      fix_icrc(frame);
      EXPECT_EQ(refusal_of(frame), length == right ? Refusal::none : Refusal::bad_udp_length) << length;
    }
  }
}

TEST(Frame, RefusesIpLengthThatDisagreesWithTheFrameOrWithUdp) {
  for (const Flow& flow : {kFrameV4, kFrameV6}) {
    const bool v4 = flow.destination.is_v4();
    const Bytes good = frame_of(flow, Opcode::rc_send_only, 40);
    const std::size_t right = good.size() - 14 - (v4 ? 0 : 40), least = v4 ? 20 : 1;
    for (std::size_t length = 0; length <= right + 8; ++length) {
      Bytes frame = good;
      set16(frame, v4 ? 16 : 18, length);
      if (v4) fix_ip_checksum(frame);
      fix_icrc(frame);
      const Refusal expected = length < least || length > right ? Refusal::bad_ip_length
                               : length < right                 ? Refusal::bad_udp_length
                                                                : Refusal::none;
      EXPECT_EQ(refusal_of(frame), expected) << length;
    }
  }
}

// trust.md 1, 14: UDP payloads of 0 to 15 bytes hold no packet.
TEST(Frame, RefusesUdpWithoutRoomForAPacket) {
  for (std::size_t size = 0; size < 16; ++size) {
    Bytes frame(100);
    frame.resize(build_frame(kFrameV4, Bytes(size), frame));
    EXPECT_EQ(refusal_of(frame), Refusal::truncated) << size;
  }
}

TEST(Frame, WhatParseRefusesIsRefusedWhenItsIcrcIsRight) {
  Bytes frame = frame_of(kFrameV4, Opcode::rc_ack, 0);
  frame[42] = std::byte{0xFF};
  EXPECT_EQ(refusal_of(frame), Refusal::bad_icrc);
  EXPECT_EQ(refusal_of(frame, IcrcCheck::skip), Refusal::unknown_opcode);
  fix_icrc(frame);
  EXPECT_EQ(refusal_of(frame), Refusal::unknown_opcode);
}

TEST(Frame, EveryTrafficClassIsAccepted) {  // ECN marks of all four kinds among them
  for (unsigned value = 0; value < 256; ++value) {
    for (Flow flow : {kFrameV4, kFrameV6}) {
      flow.traffic_class = static_cast<std::uint8_t>(value);
      Packet packet;
      EXPECT_EQ(parse_frame(frame_of(flow, Opcode::rc_ack, 0), packet), Refusal::none);
      EXPECT_EQ(packet.flow.traffic_class, value);
    }
  }
}

// --- trust.md 6: each single bit ------------------------------------------------------------------------------------

// What a flipped bit of byte `at` (in the frame of a SEND) must be taken for. The bits that may change unseen are MAC
// addresses, traffic class, flow label, hop limit, UDP checksum, and the BTH byte with FECN and BECN.
Refusal flipped_v4(std::size_t at, unsigned bit, std::size_t new_length, std::size_t right_length) {
  if (at < 12) return Refusal::none;
  if (at < 14) return Refusal::bad_ethernet;
  const std::size_t ip = at - 14;
  if (ip == 0 || ip == 10 || ip == 11) return Refusal::bad_ip_header;
  if (ip == 1 || ip == 8) return Refusal::none;
  if (ip == 2 || ip == 3) {
    return new_length > right_length || new_length < 20 ? Refusal::bad_ip_length : Refusal::bad_udp_length;
  }
  if ((ip == 6 && bit < 6) || ip == 7) return Refusal::fragment;
  if (ip == 9) return Refusal::not_udp;
  if (ip < 22) return Refusal::bad_icrc;  // identification, DF, addresses, source port
  if (ip < 24) return Refusal::not_roce_port;
  if (ip < 26) return Refusal::bad_udp_length;
  if (ip < 28) return Refusal::none;
  return ip == 28 + 4 ? Refusal::none : Refusal::bad_icrc;
}

TEST(Frame, EachFlippedBitOfAnIpv4PacketIsDetectedUnlessRoutersMayFlipIt) {
  const Bytes good = frame_of(kFrameV4, Opcode::rc_write_only, 13);
  int unseen = 0;
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      SCOPED_TRACE(testing::Message() << "byte " << at << " bit " << bit);
      Bytes frame = good;
      frame[at] ^= static_cast<std::byte>(1u << bit);
      if (at >= 14 && at < 34) {
        EXPECT_EQ(refusal_of(frame), Refusal::bad_ip_header);  // its own checksum sees it first
        if (at != 24 && at != 25) fix_ip_checksum(frame);
      }
      const auto length = static_cast<std::size_t>(model::number(frame, 16, 2));
      const Refusal expected = flipped_v4(at, bit, length, good.size() - 14);
      EXPECT_EQ(refusal_of(frame), expected);
      if (expected == Refusal::none) ++unseen;
    }
  }
  EXPECT_EQ(unseen, 96 + 8 + 8 + 16 + 8);
}

Refusal flipped_v6(std::size_t at, unsigned bit, std::size_t new_length, std::size_t right_length) {
  if (at < 12) return Refusal::none;
  if (at < 14) return Refusal::bad_ethernet;
  const std::size_t ip = at - 14;
  if (ip == 0) return bit < 4 ? Refusal::none : Refusal::bad_ip_header;
  if (ip < 4 || ip == 7) return Refusal::none;
  if (ip < 6) return new_length > right_length ? Refusal::bad_ip_length : Refusal::bad_udp_length;
  if (ip == 6) return Refusal::not_udp;
  if (ip < 42) return Refusal::bad_icrc;  // addresses, source port
  if (ip < 44) return Refusal::not_roce_port;
  if (ip < 46) return Refusal::bad_udp_length;
  if (ip < 48) return Refusal::none;
  return ip == 48 + 4 ? Refusal::none : Refusal::bad_icrc;
}

TEST(Frame, EachFlippedBitOfAnIpv6PacketIsDetectedUnlessRoutersMayFlipIt) {
  const Bytes good = frame_of(kFrameV6, Opcode::rc_write_only, 13);
  int unseen = 0;
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      SCOPED_TRACE(testing::Message() << "byte " << at << " bit " << bit);
      Bytes frame = good;
      frame[at] ^= static_cast<std::byte>(1u << bit);
      const auto length = static_cast<std::size_t>(model::number(frame, 18, 2));
      const Refusal expected = flipped_v6(at, bit, length, good.size() - 54);
      EXPECT_EQ(refusal_of(frame), expected);
      if (expected == Refusal::none) ++unseen;
    }
  }
  EXPECT_EQ(unseen, 96 + 8 + 20 + 8 + 16 + 8);
}

// --- the GRH of a received datagram ----------------------------------------------------------------------------------

TEST(Grh, IsTheIpHeaderThatWasOnTheWire) {
  const Bytes v4 = frame_of(kFrameV4, Opcode::ud_send_only, 32), v6 = frame_of(kFrameV6, Opcode::ud_send_only, 32);
  const auto grh4 = make_grh(kFrameV4, Opcode::ud_send_only, 32), grh6 = make_grh(kFrameV6, Opcode::ud_send_only, 32);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(grh4[i], std::byte{0});
  EXPECT_TRUE(std::equal(grh4.begin() + 20, grh4.end(), v4.begin() + 14));
  EXPECT_TRUE(std::equal(grh6.begin(), grh6.end(), v6.begin() + 14));
}

}  // namespace
}  // namespace weft::wire
