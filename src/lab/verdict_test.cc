// When a claim counts as reproduced.
#include "lab/verdict.h"

#include <gtest/gtest.h>

namespace weft::lab {
namespace {

bool met(std::string_view band, const std::string& claimed, double measured) {
  const auto parsed = parse_band(band);
  EXPECT_TRUE(parsed) << band;
  return parsed && is_met(*parsed, claimed, measured);
}

TEST(Verdict, ExactIsExactToTheDigitsThatArePrinted) {
  EXPECT_TRUE(met("exact", "19.5", 19.53125));
  EXPECT_FALSE(met("exact", "19.5", 19.56));
  EXPECT_TRUE(met("exact", "-0.7", -0.734));
  EXPECT_FALSE(met("exact", "-0.7", 0.734));
  EXPECT_TRUE(met("exact", "58", 58));
  EXPECT_FALSE(met("exact", "58", 59));
}

TEST(Verdict, WithinIsOfTheClaim) {
  EXPECT_TRUE(met("5%", "2.0", 2.099));
  EXPECT_TRUE(met("5%", "2.0", 1.901));
  EXPECT_FALSE(met("5%", "2.0", 2.11));
  EXPECT_TRUE(met("5%", "0", 0));
  EXPECT_FALSE(met("5%", "0", 0.001));
  EXPECT_TRUE(met("5%", "-10", -10.4));
}

TEST(Verdict, ABoundIsWhatCounts) {
  EXPECT_TRUE(met("<= 4.4", "4.4", 4.0));
  EXPECT_FALSE(met("<= 4.4", "4.4", 4.41));
  EXPECT_TRUE(met(">= 17.8", "18", 17.8));
  EXPECT_FALSE(met(">= 17.8", "18", 17.7));
}

TEST(Verdict, ARangeHasBothItsEnds) {
  EXPECT_TRUE(met("256..512", "256", 256));
  EXPECT_TRUE(met("256..512", "256", 512));
  EXPECT_FALSE(met("256..512", "256", 255));
  EXPECT_FALSE(met("256..512", "256", 513));
}

TEST(Verdict, WhatIsNoBandIsRefused) {
  for (const char* text :
       {"", "5..", "..5", "9..5", "1..2..3", "about", "5", "%", "-5%", "<=", ">= x", "<= 4.4 MB", "==3"}) {
    EXPECT_FALSE(parse_band(text)) << text;
  }
}

}  // namespace
}  // namespace weft::lab
