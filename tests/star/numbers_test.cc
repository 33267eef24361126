// Queue pairs with and without a place on the card have their numbers from one space.
#include <set>

#include "star/scene.h"

namespace weft::test {
namespace {

using host::Error;
using host::StarRole;

class Numbers final : public host::RandomSource {
  std::uint64_t next() override { return state_ = state_ * 6364136223846793005U + 1442695040888963407U; }
  std::uint64_t state_ = 1;
};

// A device whose numbers have so many bits of its own, and tables as large as that.
struct Crowded {
  explicit Crowded(std::uint32_t bits)
      : device({.card = {.max_qps = 1U << bits, .max_cqs = 1, .max_srqs = 1, .region_slot_bits = 4},
                .gids = {wire::Address::v4(10, 0, 0, 1)},
                .max_stateless = 1U << bits},
               numbers) {
    device.set_qpn_prefix(3, 24 - bits);
  }
  host::Result<host::QueuePair*> make(StarRole role) {
    return device.create_qp(domain, {.send_cq = cq, .receive_cq = cq, .role = role});
  }

  Numbers numbers;
  host::Device device;
  host::Domain domain = *device.create_domain();
  host::CompletionQueue* cq = *device.create_cq(1);
};

// Bug: the search for a number of a queue pair whose slot's only number a stateless one had, did not end.
TEST(QueuePairNumbers, AreFoundToTheLastInACrowdedTable) {
  constexpr std::uint32_t kBits = 6;
  for (std::uint32_t stateless = 0; stateless <= 1U << kBits; stateless += 8) {
    Crowded c(kBits);
    std::set<std::uint32_t> seen;
    for (std::uint32_t i = 0; i < 1U << kBits; ++i) {
      const auto made = c.make(i < stateless ? StarRole::stateless : StarRole::none);
      ASSERT_TRUE(made.has_value()) << stateless << " of them stateless, number " << i;
      EXPECT_TRUE(seen.insert((*made)->qpn().raw()).second);
      EXPECT_EQ(c.device.find_qp((*made)->qpn()), *made);
    }
    for (const StarRole role : {StarRole::none, StarRole::stateless}) {
      const auto more = c.make(role);
      ASSERT_FALSE(more.has_value());
      EXPECT_EQ(more.error(), Error::table_full);
    }
    ASSERT_EQ(c.device.destroy(c.device.find_qp(wire::Qpn(*seen.begin()))), Error::none);
    EXPECT_TRUE(c.make(stateless > 0 ? StarRole::stateless : StarRole::none).has_value() ||
                c.make(StarRole::none).has_value())
        << "what was given back is there again";
  }
}

// As many as a lane has numbers for, each found at once: a search through taken ones would take minutes.
TEST(QueuePairNumbers, OfAHundredThousandStatelessOnesAreFoundAtOnce) {
  constexpr std::uint32_t kBits = 17;
  Crowded c(kBits);
  for (std::uint32_t i = 0; i < (1U << kBits); ++i) ASSERT_TRUE(c.make(StarRole::stateless).has_value()) << i;
  EXPECT_FALSE(c.make(StarRole::stateless).has_value());
}

}  // namespace
}  // namespace weft::test
