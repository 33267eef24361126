// How work entries come to the card, with and without caches: what is read, what is dropped, what is found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "card/recorder.h"
#include "support/bed.h"

namespace weft::test {
namespace {

using nic::Counter;
using testing::ElementsAre;

constexpr std::size_t kEntry = 64;
Read works(std::size_t count) { return {nic::BusRead::work, count * kEntry}; }

nic::CardConfig with_lines(std::uint32_t lines) {
  nic::CardConfig card = kSmallCard;
  card.work_cache_bytes = lines * static_cast<std::uint32_t>(nic::WorkCache::kLineBytes);
  return card;
}

TEST(FetchAndDrop, ATurnIsOneReadOfAllThatItMayUse) {
  LonelyCard card(kSmallCard);
  host::QueuePair& qp = card.add_qp();
  for (int i = 0; i < 13; ++i) card.send(qp, 0, 64);
  card.turn();
  EXPECT_THAT(card.take_reads(), ElementsAre(works(8)));
  card.turn();
  EXPECT_THAT(card.take_reads(), ElementsAre(works(5)));
  EXPECT_EQ(card.world.packets, 13u);
  EXPECT_EQ(card.counted(Counter::wqes_fetched), 13u);
  EXPECT_EQ(card.counted(Counter::wqes_dropped), 0u);
}

TEST(FetchAndDrop, WhatABurstLeavesIsDroppedAndReadAgain) {
  LonelyCard card(kSmallCard);
  host::QueuePair& qp = card.add_qp();
  for (int i = 0; i < 10; ++i) card.send(qp, 0, 8192);  // two fill a burst of 16 KB
  card.turn();
  EXPECT_THAT(card.take_reads(), ElementsAre(works(8)));
  EXPECT_EQ(card.counted(Counter::wqes_dropped), 6u);
  card.turn_all();
  EXPECT_THAT(card.take_reads(), ElementsAre(works(8), works(6), works(4), works(2)));
  EXPECT_EQ(card.counted(Counter::wqes_fetched), 28u);
  EXPECT_EQ(card.counted(Counter::wqes_dropped), 18u);  // and the ten that were posted were used
}

TEST(FetchAndDrop, AMessageOfSeveralTurnsIsReadInEach) {
  LonelyCard card(kSmallCard);
  host::QueuePair& qp = card.add_qp();
  card.send(qp, 0, 40 * 1024);
  card.turn_all();
  EXPECT_THAT(card.take_reads(), ElementsAre(works(1), works(1), works(1)));
  EXPECT_EQ(card.counted(Counter::wqes_dropped), 0u);
}

TEST(FetchAndDrop, WhereTheRingBeginsAgainThereAreTwoReads) {
  LonelyCard card(kSmallCard);
  host::QueuePair& qp = card.add_qp();
  for (int i = 0; i < 12; ++i) card.send(qp, 0, 64);
  card.turn_all();
  (void)card.take_reads();
  for (int i = 0; i < 7; ++i) card.send(qp, 0, 64);
  card.turn_all();
  EXPECT_THAT(card.take_reads(), ElementsAre(works(4), works(3)));
}

TEST(FetchAndDrop, NIsTheDevices) {
  nic::CardConfig config = kSmallCard;
  config.works_per_turn = 3;
  LonelyCard card(config);
  host::QueuePair& qp = card.add_qp();
  for (int i = 0; i < 7; ++i) card.send(qp, 0, 64);
  card.turn_all();
  EXPECT_THAT(card.take_reads(), ElementsAre(works(3), works(3), works(1)));
}

// Whether the entry is still at hand is not the card's to say: it tells the world of each that it completes.
TEST(WorkUnderWay, IsToldOfForEachCompletion) {
  LonelyCard card(kSmallCard);
  host::QueuePair& qp = card.add_qp();
  for (int i = 0; i < 3; ++i) card.send(qp, 0, 64);
  card.turn_all();
  const Read once{nic::BusRead::work_under_way, nic::kWorkHeadBytes};
  EXPECT_THAT(card.world.under_way, ElementsAre(once, once, once));
}

TEST(CachedWork, EightAreFetchedTogetherAndSevenAreFound) {
  LonelyCard card(with_lines(4));
  host::QueuePair& qp = card.add_qp();
  for (int i = 0; i < 16; ++i) card.send(qp, 0, 64);
  card.turn_all();
  // The second eight are asked for before they are needed.
  EXPECT_THAT(card.take_reads(), ElementsAre(works(8), Read{nic::BusRead::ahead, works(8).bytes}));
  EXPECT_EQ(card.counted(Counter::wqe_cache_misses), 2u);
  EXPECT_EQ(card.counted(Counter::wqe_cache_hits), 14u);
  EXPECT_EQ(card.counted(Counter::wqes_fetched), 16u);
  EXPECT_EQ(card.counted(Counter::wqes_dropped), 0u);
}

TEST(CachedWork, WhatABurstLeavesIsFoundInTheNextTurn) {
  LonelyCard card(with_lines(4));
  host::QueuePair& qp = card.add_qp();
  for (int i = 0; i < 8; ++i) card.send(qp, 0, 8192);
  card.turn_all();
  EXPECT_THAT(card.take_reads(), ElementsAre(works(8)));
}

TEST(CachedWork, MoreQueuesThanLinesFindNothing) {
  for (const std::uint32_t lines : {3U, 4U}) {
    nic::CardConfig config = with_lines(lines);
    config.works_per_turn = 1;  // every queue's turn comes between two of another's
    LonelyCard card(config);
    std::vector<host::QueuePair*> qps;
    for (int i = 0; i < 4; ++i) qps.push_back(&card.add_qp());
    for (host::QueuePair* qp : qps) {
      for (int i = 0; i < 8; ++i) card.send(*qp, 0, 64);
    }
    card.turn_all();
    EXPECT_EQ(card.counted(Counter::wqe_cache_hits), lines == 4 ? 28u : 0u);
    EXPECT_EQ(card.counted(Counter::wqe_cache_misses), lines == 4 ? 4u : 32u);
    // A queue with k entries left fetches all of them: 8 + 7 + ... + 1 for each of the four.
    EXPECT_EQ(card.counted(Counter::wqes_fetched), lines == 4 ? 32u : 4 * 36u);
  }
}

TEST(CachedWork, AQueuePairThatBeginsAnewFindsNothingOfItsOld) {
  LonelyCard card(with_lines(4));
  host::QueuePair& qp = card.add_qp();
  for (int i = 0; i < 8; ++i) card.send(qp, 0, 8192);
  card.turn();  // six are left in the cache
  host::QpAttributes a;
  a.state = nic::QpState::reset;
  ASSERT_EQ(qp.modify(a, host::QpMask::state), host::Error::none);
  card.bring_up(qp);
  (void)card.take_reads();
  for (int i = 0; i < 4; ++i) card.send(qp, 0, 64);
  card.turn_all();
  EXPECT_THAT(card.take_reads(), ElementsAre(works(4)));
}

// Sixteen messages of a connection into receives that are posted before.
std::pair<std::uint64_t, std::uint64_t> receive_sixteen(std::uint32_t cache_bytes, bool shared,
                                                        std::uint64_t* fetched) {
  BedSpec spec;
  spec.card.receive_cache_bytes = cache_bytes;
  Bed bed(spec);
  QpSpec there;
  there.limits.receive_sges = 1;
  if (shared) there.srq = *bed.node(1).device().create_srq(bed.node(1).domain, 16, 1);
  auto [a, b] = bed.connect({}, there);
  for (std::uint64_t i = 0; i < 16; ++i) EXPECT_EQ(b.receive(i, {{i * 256, 256}}), host::Error::none);
  for (std::uint64_t i = 0; i < 16; ++i) EXPECT_EQ(a.post({.id = i, .local = {{i * 256, 256}}}), host::Error::none);
  EXPECT_TRUE(bed.run());
  EXPECT_TRUE(std::ranges::equal(a.node().bytes({0, 4096}), b.node().bytes({0, 4096})));
  *fetched = b.node().counted(Counter::receive_wqes_fetched);
  return {b.node().counted(Counter::receive_wqe_cache_hits), b.node().counted(Counter::receive_wqe_cache_misses)};
}

TEST(ReceiveFetch, WithoutACacheEachIsFetchedWhenItIsNeeded) {
  for (const bool shared : {false, true}) {
    std::uint64_t fetched = 0;
    EXPECT_EQ(receive_sixteen(0, shared, &fetched), std::pair(0UL, 0UL));
    EXPECT_EQ(fetched, 16u);
  }
}

TEST(ReceiveFetch, WithACacheThoseBehindComeAlong) {
  for (const bool shared : {false, true}) {
    std::uint64_t fetched = 0;
    EXPECT_EQ(receive_sixteen(4096, shared, &fetched), std::pair(14UL, 2UL));
    EXPECT_EQ(fetched, 16u);
  }
}

}  // namespace
}  // namespace weft::test
