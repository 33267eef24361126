#include "wire/syndrome.h"

#include <gtest/gtest.h>

namespace weft::wire {
namespace {

TEST(Syndrome, EveryByteMeansWhatTheSpecificationSays) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    const Syndrome s = Syndrome::decode(static_cast<std::uint8_t>(byte));
    if (byte < 0x20) {
      EXPECT_EQ(s, Syndrome::ack(static_cast<std::uint8_t>(byte)));
    } else if (byte < 0x40) {
      EXPECT_EQ(s, Syndrome::rnr(static_cast<std::uint8_t>(byte - 0x20)));
    } else if ((byte >= 0x60 && byte <= 0x64) || byte == 0x7F) {
      EXPECT_EQ(s.kind, Syndrome::Kind::nak);
      EXPECT_EQ(s, Syndrome::nak(static_cast<NakCode>(byte - 0x60)));
    } else {
      EXPECT_EQ(s.kind, Syndrome::Kind::reserved) << byte;  // trust.md 25
    }
  }
}

// From code 5 on, each delay is twice the one two codes before; code 0 continues after 31.
TEST(RnrTimer, TableFollowsItsRule) {
  const auto delay = [](int code) { return rnr_delay(static_cast<std::uint8_t>(code), nanoseconds(1)); };
  EXPECT_EQ(delay(1), microseconds(10));
  EXPECT_EQ(delay(2), microseconds(20));
  EXPECT_EQ(delay(3), microseconds(30));
  EXPECT_EQ(delay(4), microseconds(40));
  for (int code = 5; code < 32; ++code) EXPECT_EQ(delay(code), 2 * delay(code - 2)) << code;
  EXPECT_EQ(delay(0), 2 * delay(30));
}

TEST(AckTimeout, DoublesFromEightMicrosecondsAndZeroIsNever) {
  EXPECT_EQ(ack_timeout(0, nanoseconds(1)), kNever);
  Time expected = nanoseconds(8'192);
  for (std::uint8_t t = 1; t < 32; ++t, expected *= 2) EXPECT_EQ(ack_timeout(t, nanoseconds(1)), expected);
}

}  // namespace
}  // namespace weft::wire
