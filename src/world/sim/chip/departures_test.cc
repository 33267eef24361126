// In which order packets leave a chip.
#include "world/sim/chip/departures.h"

#include <vector>

#include <gtest/gtest.h>

namespace weft::sim {
namespace {

std::vector<std::uint32_t> all(Departures& departures) {
  std::vector<std::uint32_t> ids;
  while (!departures.empty()) ids.push_back(static_cast<std::uint32_t>(departures.take_first().id));
  return ids;
}

TEST(Departures, WhoIsReadyFirstLeavesFirst) {
  Departures departures;
  for (const Time at : {30, 10, 40, 20, 5}) departures.add(at, static_cast<ParcelId>(at), 100);
  EXPECT_EQ(departures.first().at, 5);
  EXPECT_EQ(all(departures), (std::vector<std::uint32_t>{5, 10, 20, 30, 40}));
}

TEST(Departures, AtTheSameTimeInTheOrderOfTheCard) {
  Departures departures;
  departures.add(20, ParcelId{3}, 1);
  departures.add(10, ParcelId{1}, 1);
  departures.add(10, ParcelId{2}, 1);
  departures.add(20, ParcelId{4}, 1);
  EXPECT_EQ(all(departures), (std::vector<std::uint32_t>{1, 2, 3, 4}));
}

TEST(Departures, TellWhenThereIsRoomAgain) {
  Departures departures;
  for (const Time at : {10, 20, 30, 40}) departures.add(at, ParcelId{}, 100);
  EXPECT_EQ(departures.bytes(), 400u);
  EXPECT_EQ(departures.fewer_than(400), 10);
  EXPECT_EQ(departures.fewer_than(301), 10);
  EXPECT_EQ(departures.fewer_than(300), 20);
  EXPECT_EQ(departures.fewer_than(1), 40);
  (void)departures.take_first();
  EXPECT_EQ(departures.bytes(), 300u);
}

}  // namespace
}  // namespace weft::sim
