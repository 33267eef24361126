// What kernels send for the program of their own host arrives once and is all there, in whatever weather: streams that
// are filtered, counted and spread over several peers on their way out.
#include <map>
#include <random>

#include "kernels/checksum.h"
#include "kernels/consistent.h"
#include "kernels/distinct.h"
#include "kernels/filter.h"
#include "kernels/local_scene.h"
#include "kernels/shuffle.h"
#include "support/seeds.h"
#include "world/random.h"

namespace weft::test {
namespace {

using kernels::ChecksumAnswer;
using kernels::ChecksumCall;
using kernels::DistinctAnswer;
using kernels::DistinctCall;
using kernels::FilterAnswer;
using kernels::FilterCall;
using kernels::Outlet;
using kernels::ShuffleAnswer;
using kernels::ShuffleCall;
using kernels::StreamAsk;
using nic::CallOutcome;
using sim::Fault;

// The program's arena: answers lie where LocalScene has them.
constexpr std::uint64_t kTable = 64 * 1024, kCounts = 100 * 1024, kValues = 128 * 1024;

BedSpec local_bed(nic::Dialect dialect) {
  BedSpec spec = speaking(dialect);
  spec.arena_bytes = 512 * 1024;
  return spec;
}

void deploy_streams(LocalScene& scene) {
  for (const nic::Kernel& k :
       {kernels::filter(2), kernels::distinct(2), kernels::checksum_stream(2), kernels::shuffle(2)}) {
    EXPECT_EQ(scene.card().deploy(k), host::Error::none);
  }
}

// Values that are spread over all peers by a shuffle, and where they have to be.
class Spread {
 public:
  Spread(LocalScene& scene, std::uint32_t partitions, std::size_t values, std::uint64_t seed)
      : scene_(scene), partitions_(partitions), expected_(partitions) {
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < values; ++i) {
      const std::uint64_t value = random();
      std::memcpy(&scene.own().arena.bytes[kValues + i * 8], &value, sizeof value);
      expected_[value & (partitions - 1)].push_back(value);
    }
    // Partition p is with peer p modulo their number, each exactly as large as it has to be.
    std::vector<std::uint64_t> at(scene.ways.size(), 0);
    for (std::uint32_t p = 0; p < partitions; ++p) {
      const std::size_t way = p % scene.ways.size();
      const sim::Memory& there = scene.ways[way].b.node().arena;
      const std::uint64_t bytes = expected_[p].size() * 8;
      const Outlet outlet{there.address + at[way], bytes, 1, there.key.raw(), scene.qpn(way), 0};
      std::memcpy(&scene.own().arena.bytes[kTable + p * sizeof outlet], &outlet, sizeof outlet);
      places_.emplace_back(way, at[way]);
      at[way] += bytes;
    }
  }
  [[nodiscard]] ShuffleCall begin() const {
    return {.ask = StreamAsk::begin, .partitions = partitions_, .sends = 1, .partitions_at = scene_.address(kTable)};
  }
  [[nodiscard]] bool has_arrived() const {
    for (std::uint32_t p = 0; p < partitions_; ++p) {
      const auto [way, at] = places_[p];
      const auto bytes = std::as_bytes(std::span(expected_[p]));
      std::uint64_t count = 0;
      std::memcpy(&count, &scene_.own().arena.bytes[kCounts + 8 * p], sizeof count);
      if (count != expected_[p].size()) return false;
      if (!same_memory(scene_.ways[way].b.node().arena.bytes.subspan(at, bytes.size()), bytes)) return false;
    }
    return true;
  }

 private:
  LocalScene& scene_;
  std::uint32_t partitions_;
  std::vector<std::vector<std::uint64_t>> expected_;
  std::vector<std::pair<std::size_t, std::uint64_t>> places_;
};

class LocalStreams : public testing::TestWithParam<nic::Dialect> {};

TEST_P(LocalStreams, AreSpreadOverTheMemoryOfSeveralPeersAndNothingIsLost) {
  constexpr std::size_t kCount = 20'003;
  for (const std::uint32_t partitions : {1U, 4U, 1024U}) {
    LocalScene scene(local_bed(GetParam()), {.peers = 3});
    deploy_streams(scene);
    const Spread spread(scene, partitions, kCount, partitions);
    ASSERT_EQ(scene.call_with(kernels::kShuffle, spread.begin()), CallOutcome::success);
    std::uint64_t id = 0;
    std::uint32_t at = 0;
    for (const std::uint32_t bytes : {1U, 4095U, 50'000U, static_cast<std::uint32_t>(kCount * 8 - 54'096)}) {
      ASSERT_EQ(scene.payload(++id, kernels::kShuffle, Piece{kValues + at, bytes}), host::Error::none);
      at += bytes;
      ASSERT_TRUE(scene.bed.run());
    }
    EXPECT_THAT(scene.done(), testing::SizeIs(4));
    const ShuffleCall finish{.ask = StreamAsk::finish, .counts_to = scene.address(kCounts)};
    ASSERT_EQ(scene.call_with(kernels::kShuffle, finish), CallOutcome::success);
    ShuffleAnswer answer;
    std::memcpy(&answer, scene.answer().data(), sizeof answer);
    EXPECT_EQ(answer.values, kCount);
    EXPECT_EQ(answer.odd_bytes, 0U);
    EXPECT_TRUE(spread.has_arrived()) << partitions;
  }
}

TEST_P(LocalStreams, SpreadFailsWhereAPeersPartitionHasNoRoom) {
  LocalScene scene(local_bed(GetParam()));
  deploy_streams(scene);
  const Spread spread(scene, 2, 100, 1);
  Outlet* const first = static_cast<Outlet*>(static_cast<void*>(&scene.own().arena.bytes[kTable]));
  first->room_bytes -= 8;
  ASSERT_EQ(scene.call_with(kernels::kShuffle, spread.begin()), CallOutcome::success);
  ASSERT_EQ(scene.payload(1, kernels::kShuffle, Piece{kValues, 800}), host::Error::none);
  ASSERT_TRUE(scene.bed.run());
  (void)scene.done();
  EXPECT_EQ(scene.call_with(kernels::kShuffle, ShuffleCall{.ask = StreamAsk::finish}), CallOutcome::failed);
}

TEST_P(LocalStreams, LeaveFilteredCountedAndWithAChecksum) {
  LocalScene scene(local_bed(GetParam()));
  deploy_streams(scene);
  constexpr std::uint32_t kCount = 5000;
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> values(kCount), low;
  for (std::uint64_t& v : values) {
    v = random() % 1000;
    if (v < 300) low.push_back(v);
  }
  const auto bytes = std::as_bytes(std::span(values));
  std::memcpy(&scene.own().arena.bytes[kValues], bytes.data(), bytes.size());
  const sim::Memory& there = scene.ways[0].b.node().arena;
  const auto outlet = [&](std::uint64_t at, std::uint64_t room) {
    return Outlet{there.address + at, room, 1, there.key.raw(), 0, 0};
  };
  ASSERT_EQ(scene.call_with(kernels::kFilter,
                            FilterCall{.ask = StreamAsk::begin, .most = 299, .matches = outlet(0, low.size() * 8)}),
            CallOutcome::success);
  ASSERT_EQ(scene.call_with(kernels::kDistinct,
                            DistinctCall{.ask = StreamAsk::begin, .stream = outlet(128 * 1024, bytes.size())}),
            CallOutcome::success);
  ASSERT_EQ(scene.call_with(kernels::kChecksum,
                            ChecksumCall{.ask = StreamAsk::begin, .stream = outlet(256 * 1024, bytes.size())}),
            CallOutcome::success);
  for (const std::uint64_t kernel : {kernels::kFilter, kernels::kDistinct, kernels::kChecksum})
    ASSERT_EQ(scene.payload(kernel, kernel, Piece{kValues, kCount * 8}), host::Error::none);
  ASSERT_TRUE(scene.bed.run());
  ASSERT_THAT(scene.done(), testing::SizeIs(3));

  ASSERT_EQ(scene.call_with(kernels::kFilter, FilterCall{.ask = StreamAsk::finish}), CallOutcome::success);
  FilterAnswer filtered;
  std::memcpy(&filtered, scene.answer().data(), sizeof filtered);
  EXPECT_EQ(filtered.count, low.size());
  EXPECT_TRUE(same_memory(there.bytes.first(low.size() * 8), std::as_bytes(std::span(low))));
  ASSERT_EQ(scene.call_with(kernels::kDistinct, DistinctCall{.ask = StreamAsk::finish}), CallOutcome::success);
  DistinctAnswer counted;
  std::memcpy(&counted, scene.answer().data(), sizeof counted);
  EXPECT_NEAR(counted.distinct, 1000, 30);
  EXPECT_TRUE(same_memory(there.bytes.subspan(128 * 1024, bytes.size()), bytes));
  ASSERT_EQ(scene.call_with(kernels::kChecksum, ChecksumCall{.ask = StreamAsk::finish}), CallOutcome::success);
  ChecksumAnswer checked;
  std::memcpy(&checked, scene.answer().data(), sizeof checked);
  EXPECT_EQ(checked.checksum, kernels::checksum(bytes));
  EXPECT_EQ(checked.bytes, bytes.size());
  EXPECT_TRUE(same_memory(there.bytes.subspan(256 * 1024, bytes.size()), bytes));
}

// ---- faults

struct End {
  bool at_rest = false, arrived = false;
  std::vector<std::pair<std::uint64_t, nic::Status>> completions;
  std::vector<std::byte> answers;
  std::uint64_t packets = 0, faults = 0;
  friend bool operator==(const End& a, const End& b) {
    return a.at_rest == b.at_rest && a.arrived == b.arrived && a.completions == b.completions && a.answers == b.answers;
  }
};

// A stream is spread over two peers, while the program writes to them as well.
End spread_with(BedSpec spec, std::uint64_t seed) {
  spec.link.faults.count_world = true;
  LocalScene scene(spec, {.peers = 2, .local_calls = 2, .qp = {.mtu = 256, .psn = wire::Psn(0xFF'FFFA)}});
  deploy_streams(scene);
  const Spread spread(scene, 4, 150, seed);
  const ShuffleCall begin = spread.begin(), finish{.ask = StreamAsk::finish, .counts_to = scene.address(kCounts)};
  EXPECT_EQ(scene.call({.id = 1, .opcode = kernels::kShuffle, .parameters = bytes_of_object(begin)}),
            host::Error::none);
  EXPECT_EQ(scene.payload(2, kernels::kShuffle, Piece{kValues, 1200}), host::Error::none);
  const auto write = [&](std::size_t way) {
    EXPECT_EQ(scene.ways[way].a.post(
                  {.id = 10 + way, .kind = nic::WorkKind::write, .local = {{0, 600}}, .remote = 200 * 1024}),
              host::Error::none);
  };
  write(0);
  EXPECT_TRUE(scene.bed.run());
  write(1);
  EXPECT_EQ(scene.call({.id = 3, .opcode = kernels::kShuffle, .parameters = bytes_of_object(finish), .answer = 64}),
            host::Error::none);
  End end;
  end.at_rest = scene.bed.run();
  for (const auto& c : scene.done()) end.completions.emplace_back(c.id, c.status);
  std::ranges::sort(end.completions);
  const auto answers = scene.own().bytes({kAnswers, 128});
  end.answers.assign(answers.begin(), answers.end());
  end.arrived = spread.has_arrived();
  const auto f = scene.bed.world().fault_counters();
  for (Node& n : scene.bed.nodes()) end.packets += n.counted(nic::Counter::sent_pkts);
  end.faults = f.dropped() + f.duplicated + f.held + f.corrupted;
  return end;
}

TEST_P(LocalStreams, ArriveOnceWhicheverPacketMeetsAFault) {
  const End clean = spread_with(local_bed(GetParam()), 1);
  EXPECT_TRUE(clean.at_rest && clean.arrived);
  ASSERT_THAT(clean.completions, testing::SizeIs(5));
  for (const auto& [id, status] : clean.completions) EXPECT_EQ(status, nic::Status::success) << id;
  ASSERT_GT(clean.packets, 15U);
  for (const Fault fault : {Fault::drop, Fault::duplicate, Fault::delay, Fault::corrupt}) {
    for (std::uint64_t nth = 1; nth <= clean.packets && !HasFailure(); ++nth) {
      BedSpec spec = local_bed(GetParam());
      spec.link.faults.script = {{fault, nth}};
      const End got = spread_with(spec, 1);
      EXPECT_GT(got.faults, 0U);
      EXPECT_TRUE(got == clean) << "fault " << static_cast<int>(fault) << " of packet " << nth;
    }
  }
}

TEST_P(LocalStreams, ArriveOnceInBadWeather) {
  const Seeds seeds = chosen_seeds({1, 200});
  for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    SCOPED_TRACE(testing::Message() << "replay with WEFT_SEED=" << seed);
    world::Random random(seed);
    const auto percent = [&](std::uint64_t most) { return static_cast<double>(random.next() % (most + 1)) / 100; };
    BedSpec spec = local_bed(GetParam());
    spec.seed = seed;
    sim::FaultPlan& weather = spec.link.faults;
    weather.loss = percent(5);
    weather.duplication = percent(3);
    weather.reordering = percent(3);
    weather.corruption = percent(2);
    const End got = spread_with(spec, seed);
    EXPECT_TRUE(got.at_rest && got.arrived);
    EXPECT_THAT(got.completions, testing::SizeIs(5));
    for (const auto& [id, status] : got.completions) EXPECT_EQ(status, nic::Status::success) << id;
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Dialects, LocalStreams, testing::Values(nic::Dialect::roce, nic::Dialect::srnic),
                         [](const auto& i) { return i.param == nic::Dialect::roce ? "Roce" : "Srnic"; });

}  // namespace
}  // namespace weft::test
