// A card tells its host when a receive queue comes to its end: whoever drives may leave what comes where it is.
#include <gtest/gtest.h>

#include "recorder.h"
#include "support/bed.h"

namespace weft::test {
namespace {

constexpr std::uint32_t kReceives = 64;

void expect_told_at_the_last_eighth(LonelyCard& card, const host::QueuePair& qp) {
  bool& low = card.device().card().receives_low;
  for (std::uint32_t left = kReceives - 1; left > kReceives / 8; --left) {
    card.take_message(qp);
    EXPECT_FALSE(low) << left;
  }
  card.take_message(qp);
  EXPECT_TRUE(low);
  low = false;
  card.take_message(qp);
  EXPECT_TRUE(low) << "again, as long as nothing is posted";
  EXPECT_EQ(card.counted(nic::Counter::completions), kReceives - kReceives / 8 + 1);
}

TEST(ReceivesLow, IsToldOfAQueuePairsOwn) {
  LonelyCard card(kSmallCard);
  host::QueuePair& qp = **card.device().create_qp(card.domain, {.service = wire::Service::uc,
                                                                .limits = {.receive_entries = kReceives},
                                                                .send_cq = card.cq,
                                                                .receive_cq = card.cq});
  card.bring_up(qp);
  for (std::uint32_t i = 0; i < kReceives; ++i) ASSERT_EQ(qp.post_receive({.id = i}), host::Error::none);
  expect_told_at_the_last_eighth(card, qp);
}

TEST(ReceivesLow, IsToldOfASharedOne) {
  LonelyCard card(kSmallCard);
  host::SharedReceiveQueue& srq = **card.device().create_srq(card.domain, kReceives, 1);
  host::QueuePair& qp = **card.device().create_qp(
      card.domain, {.service = wire::Service::rc, .send_cq = card.cq, .receive_cq = card.cq, .srq = &srq});
  card.bring_up(qp);
  for (std::uint32_t i = 0; i < kReceives; ++i) ASSERT_EQ(srq.post({.id = i}), host::Error::none);
  expect_told_at_the_last_eighth(card, qp);
}

}  // namespace
}  // namespace weft::test
