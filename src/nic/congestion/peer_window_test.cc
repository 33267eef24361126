#include "nic/congestion/peer_window.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

namespace weft::nic {
namespace {

constexpr Time kTarget = milliseconds(1), kQuick = microseconds(100);

// A window that is full all the time.
struct Busy {
  PeerWindow window{};
  Time now = 0;

  Busy() { window.start(256); }
  // It doubles to 1024.
  void start() {
    for (int i = 0; i < 6; ++i) answer(kQuick);
    ASSERT_EQ(window.packets(), 1024U);
  }
  void lose(int packets) {
    for (int i = 0; i < packets; ++i) window.note_lost();
  }
  void answer(Time took, bool full = true) {
    if (full) window.note_full();
    now += took;
    window.on_answer(took, kTarget, now, nanoseconds(1));
  }
};

TEST(PeerWindow, DoublesUntilAnswersTakeTooLong) {
  Busy busy;
  for (const std::uint32_t wanted : {32U, 64U, 128U, 256U, 512U, 1024U, 2048U}) {
    busy.answer(kQuick);
    EXPECT_EQ(busy.window.packets(), wanted);
  }
  busy.answer(2 * kTarget);
  const std::uint32_t cut = busy.window.packets();
  EXPECT_LT(cut, 2048U);
  busy.answer(kQuick);
  EXPECT_EQ(busy.window.packets(), cut + 16) << "from now on in small steps";
}

TEST(PeerWindow, DoesNotWidenWhenNobodyWaits) {
  Busy busy;
  for (int i = 0; i < 10; ++i) busy.answer(kQuick, false);
  EXPECT_EQ(busy.window.packets(), 16U);
}

TEST(PeerWindow, LateAnswersNarrowItByHalfAtTheMostAndNeverBelowOneConnections) {
  Busy busy;
  busy.start();
  busy.answer(seconds(1));
  EXPECT_EQ(busy.window.packets(), 512U);
  for (int i = 0; i < 8; ++i) busy.answer(seconds(1));
  EXPECT_EQ(busy.window.packets(), 256U);
}

// A queue in front of a wire that carries a packet a microsecond, at the end of a short and of a long way.
TEST(PeerWindow, SettlesWhereTheQueueTakesTheTargetOrAnEighthOfTheWay) {
  for (const Time way : {microseconds(10), milliseconds(20)}) {
    Busy busy;
    const auto carried = static_cast<std::uint32_t>(way / microseconds(1));
    for (int i = 0; i < 1500; ++i) {
      busy.answer(std::max(way, microseconds(busy.window.packets())));
      if (i > 1000 && busy.window.packets() > 256) {
        EXPECT_GT(busy.window.packets(), carried);
        EXPECT_LT(busy.window.packets(), carried + std::max(1000U, carried / 8) + 1100);
      }
    }
  }
}

TEST(PeerWindow, AFewLostPacketsSayNothing) {
  Busy busy;
  busy.start();
  for (int i = 0; i < 10; ++i) {
    busy.lose(20);  // of a thousand and more
    const std::uint32_t before = busy.window.packets();
    busy.answer(kQuick);
    EXPECT_GT(busy.window.packets(), before);
  }
}

TEST(PeerWindow, ManyLostPacketsNarrowItOnceAnAnswerTime) {
  Busy busy;
  busy.start();
  busy.lose(100);
  EXPECT_EQ(busy.window.packets(), 1024U) << "what it means is seen with the next answer";
  busy.answer(kQuick);
  EXPECT_EQ(busy.window.packets(), 768U);
  busy.lose(100);
  busy.answer(kQuick);
  EXPECT_EQ(busy.window.packets(), 768U) << "those had been sent before";
  busy.lose(100);
  busy.answer(kQuick);
  EXPECT_EQ(busy.window.packets(), 576U);
}

TEST(PeerWindow, LossWithoutAQueueLeavesWhatItBeganWith) {
  Busy busy;
  busy.start();
  for (int i = 0; i < 60; ++i) {
    busy.lose(100);
    busy.answer(kQuick);
  }
  EXPECT_EQ(busy.window.packets(), 16U);
}

// One packet is enough if there is a queue, as answers in a row say: it was lost there. And the window may become
// narrower than one connection's.
TEST(PeerWindow, LossInAQueueNarrowsItAsFarAsNeedBe) {
  Busy busy;
  busy.answer(kQuick);
  for (int i = 0; i < 60; ++i) {
    busy.lose(1);
    busy.answer(2 * kTarget);
  }
  EXPECT_EQ(busy.window.packets(), 4U);
  // Then it widens in small steps, however late answers are: without a loss there is nobody to make room for.
  for (int i = 0; i < 10; ++i) busy.answer(2 * kTarget);
  EXPECT_EQ(busy.window.packets(), 4U + 10 * 2);
}

// Eight that share a queue which is always full, whoever was there first.
TEST(PeerWindow, ThoseWhoShareAQueueComeToEqualShares) {
  constexpr std::uint32_t kCarried = 400, kQueue = 400;  // packets
  std::array<Busy, 8> all;
  for (int i = 0; i < 5; ++i) all[0].answer(milliseconds(10));
  std::array<double, 8> sums{};
  for (int round = 0; round < 400; ++round) {
    std::uint32_t sent = 0;
    for (const Busy& each : all) sent += each.window.packets();
    const Time took = milliseconds(10) * std::max(sent, kCarried) / kCarried;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (sent > kCarried + kQueue) all[i].lose(1);
      if (round >= 200) sums[i] += all[i].window.packets();
      all[i].answer(std::min(took, milliseconds(20)));
    }
  }
  const auto [least, most] = std::minmax_element(sums.begin(), sums.end());
  EXPECT_LT(*most, 1.2 * *least);
}

// Whoever goes back to the first lost packet times nothing meanwhile.
TEST(PeerWindow, AGapNarrowsItAtOnceAndLessIfThereWasNoQueue) {
  Busy busy;
  busy.start();
  busy.window.on_gap();
  EXPECT_EQ(busy.window.packets(), 960U);
  for (int i = 0; i < 3; ++i) busy.answer(2 * kTarget);
  const std::uint32_t before = busy.window.packets();
  busy.window.on_gap();
  EXPECT_EQ(busy.window.packets(), before * 3 / 4);
}

// The way has become longer: after ten seconds that is not taken for a queue any more.
TEST(PeerWindow, LooksForTheShortestTimeAnew) {
  Busy busy;
  for (int i = 0; i < 7; ++i) busy.answer(kQuick);
  for (int i = 0; i < 300; ++i) busy.answer(milliseconds(20));
  EXPECT_EQ(busy.window.packets(), 256U) << "that looks like a queue";
  for (int i = 0; i < 500; ++i) busy.answer(milliseconds(20));
  EXPECT_GT(busy.window.packets(), 1000U);
}

TEST(PeerWindow, StartsAnewAfterASilenceAndDoublesToHalfOfWhatItWas) {
  Busy busy;
  busy.start();
  busy.window.on_silence();
  for (const std::uint32_t wanted : {4U, 8U, 16U, 32U, 64U, 128U, 256U, 512U, 528U}) {
    EXPECT_EQ(busy.window.packets(), wanted);
    busy.answer(kQuick);
  }
}

}  // namespace
}  // namespace weft::nic
