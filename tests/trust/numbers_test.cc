// Numbers that nobody can guess (ReDMArk V1, V2, V5, V6): queue pair numbers, keys and first PSNs look random, whatever
// was asked for before, and yet follow from the seed in a simulated world.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <set>

#include "expect.h"

namespace weft::trust {
namespace {

host::DeviceConfig roomy() {
  host::DeviceConfig c;
  c.card.max_qps = 4096;
  c.gids = {kOurAddress};
  return c;
}

// A device of its own, for one process.
struct Process {
  explicit Process(std::uint64_t seed) : numbers(seed), device(roomy(), numbers) {
    domain = *device.create_domain();
    cq = *device.create_cq(16);
  }
  host::QueuePair* create_qp() {
    host::QpOptions o;
    o.send_cq = o.receive_cq = cq;
    return *device.create_qp(domain, o);
  }
  wire::Key register_region() {
    return *device.register_region(domain, {memory, 64, 0x1000, nic::Rights::remote_read});
  }

  SeededNumbers numbers;
  host::Device device;
  host::Domain domain = 0;
  host::CompletionQueue* cq = nullptr;
  std::byte memory[64]{};
};

using Draw = std::function<std::uint32_t(Process&)>;
const Draw kQpn = [](Process& p) { return p.create_qp()->qpn().raw(); };
const Draw kKey = [](Process& p) { return p.register_region().raw(); };
const Draw kWindow = [](Process& p) { return p.device.create_window(p.domain, 2)->raw(); };
const Draw kPsn = [](Process& p) { return p.device.random_psn().raw(); };

std::vector<std::uint32_t> sequence(std::uint64_t seed, const Draw& draw, std::size_t count) {
  Process p(seed);
  std::vector<std::uint32_t> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(draw(p));
  return out;
}

// Chi-squared of `values` over 16 equally likely buckets: 15 degrees of freedom, mean 15, deviation 5.5.
double chi_squared(const std::vector<std::uint32_t>& values, unsigned shift) {
  std::array<double, 16> buckets{};
  for (const std::uint32_t v : values) buckets[v >> shift & 15] += 1;
  const double each = static_cast<double>(values.size()) / 16;
  double sum = 0;
  for (const double b : buckets) sum += (b - each) * (b - each) / each;
  return sum;
}

void expect_random(const std::vector<std::uint32_t>& values, unsigned bits) {
  const auto n = static_cast<double>(values.size());
  // Every bit is a coin, and no bit follows from its local peer.
  for (unsigned bit = 0; bit < bits; ++bit) {
    const auto ones = std::count_if(values.begin(), values.end(), [&](std::uint32_t v) { return (v >> bit & 1) != 0; });
    EXPECT_NEAR(static_cast<double>(ones), n / 2, 4 * std::sqrt(n) / 2) << "bit " << bit;
  }
  for (unsigned shift = 0; shift + 4 <= bits; ++shift)
    EXPECT_LT(chi_squared(values, shift), 45) << "bits from " << shift;
  // Local peers in time are strangers: half their bits differ, none is near the one before, no step comes again.
  double differing = 0;
  std::set<std::uint32_t> steps;
  const std::uint32_t mask = bits == 32 ? ~0U : (1U << bits) - 1;
  for (std::size_t i = 1; i < values.size(); ++i) {
    differing += std::popcount(values[i] ^ values[i - 1]);
    const std::uint32_t step = (values[i] - values[i - 1]) & mask;
    EXPECT_TRUE(step > 64 || bits < 24) << "the " << i << "th follows the one before";
    steps.insert(step);
  }
  EXPECT_NEAR(differing / (n - 1), bits / 2.0, 0.5);
  EXPECT_GT(steps.size(), values.size() * 99 / 100);
  EXPECT_GT(std::set<std::uint32_t>(values.begin(), values.end()).size(), values.size() * 99 / 100);
}

TEST(TrustNumbers, V1_KeysLookRandom) {
  expect_random(sequence(11, kKey, 3000), 32);
  expect_random(sequence(12, kWindow, 3000), 32);
}

TEST(TrustNumbers, V4_RegistrationsOneAfterTheOtherAreNotAdjacent) {
  // Neither the number nor the place in the table (its bits 8 ... 19) tells the next.
  const auto keys = sequence(13, kKey, 2000);
  for (std::size_t i = 1; i < keys.size(); ++i) {
    const auto step = static_cast<std::int32_t>((keys[i] >> 8 & 0xFFF) - (keys[i - 1] >> 8 & 0xFFF));
    EXPECT_NE(keys[i] - keys[i - 1], 1U);
    EXPECT_NE(keys[i] - keys[i - 1], 0x100U);
    if (i < 20) {
      EXPECT_GT(std::abs(step), 1) << i;
    }
  }
}

TEST(TrustNumbers, V5_QueuePairNumbersLookRandom) { expect_random(sequence(14, kQpn, 3000), 24); }

TEST(TrustNumbers, V6_FirstPsnsLookRandom) { expect_random(sequence(15, kPsn, 3000), 24); }

TEST(TrustNumbers, V2_NoTwoStartsAreAlike) {
  // The first number after a start, over many starts, is as random as the rest.
  for (const Draw& draw : {kQpn, kKey, kPsn}) {
    std::vector<std::uint32_t> first;
    for (std::uint64_t seed = 0; seed < 300; ++seed) first.push_back(sequence(seed, draw, 1)[0]);
    EXPECT_GT(std::set<std::uint32_t>(first.begin(), first.end()).size(), 290U);
    for (unsigned shift = 0; shift + 4 <= 24; shift += 4) EXPECT_LT(chi_squared(first, shift), 45);
  }
}

TEST(TrustNumbers, V3_ProcessesDoNotShareASequence) {
  for (const Draw& draw : {kQpn, kKey, kWindow, kPsn}) {
    const auto one = sequence(21, draw, 500), other = sequence(22, draw, 500);
    std::vector<std::uint32_t> both = one;
    both.insert(both.end(), other.begin(), other.end());
    EXPECT_GT(std::set<std::uint32_t>(both.begin(), both.end()).size(), 990U);
  }
}

TEST(TrustNumbers, SameSeedSameNumbers) {
  for (const Draw& draw : {kQpn, kKey, kWindow, kPsn}) EXPECT_EQ(sequence(7, draw, 500), sequence(7, draw, 500));
}

TEST(TrustNumbers, ReservedQueuePairNumbersAreNeverGiven) {
  for (const std::uint32_t qpn : sequence(31, kQpn, 4096)) {  // every slot there is, 0, 1 and the last among them
    EXPECT_GT(qpn, 1U);
    EXPECT_NE(qpn, 0xFF'FFFFU);
  }
}

// Chance that has run out: the same number for ever.
class Stuck final : public host::RandomSource {
 public:
  std::uint64_t next() override { return 0x1234'5678'9ABC'DEF0; }
};

TEST(TrustNumbers, DestroyedQueuePairNumberIsNotGivenAgainAtOnce) {
  // In a full table the next queue pair has the very slot that became free. Its number must differ even if chance would
  // have it otherwise, or packets of the old connection would meet the new one.
  Stuck stuck;
  host::DeviceConfig config = roomy();
  config.card.max_qps = 4;
  host::Device device(config, stuck);
  const host::Domain domain = *device.create_domain();
  host::QpOptions o;
  o.send_cq = o.receive_cq = *device.create_cq(16);
  std::vector<host::QueuePair*> all;
  for (int i = 0; i < 4; ++i) all.push_back(*device.create_qp(domain, o));
  EXPECT_EQ(device.create_qp(domain, o).error(), host::Error::table_full);
  for (int i = 0; i < 100; ++i) {
    const wire::Qpn old = all[i % 4]->qpn();
    ASSERT_EQ(device.destroy(all[i % 4]), host::Error::none);
    all[i % 4] = *device.create_qp(domain, o);
    EXPECT_NE(all[i % 4]->qpn(), old);
  }
}

TEST(TrustNumbers, DeregisteredKeyIsNotGivenAgainAtOnce) {
  Stuck stuck;
  host::DeviceConfig config = roomy();
  config.card.region_slot_bits = 1;  // one slot, since the first is never given
  host::Device device(config, stuck);
  const host::Domain domain = *device.create_domain();
  std::byte memory[8];
  for (int i = 0; i < 100; ++i) {
    const wire::Key old = *device.register_region(domain, {memory, 8, 0, nic::Rights::none});
    ASSERT_EQ(device.deregister_region(old), host::Error::none);
    const wire::Key renewed = *device.register_region(domain, {memory, 8, 0, nic::Rights::none});
    EXPECT_NE(renewed, old);
    ASSERT_EQ(device.deregister_region(renewed), host::Error::none);
  }
}

}  // namespace
}  // namespace weft::trust
