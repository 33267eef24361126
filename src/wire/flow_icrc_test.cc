#include "wire/flow_icrc.h"

#include <array>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "wire/short_icrc.h"
#include "wire/test_model.h"

namespace weft::wire {
namespace {

using model::Numbers;

const Flow kV4{.source = Address::v4(10, 0, 0, 1), .destination = Address::v4(10, 0, 0, 2), .source_port = 0xC123};
const Flow kV6{.source = {{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}},
               .destination = {{0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}}};

// A UDP payload of this many bytes, right in every way.
std::vector<std::byte> datagram_of(Numbers& numbers, const Flow& flow, std::size_t bytes) {
  auto datagram = numbers.bytes(bytes);
  const auto covered = std::span(datagram).first(bytes - kIcrcBytes);
  store_icrc(std::span(datagram).last<kIcrcBytes>(),
             icrc_of(flow, covered.first<Bth::kBytes>(), covered.subspan(Bth::kBytes)));
  return datagram;
}

TEST(ShortIcrc, IsWhatTheLibrarySaysForEveryLength) {
  if (!kHasShortIcrc) GTEST_SKIP() << "this processor does not multiply without carries";
  Numbers numbers(3);
  for (std::size_t bytes = Bth::kBytes; bytes <= 600; bytes += 4) {
    for (int round = 0; round < 20; ++round) {
      const auto packet = numbers.bytes(bytes);
      const auto before = static_cast<std::uint32_t>(numbers.next());
      ASSERT_EQ(short_icrc(before, packet), icrc_headers(before, packet)) << bytes << " bytes";
    }
  }
}

TEST(FlowIcrc, IsThatOfThePacketAloneWhateverCameBefore) {
  Numbers numbers(4);
  FlowIcrc flows;
  std::vector<Flow> some{kV4, kV6};
  for (std::uint8_t i = 0; i < 30; ++i) {  // of some flows and lengths, two share a place in the memory
    some.push_back(kV4);
    some.back().source = Address::v4(10, 0, i, i);
    some.push_back(kV6);
    some.back().source_port = static_cast<std::uint16_t>(0xC000 + 64 * i);
    some.push_back(kV4);
    some.back().destination = Address::v4(10, 0, 1, i);
  }
  for (int round = 0; round < 3000; ++round) {
    const Flow& flow = some[static_cast<std::size_t>(numbers.next()) % some.size()];
    const std::size_t bytes = 16 + 4 * static_cast<std::size_t>(numbers.next() % 160);
    const auto datagram = datagram_of(numbers, flow, bytes);
    ASSERT_EQ(flows.of(flow, flow.source_port, std::span(datagram).first(bytes - kIcrcBytes)),
              load_icrc(std::span(datagram).last<kIcrcBytes>()))
        << bytes << " bytes";
    ASSERT_TRUE(flows.matches_any_ident(flow, datagram));
  }
}

TEST(FlowIcrc, FindsEveryBitOfDamageButInTheByteThatRoutersChange) {
  Numbers numbers(5);
  FlowIcrc flows;
  for (const std::size_t bytes : {16, 20, 24, 28, 92, 400}) {
    const auto datagram = datagram_of(numbers, kV6, bytes);
    for (std::size_t bit = 0; bit < 8 * bytes; ++bit) {
      auto other = datagram;
      other[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      EXPECT_EQ(flows.matches_any_ident(kV6, other), bit / 8 == 4) << "bit " << bit << " of " << bytes << " bytes";
    }
  }
}

TEST(FlowIcrc, AllowsForAnIdentificationThatItDoesNotKnow) {
  Numbers numbers(6);
  FlowIcrc flows;
  const auto headers = numbers.bytes(Bth::kBytes), payload = numbers.bytes(64);
  std::vector<std::byte> datagram(Bth::kBytes + 64 + kIcrcBytes);
  std::memcpy(datagram.data(), headers.data(), headers.size());
  std::memcpy(datagram.data() + headers.size(), payload.data(), payload.size());
  store_icrc(std::span(datagram).last<kIcrcBytes>(), icrc_of(kV4, headers, payload, {.identification = 0x1234}));
  EXPECT_TRUE(flows.matches_any_ident(kV4, datagram));
  datagram[20] ^= std::byte{1};
  EXPECT_FALSE(flows.matches_any_ident(kV4, datagram));
}

TEST(SegmentIcrc, IsWhatTheIdentificationChanges) {
  Numbers numbers(8);
  SegmentIcrc segments;
  for (const std::size_t bytes : {16, 20, 80, 1040, 1056, 4112, 64000, 80}) {
    const auto packet = numbers.bytes(bytes);
    const auto headers = std::span(packet).first<Bth::kBytes>();
    const auto payload = std::span(packet).subspan(Bth::kBytes, bytes - Bth::kBytes - kIcrcBytes);
    const std::uint32_t first = icrc_of(kV4, headers, payload);
    const auto of_bit = ident_differences(bytes);
    for (std::uint16_t i = 0; i < SegmentIcrc::kSegments; ++i) {
      ASSERT_EQ(first ^ segments.of(i, bytes), icrc_of(kV4, headers, payload, {.identification = i})) << bytes;
    }
    EXPECT_EQ(first ^ of_bit[15] ^ of_bit[8] ^ of_bit[0], icrc_of(kV4, headers, payload, {.identification = 0x8101}));
  }
}

// In whatever order they come, and whatever comes between.
TEST(FlowIcrc, AllowsForSegmentsByTheirNumbers) {
  Numbers numbers(9);
  FlowIcrc flows;
  for (const std::uint16_t number : {0, 1, 2, 3, 0, 0, 1, 63, 64, 65, 2, 3, 500, 1, 2}) {
    auto datagram = datagram_of(numbers, kV4, 1040);
    const auto covered = std::span(datagram).first(1040 - kIcrcBytes);
    store_icrc(std::span(datagram).last<kIcrcBytes>(),
               icrc_of(kV4, covered.first<Bth::kBytes>(), covered.subspan(Bth::kBytes), {.identification = number}));
    EXPECT_TRUE(flows.matches_any_ident(kV4, datagram)) << number;
    EXPECT_FALSE(flows.matches_any_ident(kV6, datagram)) << number;
    datagram[500] ^= std::byte{4};
    EXPECT_FALSE(flows.matches_any_ident(kV4, datagram)) << number;
  }
}

TEST(FlowIcrc, IsTheSameForAPayloadInPiecesAndAddsItsPadding) {
  Numbers numbers(7);
  FlowIcrc flows;
  for (const Flow& flow : {kV4, kV6}) {
    const auto headers = numbers.bytes(28), payload = numbers.bytes(301);
    const std::array<std::span<const std::byte>, 4> pieces{
        std::span(payload).first(1), std::span(payload).subspan(1, 255), std::span<const std::byte>{},
        std::span(payload).subspan(256)};
    EXPECT_EQ(flows.of(flow, flow.source_port, headers, pieces), icrc_of(flow, headers, payload));
    EXPECT_EQ(flows.of(flow, flow.source_port, headers, {}), icrc_of(flow, headers, std::span<const std::byte>{}));
  }
}

TEST(FlowIcrc, DoesNotMatchWhatIsTooShortOrTooLongToBeAPacketOrNoMultipleOfFour) {
  FlowIcrc flows;
  const std::vector<std::byte> bytes(70'000);
  for (const std::size_t size : {0, 3, 4, 15, 17, 65'508, 70'000}) {
    EXPECT_FALSE(flows.matches_any_ident(kV4, std::span(bytes).first(size))) << size;
  }
}

}  // namespace
}  // namespace weft::wire
