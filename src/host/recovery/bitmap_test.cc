#include "host/recovery/bitmap.h"

#include <gtest/gtest.h>

namespace weft::host {
namespace {

using wire::Psn;

// From every place of a word, across the end of the circle and across the wrap of the PSN.
TEST(PacketBitmap, CountsWithoutAGap) {
  for (const std::uint32_t start : {0U, 1U, 63U, 64U, 4000U, 4095U, 0xFF'FFC1U, 0xFF'FFFFU}) {
    for (const std::uint32_t run : {0U, 1U, 2U, 63U, 64U, 65U, 128U, 200U}) {
      PacketBitmap here;
      for (std::uint32_t i = 0; i < run; ++i) here.set(Psn(start).plus(i));
      here.set(Psn(start).plus(run + 1));
      EXPECT_EQ(here.run_from(Psn(start), 1000), run) << start;
      EXPECT_EQ(here.run_from(Psn(start), run / 2), run / 2) << "no more than asked for";
      EXPECT_EQ(here.first_missing(Psn(start), Psn(start).plus(1000)), Psn(start).plus(run));
    }
  }
}

TEST(PacketBitmap, FullIsAllOfIt) {
  PacketBitmap here;
  for (std::uint32_t i = 0; i < PacketBitmap::kBits; ++i) here.set(Psn(0xFF'F123).plus(i));
  EXPECT_EQ(here.run_from(Psn(0xFF'F123), PacketBitmap::kBits), PacketBitmap::kBits);
  here.clear(Psn(0xFF'F123).plus(4095));
  EXPECT_EQ(here.run_from(Psn(0xFF'F123), PacketBitmap::kBits), 4095U);
  here.clear();
  EXPECT_EQ(here.run_from(Psn(0xFF'F123), PacketBitmap::kBits), 0U);
}

TEST(PacketBitmap, OneBitIsOnePacket) {
  PacketBitmap here;
  here.set(Psn(77));
  for (std::uint32_t i = 0; i < PacketBitmap::kBits; ++i) EXPECT_EQ(here.has(Psn(i)), i == 77);
  here.clear(Psn(77));
  EXPECT_FALSE(here.has(Psn(77)));
}

}  // namespace
}  // namespace weft::host
