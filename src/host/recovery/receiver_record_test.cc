#include "host/recovery/receiver_record.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace weft::host {
namespace {

using wire::Psn;

constexpr Psn kBase{0xFF'FFFC};
Psn at(std::uint32_t n) { return kBase.plus(n); }

using Ranges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // first packet, how many
Ranges gaps(ReceiverRecord& record) {
  Ranges all;
  record.each_new_gap([&](const ReceiverRecord::Gap& g) { all.emplace_back(g.psn.since(kBase), g.count); });
  return all;
}

TEST(ReceiverRecord, MovesOnWhenTheOldestHasComeAndNotBefore) {
  ReceiverRecord record(at(0));
  EXPECT_EQ(record.arrived(at(2), at(0)), std::nullopt);
  EXPECT_EQ(record.arrived(at(5), at(0)), std::nullopt);
  EXPECT_EQ(record.arrived(at(1), at(0)), std::nullopt);
  EXPECT_EQ(record.arrived(at(0), at(0)), at(3));
  EXPECT_EQ(record.arrived(at(4), at(3)), std::nullopt);
  EXPECT_EQ(record.arrived(at(3), at(3)), at(6));
}

TEST(ReceiverRecord, HearsTheSameTwiceWithoutHarm) {
  ReceiverRecord record(at(0));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(record.arrived(at(1), at(0)), std::nullopt);
  EXPECT_EQ(record.arrived(at(0), at(0)), at(2));
  EXPECT_EQ(record.arrived(at(0), at(2)), std::nullopt) << "long done";
}

// What the card says is expected is right, whatever was lost on the way here.
TEST(ReceiverRecord, CatchesUpWithTheCard) {
  ReceiverRecord record(at(0));
  EXPECT_EQ(record.arrived(at(2), at(0)), std::nullopt);
  EXPECT_EQ(record.arrived(at(9), at(7)), std::nullopt) << "the card left and entered again meanwhile";
  EXPECT_EQ(record.arrived(at(7), at(7)), at(8));
}

// The card has carried out the oldest itself, for want of room to remember it; the packets behind it are here.
TEST(ReceiverRecord, SaysHowFarToGoWhenTheCardHasTakenAStepItself) {
  ReceiverRecord record(at(0));
  EXPECT_EQ(record.arrived(at(1), at(0)), std::nullopt);
  EXPECT_EQ(record.arrived(at(2), at(0)), std::nullopt);
  EXPECT_EQ(record.arrived(at(0), at(1)), at(3));
}

TEST(ReceiverRecord, LeavesAloneWhatNoWindowReaches) {
  ReceiverRecord record(at(0));
  EXPECT_EQ(record.arrived(at(PacketBitmap::kBits), at(0)), std::nullopt);
  EXPECT_EQ(record.arrived(at(0), at(0)), at(1)) << "the same bit, another packet";
  EXPECT_EQ(record.arrived(at(PacketBitmap::kBits), at(1)), std::nullopt);
  EXPECT_EQ(record.arrived(at(1), at(1)), at(2));
}

// The news that the card had left recovery was lost; the next loss comes so much later that it looks like an older one.
TEST(ReceiverRecord, BeginsAnewWhenItIsFarBehind) {
  for (const std::uint32_t later : {1U << 13, 1U << 23, 3U << 22}) {
    ReceiverRecord record(at(0));
    (void)record.arrived(at(5), at(0));
    EXPECT_EQ(record.arrived(at(later + 1), at(later)), std::nullopt);
    EXPECT_EQ(record.arrived(at(later), at(later)), at(later + 2)) << later;
  }
}

TEST(ReceiverRecord, TellsOfEachGapOnce) {
  ReceiverRecord record(at(0));
  (void)record.arrived(at(4), at(0));
  EXPECT_EQ(gaps(record), (Ranges{{0, 2}})) << "2 and 3 may only be late";
  (void)record.arrived(at(5), at(0));
  EXPECT_EQ(gaps(record), (Ranges{{2, 1}}));
  (void)record.arrived(at(9), at(0));
  EXPECT_EQ(gaps(record), (Ranges{{3, 1}, {6, 1}}));
  (void)record.arrived(at(7), at(0));
  (void)record.arrived(at(8), at(0));
  EXPECT_EQ(gaps(record), Ranges{}) << "those were late";
}

// What was asked for later has come, so what was asked for before is lost again.
TEST(ReceiverRecord, TellsAgainOfWhatWasLostTwice) {
  ReceiverRecord record(at(0));
  for (const std::uint32_t n : {3U, 6U, 7U, 8U}) (void)record.arrived(at(n), at(0));
  EXPECT_EQ(gaps(record), (Ranges{{0, 3}, {4, 2}}));
  (void)record.arrived(at(1), at(0));
  EXPECT_EQ(gaps(record), (Ranges{{0, 1}})) << "2 is of the same asking: no sign that it is lost";
  (void)record.arrived(at(4), at(0));
  EXPECT_EQ(gaps(record), (Ranges{{2, 1}}));
  (void)record.arrived(at(5), at(0));
  EXPECT_EQ(gaps(record), Ranges{}) << "asked for before those, so it says nothing of them";
}

}  // namespace
}  // namespace weft::host
