// Through a narrow way whose switch has a small buffer and drops what does not fit. Nobody marks packets.
#include <algorithm>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "load/scene.h"

namespace weft::test {
namespace {

using nic::Dialect;

constexpr std::uint64_t kRate = 200'000'000;
constexpr std::uint32_t kBytes = 64 * 1024, kMessages = 2048;
constexpr std::uint16_t kPathMtu = 1024;

struct Way {
  Dialect dialect = Dialect::srnic;
  std::uint32_t senders = 1;       // each on a host of its own
  Time delay = milliseconds(5);    // from end to end
  std::uint64_t buffer = 250'000;  // bytes in front of it
  double loss = 0;                 // of what the senders send, and of what is answered
};

// As programs have it by default (world/real/lane/device_config.cc).
BedSpec narrow_bed(const Way& way, std::uint64_t seed) {
  BedSpec spec = speaking(way.dialect, {.seed = seed});
  spec.hosts = way.senders + 1;
  spec.link = {.bits_per_second = 10'000'000'000, .delay = way.delay / 2, .faults = {.loss = way.loss}};
  spec.bottleneck = kRate;
  spec.card.target_delay = milliseconds(1);
  spec.card.probe_delay = milliseconds(1);
  spec.card.srnic_window_packets = 1024;
  spec.arena_bytes = 2 * std::size_t{kBytes};
  spec.cq_entries = kMessages;
  spec.burst_bytes = spec.one_copy_bytes = 0;
  return spec;
}

// What each sender gets through in three seconds, of what the way carries; they have had a second to find their shares.
std::vector<double> shares_of(const Way& way, std::uint64_t seed = 1) {
  Bed bed(narrow_bed(way, seed));
  bed.world().set_buffer(0, {.bytes = way.buffer, .alpha = 1e6});
  const QpSpec qp{.limits = {.send_entries = kMessages, .receive_entries = 1, .send_sges = 1, .receive_sges = 1},
                  .mtu = kPathMtu,
                  .ack_timeout = 14};
  std::vector<Connection> all;
  for (std::uint32_t i = 1; i <= way.senders; ++i) all.push_back(bed.connect(bed.node(i), qp, bed.node(0), qp));
  for (const Connection& c : all) {
    for (std::uint32_t i = 0; i < kMessages; ++i) {
      c.a.post({.id = i, .kind = nic::WorkKind::write, .local = {{0, kBytes}}, .remote = kBytes, .signaled = false});
    }
  }
  const auto done = [&] {
    std::vector<double> bytes;
    for (const Connection& c : all) bytes.push_back(static_cast<double>(c.a.context().sq_done) * kBytes);
    return bytes;
  };
  constexpr Time kSettling = seconds(1), kCounted = seconds(3);
  bed.world().run_until(bed.now() + kSettling);
  const std::vector<double> before = done();
  bed.world().run_until(bed.now() + kCounted);
  std::vector<double> shares = done();
  constexpr double kCarried = static_cast<double>(kRate) / 8 * (static_cast<double>(kCounted) / seconds(1));
  for (std::size_t i = 0; i < shares.size(); ++i) shares[i] = (shares[i] - before[i]) / kCarried;
  return shares;
}

const char* name_of(Dialect dialect) { return dialect == Dialect::srnic ? "srnic" : "roce"; }
double sum(const std::vector<double>& shares) { return std::accumulate(shares.begin(), shares.end(), 0.0); }
double jain(const std::vector<double>& shares) {
  const double squares = std::inner_product(shares.begin(), shares.end(), shares.begin(), 0.0);
  return sum(shares) * sum(shares) / (static_cast<double>(shares.size()) * squares);
}

// The window that fits there is far from one connection's widest: a quarter of it, or a tenth.
TEST(Narrow, OneSenderFillsTheWay) {
  for (const Dialect dialect : {Dialect::srnic, Dialect::roce}) {
    for (const Time delay : {microseconds(500), milliseconds(5)}) {
      EXPECT_GE(sum(shares_of({.dialect = dialect, .delay = delay})), 0.8) << name_of(dialect) << ", " << delay;
    }
  }
}

TEST(Narrow, SendersGetEqualShares) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const std::vector<double> shares = shares_of({.senders = 8}, seed);
    EXPECT_GE(sum(shares), 0.8) << "seed " << seed;
    EXPECT_GE(jain(shares), 0.95) << "seed " << seed << ": " << testing::PrintToString(shares);
  }
}

TEST(Narrow, ALittleLossTakesLittle) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const double lossless = sum(shares_of({}, seed));
    EXPECT_GE(sum(shares_of({.loss = 0.01}, seed)), 0.8 * lossless) << "seed " << seed;
  }
}

// A tenth of what is under way fits into the buffer. Go-back-N sends much in vain then, and nobody tells of the last
// packets that were lost; so no rate is asked for, but that it goes on.
TEST(Narrow, AShallowBufferStopsNobody) {
  EXPECT_GE(sum(shares_of({.buffer = 30'000})), 0.3);
  const std::vector<double> shares = shares_of({.senders = 8, .buffer = 30'000});
  EXPECT_GE(sum(shares), 0.6);
  EXPECT_GE(*std::ranges::min_element(shares), 0.01);
  EXPECT_GT(sum(shares_of({.dialect = Dialect::roce, .buffer = 30'000})), 0.0);
}

}  // namespace
}  // namespace weft::test
