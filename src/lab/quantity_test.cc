// Numbers and their units.
#include "lab/quantity.h"

#include <gtest/gtest.h>

namespace weft::lab {
namespace {

TEST(Quantity, EachKindHasItsUnits) {
  EXPECT_EQ(in_base_unit(Kind::time, 1.1, "us"), 1'100'000);
  EXPECT_EQ(in_base_unit(Kind::time, 300, "ns"), 300'000);
  EXPECT_EQ(in_base_unit(Kind::rate, 100, "Gb/s"), 100e9);
  EXPECT_EQ(in_base_unit(Kind::size, 16, "KB"), 16384);
  EXPECT_EQ(in_base_unit(Kind::size, 512, ""), 512);
  EXPECT_EQ(in_base_unit(Kind::frequency, 156.25, "MHz"), 156.25);
  EXPECT_EQ(in_base_unit(Kind::fraction, 1, "%"), 0.01);
  EXPECT_EQ(in_base_unit(Kind::count, 8, ""), 8);
}

TEST(Quantity, AnothersUnitIsRefused) {
  EXPECT_FALSE(in_base_unit(Kind::time, 1, "KB"));
  EXPECT_FALSE(in_base_unit(Kind::time, 1, ""));
  EXPECT_TRUE(in_base_unit(Kind::time, 0, ""));  // nothing is nothing in any unit
  EXPECT_FALSE(in_base_unit(Kind::rate, 1, "GB/s"));
  EXPECT_FALSE(in_base_unit(Kind::count, 1, "B"));
}

TEST(Quantity, IsWrittenInTheLargestUnitThatFits) {
  EXPECT_EQ(quantity_text(Kind::time, 1'100'000), "1.1 us");
  EXPECT_EQ(quantity_text(Kind::size, 4.4 * 1024 * 1024), "4.4 MB");
  EXPECT_EQ(quantity_text(Kind::rate, 1e11), "100 Gb/s");
  EXPECT_EQ(quantity_text(Kind::fraction, 0.0001), "0.01 %");
  EXPECT_EQ(quantity_text(Kind::truth, 1), "true");
}

TEST(Quantity, ANumberAndItsUnitInOneText) {
  EXPECT_EQ(split_unit("16 KB")->number, 16);
  EXPECT_EQ(split_unit("16 KB")->unit, "KB");
  EXPECT_EQ(split_unit("0.1%")->unit, "%");
  EXPECT_FALSE(split_unit("many"));
}

}  // namespace
}  // namespace weft::lab
