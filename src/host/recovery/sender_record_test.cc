#include "host/recovery/sender_record.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace weft::host {
namespace {

using wire::Psn;

constexpr Psn kOldest{0xFF'FFF9};
Psn nth(std::uint32_t n) { return kOldest.plus(n); }

using Ranges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // first packet, how many
// What is to be sent again, and has been, when `next` is next, and packets are lost when `room` have overtaken them.
Ranges lost(SenderRecord& record, std::uint32_t next, std::uint32_t room = 1) {
  static std::uint16_t entries = 0xFFF0;
  Ranges all;
  record.each_lost(nth(next), room, [&](Psn psn, std::uint16_t count) {
    all.emplace_back(psn.since(kOldest), count);
    return std::optional(entries++);
  });
  record.note_sent(entries, nth(next));
  return all;
}

TEST(SenderRecord, WhatWasOvertakenIsLost) {
  SenderRecord record(nth(0), 64);
  record.sacked(nth(5), 2);  // 4 and 5 are there
  EXPECT_EQ(lost(record, 10), (Ranges{{0, 4}}));
  record.sacked(nth(8), 1);
  EXPECT_EQ(lost(record, 10), (Ranges{{6, 2}})) << "those before have been sent again";
}

TEST(SenderRecord, WhatWasSentAgainIsLostOnlyWhenSomethingSentLaterHasArrived) {
  SenderRecord record(nth(0), 64);
  record.sacked(nth(3), 1);
  EXPECT_EQ(lost(record, 10), (Ranges{{0, 3}}));
  record.sacked(nth(9), 6);  // sent before 0 ... 2 were sent again
  EXPECT_EQ(lost(record, 10), Ranges{});
  record.sacked(nth(10), 1);  // sent at about the same time
  EXPECT_EQ(lost(record, 12), Ranges{});
  record.sacked(nth(11), 1);  // sent after
  EXPECT_EQ(lost(record, 12), (Ranges{{0, 3}}));
}

// The second try of 2 arrives and that of 0, sent at the same time or before, does not: nothing is known of 0. But when
// what was sent after it arrives, be it for the second time, it is lost again.
TEST(SenderRecord, ASecondTryThatArrivesTellsOfThoseBeforeIt) {
  SenderRecord record(nth(0), 64);
  record.sacked(nth(3), 1);
  EXPECT_EQ(lost(record, 5), (Ranges{{0, 3}}));
  record.sacked(nth(6), 1);
  EXPECT_EQ(lost(record, 8), (Ranges{{0, 3}, {4, 2}})) << "6 was sent after the second tries, which were nth 5";
  record.sacked(nth(4), 1);
  EXPECT_EQ(lost(record, 8), (Ranges{{7, 1}})) << "0 ... 2 and 5 were sent again nth the same time as 4";
  record.sacked(nth(9), 1);
  EXPECT_EQ(lost(record, 10), (Ranges{{0, 3}, {5, 1}, {7, 2}}));
}

// The card goes on sending new packets while the retry waits for its turn. Those overtake the first try only.
TEST(SenderRecord, WhatWaitsToBeSentAgainIsNotLostAgain) {
  SenderRecord record(nth(0), 64);
  record.sacked(nth(3), 3);
  record.each_lost(nth(5), 1, [](Psn, std::uint16_t) { return std::optional<std::uint16_t>(7); });
  record.sacked(nth(9), 6);
  EXPECT_EQ(lost(record, 10), Ranges{}) << "the entry has not been sent yet";
  record.note_sent(7, nth(10));
  record.sacked(nth(11), 2);
  EXPECT_EQ(lost(record, 12), Ranges{}) << "those before it have";
  record.note_sent(8, nth(14));
  record.sacked(nth(14), 3);
  EXPECT_EQ(lost(record, 16), Ranges{}) << "sent before it was";
  record.sacked(nth(15), 1);
  EXPECT_EQ(lost(record, 16), (Ranges{{0, 1}}));
}

TEST(SenderRecord, WhatFindsNoRoomIsAskedForAgain) {
  SenderRecord record(nth(0), 64);
  record.sacked(nth(5), 1);
  record.each_lost(nth(8), 1, [](Psn, std::uint16_t) { return std::optional<std::uint16_t>(); });
  EXPECT_EQ(lost(record, 8), (Ranges{{0, 5}}));
}

TEST(SenderRecord, IsOverWhenNothingIsOutOfOrderAnyMore) {
  SenderRecord record(nth(0), 64);
  EXPECT_TRUE(record.over());
  record.sacked(nth(5), 1);
  EXPECT_FALSE(record.over());
  EXPECT_EQ(lost(record, 8), (Ranges{{0, 5}}));
  record.acked(nth(5));
  EXPECT_FALSE(record.over());
  record.acked(nth(6));
  EXPECT_TRUE(record.over());
}

TEST(SenderRecord, AnOldReceiptChangesNothing) {
  SenderRecord record(nth(4), 64);
  record.acked(nth(2));
  EXPECT_EQ(record.base(), nth(4));
  record.sacked(nth(3), 2);
  EXPECT_TRUE(record.over());
  EXPECT_EQ(lost(record, 8), Ranges{});
}

TEST(SenderRecord, WhatAFewHaveOvertakenMayOnlyBeLate) {
  SenderRecord record(nth(0), 64);
  record.sacked(nth(2), 2);  // 1 and 2 are there
  EXPECT_EQ(lost(record, 10, 3), Ranges{});
  record.sacked(nth(3), 1);
  EXPECT_EQ(lost(record, 10, 4), Ranges{});
  EXPECT_EQ(lost(record, 10, 3), (Ranges{{0, 1}}));
}

// The peer was asked when 6 was next. What has been sent again since then may still be under way.
TEST(SenderRecord, WhatThePeerDidNotHaveWhenItWasAskedIsLost) {
  SenderRecord record(nth(0), 64);
  record.sacked(nth(3), 1);
  record.assume_lost(nth(6));
  EXPECT_EQ(lost(record, 8, 3), (Ranges{{0, 3}, {4, 2}}));
  record.assume_lost(nth(6));
  EXPECT_EQ(lost(record, 8, 3), Ranges{}) << "an answer to the same question";
  record.forget_resending();
  EXPECT_EQ(lost(record, 8, 3), (Ranges{{0, 3}, {4, 2}})) << "after a silence those tries are long gone";
}

// Its own software may have missed that the oldest is here, or has told us what it does not know any more.
TEST(SenderRecord, WhatThePeerSaysItHasNotIsDoubted) {
  SenderRecord record(nth(0), 64);
  record.sacked(nth(5), 6);
  record.assume_lost(nth(6));
  EXPECT_EQ(lost(record, 6), Ranges{});
  record.doubt_oldest();
  EXPECT_EQ(lost(record, 6), (Ranges{{0, 1}}));
  record.doubt_everything();
  EXPECT_EQ(lost(record, 6), (Ranges{{1, 5}}));
}

TEST(SenderRecord, MayHaveTheWholeWindowUnderWay) {
  for (const std::uint32_t window : {1U, 2U, 500U, 4096U}) {
    SenderRecord record(nth(0), window);
    record.assume_lost(nth(window));
    EXPECT_EQ(lost(record, window), (Ranges{{0, window}}));
    EXPECT_EQ(lost(record, window), Ranges{});
    record.acked(nth(window));
    EXPECT_TRUE(record.over());
  }
}

}  // namespace
}  // namespace weft::host
