#include "wire/icrc.h"

#include <array>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "wire/frame.h"
#include "wire/test_model.h"

namespace weft::wire {
namespace {

using model::Numbers;

const Flow kIcrcV4{.source = Address::v4(10, 0, 0, 1), .destination = Address::v4(10, 0, 0, 2), .source_port = 0xC123};
const Flow kIcrcV6{.source = {{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}},
                   .destination = {{0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
                   .flow_label = 0xB'EEF1,
                   .traffic_class = 0x6A};

std::vector<std::byte> from_hex(std::string_view hex) {
  std::vector<std::byte> out;
  unsigned nibbles = 0, value = 0;
  for (const char c : hex) {
    if (c == ' ') continue;
    value = value * 16 + static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
    if (++nibbles % 2 == 0) out.push_back(static_cast<std::byte>(std::exchange(value, 0)));
  }
  return out;
}

// A CNP that a ConnectX-4 Lx sent, as captured in the tests of scapy's RoCE layer: hardware's own ICRC.
TEST(Icrc, MatchesAPacketThatHardwareSent) {
  const auto frame = from_hex(
      "e41d2dab2bc2 7cfe90643b32 0800 45c2003c718c400040119161 0a001101 0a001201 000012b700280000"
      "8100ffff4000011800000000 00000000000000000000000000000000 82fd002a");
  Packet packet;
  ASSERT_EQ(parse_frame(frame, packet), Refusal::none);
  EXPECT_EQ(packet.headers.bth.opcode, Opcode::cnp);
  EXPECT_EQ(packet.headers.bth.destination, Qpn(0x118));
  EXPECT_TRUE(packet.headers.bth.becn);
  EXPECT_EQ(packet.flow.source, Address::v4(10, 0, 17, 1));

  auto other = frame;
  other.back() ^= std::byte{1};
  EXPECT_EQ(parse_frame(other, packet), Refusal::bad_icrc);
}

// Linux's Soft-RoCE counts its identifications; a UDP socket does not show them to the receiver.
TEST(Icrc, IsCheckedWithoutKnowingTheIdentification) {
  Numbers numbers(9);
  for (const std::size_t size : {0, 1, 64, 1024, 4096}) {
    const auto payload = numbers.bytes(size);
    std::array<std::byte, kMaxHeaderBytes> headers{};
    const std::size_t header_bytes =
        encode_headers({.bth = {.opcode = Opcode::rc_send_only, .pad = pad_for(size)}}, headers);
    for (const std::uint32_t ident : {0U, 1U, 0x8000U, 0x1234U, 0xFFFFU}) {
      std::vector<std::byte> datagram(headers.begin(), headers.begin() + static_cast<std::ptrdiff_t>(header_bytes));
      datagram.insert(datagram.end(), payload.begin(), payload.end());
      const std::uint32_t icrc = icrc_of(kIcrcV4, std::span(headers).first(header_bytes), payload,
                                         {.identification = static_cast<std::uint16_t>(ident)});
      datagram.resize(datagram.size() + pad_for(size) + kIcrcBytes);
      store_icrc(std::span(datagram).last<kIcrcBytes>(), icrc);
      EXPECT_TRUE(icrc_matches_any_ident(kIcrcV4, datagram)) << size << " bytes, identification " << ident;
      EXPECT_EQ(icrc_matches(kIcrcV4, datagram), ident == 0);
      unsigned missed = 0;
      for (unsigned damage = 0; damage < 500; ++damage) {
        auto other = datagram;
        const auto at = static_cast<std::size_t>(numbers.next() % other.size());
        other[at == 4 ? 5 : at] ^= static_cast<std::byte>(1U << (damage % 8));  // byte 4 is not covered
        missed += icrc_matches_any_ident(kIcrcV4, other) ? 1 : 0;
      }
      EXPECT_LE(missed, 2U) << "one in 65536 is expected";
    }
  }
}

TEST(Icrc, IsWhatTheBitwiseReferenceSaysForEveryOpcodeAndLength) {
  Numbers numbers(7);
  for (const Flow& flow : {kIcrcV4, kIcrcV6}) {
    for (const auto& line : model::lines()) {
      for (const std::size_t size : {0, 1, 2, 3, 4, 64, 127, 187, 188, 189, 192, 200, 201, 1023, 4096}) {
        if (size > 0 && !line.payload) continue;
        SCOPED_TRACE(testing::Message() << "opcode " << unsigned{line.opcode} << ", payload " << size);
        std::array<std::byte, 5000> datagram, frame;
        const auto payload = numbers.bytes(size);
        const std::size_t bytes =
            encode_datagram(numbers.headers(static_cast<Opcode>(line.opcode)), payload, flow, datagram);
        ASSERT_NE(bytes, 0u);
        const std::size_t frame_bytes = build_frame(flow, std::span(datagram).first(bytes), frame);
        const auto ip = std::span(frame).first(frame_bytes).subspan(14);
        EXPECT_EQ(load_icrc(ip.last<4>()), model::icrc(ip));
        EXPECT_TRUE(icrc_matches(flow, std::span(datagram).first(bytes)));
      }
    }
  }
}

TEST(Icrc, IsTheSameInSteps) {
  Numbers numbers(8);
  for (const Flow& flow : {kIcrcV4, kIcrcV6}) {
    const auto headers = numbers.bytes(28), payload = numbers.bytes(301);
    const std::array<std::byte, 3> pad{};
    std::uint32_t icrc = icrc_begin(flow, 28 + 301 + 3 + 4);
    icrc = icrc_headers(icrc, headers);
    icrc = icrc_extend(icrc, std::span(payload).first(100));
    icrc = icrc_extend(icrc, {});
    icrc = icrc_extend(icrc, std::span(payload).subspan(100));
    icrc = icrc_extend(icrc, pad);
    EXPECT_EQ(icrc, icrc_of(flow, headers, payload));
  }
}

TEST(Icrc, CoversIdentificationAndFlagsOfIpv4AndNothingSuchOfIpv6) {
  Numbers numbers(9);
  std::array<std::byte, 256> out;
  const std::size_t v4 =
      encode_datagram(numbers.headers(Opcode::rc_ack), std::span<const std::byte>{}, kIcrcV4, out, {0x718C, 0x4000});
  EXPECT_TRUE(icrc_matches(kIcrcV4, std::span(out).first(v4), {0x718C, 0x4000}));
  EXPECT_FALSE(icrc_matches(kIcrcV4, std::span(out).first(v4)));
  EXPECT_FALSE(icrc_matches(kIcrcV4, std::span(out).first(v4), {0x718C, 0x0000}));
  const std::size_t v6 =
      encode_datagram(numbers.headers(Opcode::rc_ack), std::span<const std::byte>{}, kIcrcV6, out, {0x718C, 0x4000});
  EXPECT_TRUE(icrc_matches(kIcrcV6, std::span(out).first(v6)));
}

TEST(Icrc, DoesNotMatchWhatIsTooShortOrTooLongToBeAPacket) {
  const std::vector<std::byte> bytes(70'000);
  for (const std::size_t size : {0, 3, 4, 15, 65'508, 70'000}) {
    EXPECT_FALSE(icrc_matches(kIcrcV4, std::span(bytes).first(size))) << size;
  }
}

TEST(Icrc, StandsLeastSignificantByteFirst) {
  std::array<std::byte, 4> out;
  store_icrc(out, 0x0403'0201);
  EXPECT_EQ(out, (std::array{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}}));
  EXPECT_EQ(load_icrc(out), 0x0403'0201u);
}

}  // namespace
}  // namespace weft::wire
