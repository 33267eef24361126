#include "lab/report/label_places.h"

#include <gtest/gtest.h>

namespace weft::lab {
namespace {

constexpr Box kRoom{0, 0, 400, 300};

TEST(LabelPlaces, StandsJustAboveAPointThatIsAlone) {
  LabelPlaces places(kRoom);
  const LabelPlace place = places.place("97 Gb/s", 200, 150);
  EXPECT_LT(place.y, 150);
  EXPECT_GT(place.y, 130);
}

TEST(LabelPlaces, AvoidsPointsLinesAndOtherWords) {
  LabelPlaces places(kRoom);
  places.take_segment(0, 135, 400, 135);  // where it would like to be
  const LabelPlace first = places.place("97 Gb/s", 200, 150);
  EXPECT_TRUE(first.y - 10 > 137 || first.y + 4 < 133) << first.y;
  const LabelPlace second = places.place("97 Gb/s", 200, 150);
  const bool apart = second.y >= first.y + 14 || second.y <= first.y - 14 || second.anchor != first.anchor;
  EXPECT_TRUE(apart);
}

TEST(LabelPlaces, StaysInside) {
  for (const double x : {1.0, 399.0}) {
    for (const double y : {1.0, 299.0}) {
      LabelPlaces places(kRoom);
      const LabelPlace place = places.place("twelve chars", x, y);
      EXPECT_GE(place.y, 10);
      EXPECT_LE(place.y, 296);
      EXPECT_EQ(place.anchor, x < 200 ? "start" : "end");
    }
  }
}

}  // namespace
}  // namespace weft::lab
