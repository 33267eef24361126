#include "nic/reorder_notes.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace weft::nic {
namespace {

using Kind = ReorderNote::Kind;
using wire::Psn;

constexpr Psn kStart{0xFF'FFFD};  // lists cross the wrap

std::vector<std::uint32_t> take_all(ReorderNotes& notes, std::uint16_t& head, Psn end) {
  std::vector<std::uint32_t> taken;
  while (const ReorderNote* note = notes.take_before(head, end)) taken.push_back(note->psn.since(kStart));
  return taken;
}

TEST(ReorderNotes, ComeOutInTheOrderOfTheirPacketsWhateverTheOrderTheyWentIn) {
  std::vector<std::uint32_t> order{0, 1, 2, 3, 4, 5};
  do {
    ReorderNotes notes(8);
    std::uint16_t head = ReorderNotes::kNothing;
    for (const std::uint32_t n : order) ASSERT_NE(notes.add(head, kStart.plus(n), Kind::receive_end), nullptr);
    EXPECT_EQ(take_all(notes, head, kStart.plus(4)), (std::vector<std::uint32_t>{0, 1, 2, 3}));
    EXPECT_EQ(notes.used(), 2U);
    EXPECT_EQ(take_all(notes, head, kStart.plus(6)), (std::vector<std::uint32_t>{4, 5}));
    EXPECT_EQ(head, ReorderNotes::kNothing);
    EXPECT_EQ(notes.used(), 0U);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(ReorderNotes, APacketThatCameTwiceHasOneOfAKind) {
  ReorderNotes notes(4);
  std::uint16_t head = ReorderNotes::kNothing;
  ReorderNote* first = notes.add(head, kStart, Kind::request);
  EXPECT_EQ(notes.add(head, kStart, Kind::request), first);
  EXPECT_EQ(notes.used(), 1U);
  EXPECT_NE(notes.add(head, kStart, Kind::receive_end), first);
}

TEST(ReorderNotes, AreRefusedWhenAllAreInUseAndThereAgainWhenOneIsGivenBack) {
  ReorderNotes notes(2);
  std::uint16_t mine = ReorderNotes::kNothing, yours = ReorderNotes::kNothing;
  ASSERT_NE(notes.add(mine, kStart, Kind::request), nullptr);
  ASSERT_NE(notes.add(yours, kStart, Kind::request), nullptr);
  EXPECT_EQ(notes.add(mine, kStart.plus(1), Kind::request), nullptr);
  EXPECT_NE(notes.take_any(yours), nullptr);
  EXPECT_EQ(yours, ReorderNotes::kNothing);
  EXPECT_NE(notes.add(mine, kStart.plus(1), Kind::request), nullptr);
  EXPECT_EQ(take_all(notes, mine, kStart.plus(9)), (std::vector<std::uint32_t>{0, 1}));
}

TEST(ReorderNotes, NoneAtAllIsARefusalToo) {
  ReorderNotes notes(0);
  std::uint16_t head = ReorderNotes::kNothing;
  EXPECT_EQ(notes.add(head, kStart, Kind::request), nullptr);
  EXPECT_EQ(notes.take_any(head), nullptr);
}

// One packet may make several messages take entries: its own and those before it that have not come.
TEST(ReorderNotes, TakenEntriesWaitForTheirMessageAndNotForAPacket) {
  ReorderNotes notes(8);
  std::uint16_t head = ReorderNotes::kNothing;
  for (std::uint32_t ssn = 5; ssn <= 7; ++ssn) notes.add_taken(head, kStart.plus(2), ssn)->entry = 100 + ssn;
  ASSERT_NE(notes.add(head, kStart.plus(1), Kind::receive_end), nullptr);
  EXPECT_EQ(take_all(notes, head, kStart.plus(9)), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(notes.find_taken(head, 4), nullptr);
  EXPECT_EQ(notes.find_taken(head, 6)->entry, 106U);
  for (const std::uint32_t ssn : {6U, 7U, 5U}) EXPECT_EQ(notes.take_taken(head, ssn)->entry, 100 + ssn);
  EXPECT_EQ(notes.take_taken(head, 6), nullptr);
  EXPECT_EQ(notes.used(), 0U);
  ASSERT_NE(notes.add(head, kStart, Kind::request), nullptr) << "the list is whole again";
  EXPECT_EQ(take_all(notes, head, kStart.plus(9)), (std::vector<std::uint32_t>{0}));
}

// A connection whose oldest message is lost takes an entry for each that follows. Looking at all of them each time took
// two thirds of what 64 connections could carry at 1 % loss; the newest must be found at once.
TEST(ReorderNotes, TheNewestOfManyTakenEntriesIsFoundWithoutLookingAtTheOthers) {
  constexpr std::uint32_t kMany = 30'000;
  ReorderNotes notes(2 * kMany);
  std::uint16_t head = ReorderNotes::kNothing;
  EXPECT_EQ(notes.newest_taken(head), nullptr);
  for (std::uint32_t n = 0; n < kMany; ++n) {
    notes.add_taken(head, kStart.plus(n), n)->entry = n;
    ASSERT_NE(notes.add(head, kStart.plus(n), Kind::receive_end), nullptr);
    ASSERT_EQ(notes.newest_taken(head)->ssn, n);
  }
  for (std::uint32_t n = 0; n < kMany; ++n) {
    ASSERT_EQ(notes.take_before(head, kStart.plus(n + 1))->psn, kStart.plus(n));
    ASSERT_EQ(notes.take_taken(head, n)->entry, n);
    const ReorderNote* newest = notes.newest_taken(head);
    ASSERT_EQ(newest == nullptr ? n : newest->ssn, kMany - 1);
  }
  EXPECT_EQ(notes.used(), 0U);
}

// Entries are given back in the order of messages; whoever does otherwise still finds the newest one.
TEST(ReorderNotes, TheNewestTakenEntryIsFoundAgainWhenItIsGone) {
  ReorderNotes notes(8);
  std::uint16_t head = ReorderNotes::kNothing;
  for (std::uint32_t ssn = 5; ssn <= 7; ++ssn) ASSERT_NE(notes.add_taken(head, kStart.plus(ssn), ssn), nullptr);
  ASSERT_NE(notes.add(head, kStart, Kind::request), nullptr) << "a new first one";
  EXPECT_EQ(notes.newest_taken(head)->ssn, 7U);
  EXPECT_NE(notes.take_taken(head, 7), nullptr);
  EXPECT_EQ(notes.newest_taken(head)->ssn, 6U);
  EXPECT_NE(notes.take_any(head), nullptr) << "the first one goes";
  EXPECT_EQ(notes.newest_taken(head)->ssn, 6U);
}

// Against a sorted vector, long enough to meet every place of a list.
TEST(ReorderNotes, AreWhatAPlainListWouldBe) {
  std::mt19937 random(7);
  ReorderNotes notes(16);
  std::uint16_t heads[2] = {ReorderNotes::kNothing, ReorderNotes::kNothing};
  std::vector<std::uint32_t> lists[2];
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t which = random() % 2;
    auto& list = lists[which];
    const std::uint32_t n = random() % 24;
    if (random() % 3 != 0) {
      const bool known = std::find(list.begin(), list.end(), n) != list.end();
      const bool room = lists[0].size() + lists[1].size() < 16;
      ASSERT_EQ(notes.add(heads[which], kStart.plus(n), Kind::response_end) != nullptr, known || room);
      if (!known && room) list.insert(std::upper_bound(list.begin(), list.end(), n), n);
    } else {
      const auto end = std::lower_bound(list.begin(), list.end(), n);
      ASSERT_EQ(take_all(notes, heads[which], kStart.plus(n)), std::vector<std::uint32_t>(list.begin(), end));
      list.erase(list.begin(), end);
    }
    ASSERT_EQ(notes.used(), lists[0].size() + lists[1].size());
  }
}

}  // namespace
}  // namespace weft::nic
