// What accesses to memory cost a card whose translation table lies in host memory, and that they still reach the right
// bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "card/recorder.h"
#include "support/bed.h"

namespace weft::test {
namespace {

using nic::Counter;

nic::CardConfig with_cache(std::uint32_t bytes) {
  nic::CardConfig card = kSmallCard;
  card.mtt_cache_bytes = bytes;
  return card;
}

struct Found {
  std::uint64_t hits = 0, misses = 0;
  friend bool operator==(const Found&, const Found&) = default;
};
Found found(const LonelyCard& card) {
  return {card.counted(Counter::mtt_cache_hits), card.counted(Counter::mtt_cache_misses)};
}
std::size_t entries_read(LonelyCard& card) {
  std::size_t count = 0;
  for (const Read& read : card.take_reads()) {
    if (read.purpose != nic::BusRead::translation) continue;
    EXPECT_EQ(read.bytes, 8u);
    ++count;
  }
  return count;
}

TEST(Translation, WithoutACacheNothingIsLookedUp) {
  LonelyCard card(kSmallCard);
  card.send(card.add_qp(), 0, 16 * 1024);
  card.turn_all();
  EXPECT_EQ(found(card), (Found{0, 0}));
  EXPECT_EQ(entries_read(card), 0u);
  EXPECT_EQ(card.device().translation_bytes(), 0u);
}

TEST(Translation, APageIsMissedOnceAndThenKnown) {
  LonelyCard card(with_cache(4096));
  host::QueuePair& qp = card.add_qp();
  EXPECT_EQ(card.device().translation_bytes(), 16 * 8u);
  card.send(qp, 0, 16 * 1024);  // sixteen packets, four of each page
  card.turn_all();
  EXPECT_EQ(found(card), (Found{12, 4}));
  EXPECT_EQ(entries_read(card), 4u);
  card.send(qp, 0, 16 * 1024);
  card.turn_all();
  EXPECT_EQ(found(card), (Found{28, 4}));
}

TEST(Translation, LargerPagesAreFewer) {
  LonelyCard card(with_cache(4096), 64 * 1024, 2 << 20);
  EXPECT_EQ(card.device().translation_bytes(), 8u);
  card.send(card.add_qp(), 0, 64 * 1024);
  card.turn_all();
  EXPECT_EQ(found(card), (Found{63, 1}));
}

TEST(Translation, AnAccessIsSplitWhereAPageEnds) {
  LonelyCard card(with_cache(4096));
  host::QueuePair& qp = card.add_qp();
  card.send(qp, 4096 - 100, 1000);
  card.turn_all();
  EXPECT_EQ(found(card), (Found{0, 2}));
  card.send(qp, 4096 - 100, 100);
  card.turn_all();
  EXPECT_EQ(found(card), (Found{1, 2}));
  card.send(qp, 4096, 0);  // nothing is nowhere
  card.turn_all();
  EXPECT_EQ(found(card), (Found{1, 2}));
}

TEST(Translation, AStrideThatDoesNotFitMissesEveryTime) {
  for (const std::uint32_t pages : {8U, 9U}) {
    LonelyCard card(with_cache(128));  // one set of eight
    host::QueuePair& qp = card.add_qp();
    for (int lap = 0; lap < 3; ++lap) {
      for (std::uint32_t page = 0; page < pages; ++page) {
        card.send(qp, page * 4096, 64);
        card.turn_all();
      }
    }
    EXPECT_EQ(found(card), pages == 8 ? (Found{16, 8}) : (Found{0, 27}));
  }
}

TEST(Translation, ARegionThatIsRegisteredAnewIsLookedUpAnew) {
  LonelyCard card(with_cache(4096));
  host::QueuePair& qp = card.add_qp();
  card.send(qp, 0, 64);
  card.turn_all();
  // The same addresses mean other memory from now on.
  std::vector<std::byte> other(8192, std::byte{0xEE});
  const host::RegionOptions moved{other.data(), other.size(), LonelyCard::kAddress};
  ASSERT_EQ(card.device().reregister_region(card.key, std::nullopt, &moved, std::nullopt), host::Error::none);
  EXPECT_EQ(card.device().translation_bytes(), 2 * 8u);
  card.world.sent.clear();
  card.send(qp, 0, 64);
  card.turn_all();
  EXPECT_EQ(card.world.sent, std::vector(64, std::byte{0xEE}));
  EXPECT_EQ(found(card), (Found{0, 2}));
}

TEST(Translation, ARegionThatIsGoneLeavesNothingToTheNextInItsSlot) {
  LonelyCard card(with_cache(4096));
  host::QueuePair& qp = card.add_qp();
  std::uint64_t misses = 0;
  for (int i = 0; i < 200; ++i) {  // more often than there are slots
    card.send(qp, 0, 64);
    card.turn_all();
    EXPECT_EQ(found(card), (Found{0, ++misses}));
    ASSERT_EQ(card.device().deregister_region(card.key), host::Error::none);
    EXPECT_EQ(card.device().translation_bytes(), 0u);
    card.key = *card.device().register_region(
        card.domain, {card.memory.data(), card.memory.size(), LonelyCard::kAddress, nic::Rights::local_write});
  }
}

TEST(Translation, OddPageSizesAreRefused) {
  LonelyCard card(with_cache(4096));
  for (const std::uint64_t bytes :
       {std::uint64_t{0}, std::uint64_t{2048}, std::uint64_t{12288}, std::uint64_t{2} << 30}) {
    const host::RegionOptions options{card.memory.data(), card.memory.size(), LonelyCard::kAddress, nic::Rights::none,
                                      bytes};
    EXPECT_EQ(card.device().register_region(card.domain, options).error(), host::Error::invalid_argument);
    EXPECT_EQ(card.device().reregister_region(card.key, std::nullopt, &options, std::nullopt),
              host::Error::invalid_argument);
  }
}

// Every verb that moves data, with a cache that is too small for them.
TEST(Translation, EveryVerbFindsItsBytes) {
  BedSpec spec;
  spec.card.mtt_cache_bytes = 128;
  Bed bed(spec);
  auto [a, b] = bed.connect();
  Node &here = bed.node(0), &there = bed.node(1);
  const Piece big{1000, 20'000}, mine{30'000, 20'000};
  ASSERT_EQ(a.post({.id = 1, .kind = nic::WorkKind::write, .local = {big}, .remote = 1234}), host::Error::none);
  ASSERT_TRUE(bed.run());
  EXPECT_TRUE(std::ranges::equal(here.bytes(big), there.bytes({1234, 20'000})));
  ASSERT_EQ(a.post({.id = 2, .kind = nic::WorkKind::read, .local = {mine}, .remote = 777}), host::Error::none);
  ASSERT_TRUE(bed.run());
  EXPECT_TRUE(std::ranges::equal(here.bytes(mine), there.bytes({777, 20'000})));
  there.word(40'960) = 5;
  ASSERT_EQ(a.post({.id = 3, .kind = nic::WorkKind::fetch_add, .local = {{8, 8}}, .remote = 40'960, .compare_add = 2}),
            host::Error::none);
  ASSERT_TRUE(bed.run());
  EXPECT_EQ(there.word(40'960), 7u);
  EXPECT_EQ(here.word(8), 5u);
  ASSERT_EQ(b.receive(9, {{4000, 200}, {8000, 3000}}), host::Error::none);
  ASSERT_EQ(a.post({.id = 4, .local = {{12'200, 3200}}}), host::Error::none);
  ASSERT_TRUE(bed.run());
  EXPECT_TRUE(std::ranges::equal(here.bytes({12'200, 200}), there.bytes({4000, 200})));
  EXPECT_TRUE(std::ranges::equal(here.bytes({12'400, 3000}), there.bytes({8000, 3000})));
  for (const nic::Completion& done : drain(here)) EXPECT_EQ(done.status, nic::Status::success) << done.id;
  EXPECT_GT(there.counted(Counter::mtt_cache_misses), 5u);
  EXPECT_GT(there.counted(Counter::mtt_cache_hits), 5u);
}

TEST(Translation, AWindowIsThePagesOfTheRegionBelow) {
  BedSpec spec;
  spec.card.mtt_cache_bytes = 1024;
  Bed bed(spec);
  auto [a, b] = bed.connect();
  Node &here = bed.node(0), &there = bed.node(1);
  const wire::Key window = *there.device().create_window(there.domain, 2);
  const wire::Key opened(window.raw() ^ 0x5A);
  ASSERT_EQ(b.post({.id = 1,
                    .kind = nic::WorkKind::bind_window,
                    .binding = {window, there.arena.key, there.arena.address + 6000, 9000, nic::Rights::remote_write,
                                opened}}),
            host::Error::none);
  ASSERT_TRUE(bed.run());
  ASSERT_EQ(a.post({.id = 2, .kind = nic::WorkKind::write, .local = {{0, 5000}}, .remote = 7000, .remote_key = opened}),
            host::Error::none);
  ASSERT_TRUE(bed.run());
  EXPECT_TRUE(std::ranges::equal(here.bytes({0, 5000}), there.bytes({7000, 5000})));
  EXPECT_EQ(there.counted(Counter::mtt_cache_misses), 2u);  // bytes 7000 ... 11999: pages 1 and 2
  for (const nic::Completion& done : drain(here)) EXPECT_EQ(done.status, nic::Status::success);
}

}  // namespace
}  // namespace weft::test
