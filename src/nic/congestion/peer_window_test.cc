#include "nic/congestion/peer_window.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace weft::nic {
namespace {

constexpr Time kTarget = milliseconds(1), kQuick = microseconds(100);

// A window that is full all the time.
struct Busy {
  PeerWindow window{};
  Time now = 0;

  Busy() { window.start(256); }
  void answer(Time took, bool full = true) {
    if (full) window.note_full();
    now += took;
    window.on_answer(took, kTarget, now, nanoseconds(1));
  }
};

TEST(PeerWindow, DoublesUntilAnswersTakeTooLong) {
  Busy busy;
  for (const std::uint32_t wanted : {512U, 1024U, 2048U}) {
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
  EXPECT_EQ(busy.window.packets(), 256U);
}

TEST(PeerWindow, NarrowsByHalfAtTheMostAndNeverBelowOneConnections) {
  Busy busy;
  for (int i = 0; i < 4; ++i) busy.answer(kQuick);
  EXPECT_EQ(busy.window.packets(), 4096U);
  busy.answer(seconds(1));
  EXPECT_EQ(busy.window.packets(), 2048U);
  for (int i = 0; i < 8; ++i) busy.answer(seconds(1));
  EXPECT_EQ(busy.window.packets(), 256U);
}

// A queue in front of a wire that carries a packet a microsecond, at the end of a short and of a long way.
TEST(PeerWindow, SettlesWhereTheQueueTakesTheTarget) {
  for (const Time way : {microseconds(10), milliseconds(20)}) {
    Busy busy;
    const auto carried = static_cast<std::uint32_t>(way / microseconds(1));
    for (int i = 0; i < 1500; ++i) {
      busy.answer(std::max(way, microseconds(busy.window.packets())));
      if (i > 1000 && busy.window.packets() > 256) {
        EXPECT_GT(busy.window.packets(), carried);
        EXPECT_LT(busy.window.packets(), carried + 2100);
      }
    }
  }
}

// The way has become longer: after ten seconds that is not taken for a queue any more.
TEST(PeerWindow, LooksForTheShortestTimeAnew) {
  Busy busy;
  for (int i = 0; i < 3; ++i) busy.answer(kQuick);
  for (int i = 0; i < 300; ++i) busy.answer(milliseconds(20));
  EXPECT_EQ(busy.window.packets(), 256U) << "that looks like a queue";
  for (int i = 0; i < 500; ++i) busy.answer(milliseconds(20));
  EXPECT_GT(busy.window.packets(), 1000U);
}

TEST(PeerWindow, StartsAnewAfterASilence) {
  Busy busy;
  busy.answer(kQuick);
  busy.window.on_silence();
  EXPECT_EQ(busy.window.packets(), 256U);
}

}  // namespace
}  // namespace weft::nic
