// Tables 1 and 2 of the SRNIC paper, from the structures.
#include "nic/on_chip.h"

#include <gtest/gtest.h>

namespace weft::nic {
namespace {

constexpr std::uint32_t kQps = 10'000;

double megabytes(Design design, Structure structure, std::uint32_t qps = kQps) {
  return static_cast<double>(on_chip_bytes(design, structure, qps)) / kMegabyte;
}

TEST(OnChip, AConventionalCardNeedsWhatThePaperSays) {
  const auto is = [](Structure structure, double claimed) {
    EXPECT_NEAR(megabytes(Design::conventional, structure), claimed, 0.05 * claimed);
  };
  is(Structure::receive_buffer, 0.6);
  is(Structure::translations, 8.0);
  is(Structure::work_caches, 9.8);
  is(Structure::bitmaps, 3.0);
  is(Structure::reordering_buffers, 4.9 * 1024);
  is(Structure::outstanding_requests, 114.4);
}

// The paper's contexts have 210 bytes, of which 2.0 MB are needed. A connection of ours uses as many, but a slot is
// four cache lines, and all of it is on chip.
TEST(OnChip, ContextsTakeTheirWholeSlots) {
  EXPECT_LE(kContextStateBytes, 210U);
  const std::uint64_t contexts = on_chip_bytes(Design::srnic, Structure::contexts, kQps);
  EXPECT_EQ(contexts + kQps * kContextTimerBytes, kQps * sizeof(Context));
}

TEST(OnChip, ThisCardNeedsNoneOfWhatGrowsButContextsAndTheScheduler) {
  for (const Structure none :
       {Structure::work_caches, Structure::bitmaps, Structure::reordering_buffers, Structure::outstanding_requests}) {
    EXPECT_EQ(on_chip_bytes(Design::srnic, none, kQps), 0u);
  }
  EXPECT_NEAR(megabytes(Design::srnic, Structure::translations), 1.2, 0.001);
  EXPECT_EQ(on_chip_bytes(Design::srnic, Structure::schedule_queue, kQps), 20'000u);
  EXPECT_NEAR(static_cast<double>(on_chip_total(Design::srnic, kQps)) / kMegabyte, 4.4, 0.05);
}

TEST(OnChip, TheWholeIsItsParts) {
  for (const std::uint32_t qps : {1U, 256U, 10'000U, 65'536U, 100'000U}) {
    const std::uint64_t parts = on_chip_bytes(Design::srnic, Structure::receive_buffer, qps) +
                                on_chip_bytes(Design::srnic, Structure::contexts, qps) +
                                on_chip_bytes(Design::srnic, Structure::translations, qps) + scheduler_bytes(qps);
    EXPECT_EQ(on_chip_total(Design::srnic, qps), parts);
  }
  EXPECT_EQ(on_chip_bytes(Design::srnic, Structure::schedule_queue, 100'000), 400'000u);  // 17 bits and more
}

TEST(OnChip, TheCardsTablesTakeWhatIsCounted) {
  CardConfig config = srnic_card();
  config.max_qps = 16'384;
  const CardState card(config);
  EXPECT_EQ(card.ready.bytes(), on_chip_bytes(Design::srnic, Structure::schedule_queue, 16'384));
  EXPECT_EQ(card.owing.bytes(), on_chip_bytes(Design::srnic, Structure::acknowledgement_queue, 16'384));
  EXPECT_EQ(card.timers.bytes() + 16'384 * kContextTimerBytes, on_chip_bytes(Design::srnic, Structure::timers, 16'384));
  EXPECT_LE(card.translations.bytes(), kMttCacheBytes);
  EXPECT_FALSE(card.works.enabled() || card.receives.enabled());
}

TEST(OnChip, EveryStructureHasANameAndAReason) {
  for (const StructureText& text : kStructures) EXPECT_FALSE(text.key.empty() || text.name.empty() || text.how.empty());
}

}  // namespace
}  // namespace weft::nic
