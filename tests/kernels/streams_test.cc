// The kernels that take streams: filter, distinct (HyperLogLog) and shuffle; and update, which swaps whole records.
#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "kernels/checksum.h"
#include "kernels/consistent.h"
#include "kernels/distinct.h"
#include "kernels/filter.h"
#include "kernels/scene.h"
#include "kernels/shuffle.h"
#include "kernels/sketch_hash.h"
#include "kernels/update.h"

namespace weft::test {
namespace {

using kernels::ChecksumAnswer;
using kernels::ChecksumCall;
using kernels::DistinctAnswer;
using kernels::DistinctCall;
using kernels::FilterAnswer;
using kernels::FilterCall;
using kernels::Partition;
using kernels::ShuffleAnswer;
using kernels::ShuffleCall;
using kernels::StreamAsk;
using kernels::UpdateAnswer;
using kernels::UpdateCall;
using nic::CallOutcome;
using nic::Kernel;

BedSpec large_bed(nic::Dialect dialect) {
  BedSpec spec;
  spec.dialect = dialect;
  spec.arena_bytes = 512 * 1024;
  return spec;
}

static std::vector<std::uint64_t> random_values(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> all(count);
  for (std::uint64_t& v : all) v = random();
  return all;
}

class Streams : public testing::TestWithParam<nic::Dialect> {
 protected:
  Streams() {
    for (const Kernel& k :
         {kernels::filter(), kernels::distinct(), kernels::checksum_stream(), kernels::shuffle(), kernels::update()})
      EXPECT_EQ(scene.card().deploy(k), host::Error::none);
  }
  [[nodiscard]] std::uint64_t address(std::uint64_t offset) const { return scene.memory().address + offset; }
  template <class T>
  [[nodiscard]] T* in_server(std::uint64_t offset) const {
    return static_cast<T*>(static_cast<void*>(&scene.memory().bytes[offset]));
  }
  CallOutcome call(std::uint64_t opcode, std::span<const std::byte> parameters) {
    scene.clear_answers();
    EXPECT_EQ(scene.call({.opcode = opcode, .parameters = parameters}), host::Error::none);
    EXPECT_TRUE(scene.bed.run());
    (void)drain(scene.caller().node());
    return scene.head().outcome;
  }
  template <class Call>
  CallOutcome call(std::uint64_t opcode, const Call& c) {
    return call(opcode, bytes_of_object(c));
  }
  template <class Answer>
  [[nodiscard]] Answer answer() const {
    const std::string text = scene.answer();
    Answer a{};
    EXPECT_EQ(text.size(), sizeof a);
    std::memcpy(&a, text.data(), std::min(text.size(), sizeof a));
    return a;
  }
  // RPC WRITEs of so many bytes each: packets and messages end in the middle of values.
  void send(std::uint64_t opcode, std::span<const std::byte> bytes, std::size_t together = 3001) {
    while (!bytes.empty()) {
      const std::size_t n = std::min(bytes.size(), together);
      std::memcpy(&scene.caller().node().arena.bytes[kStream], bytes.data(), n);
      ASSERT_EQ(scene.caller().post({.kind = nic::WorkKind::rpc_write,
                                     .local = {{kStream, static_cast<std::uint32_t>(n)}},
                                     .opcode = opcode}),
                host::Error::none);
      ASSERT_TRUE(scene.bed.run());
      (void)drain(scene.caller().node());
      bytes = bytes.subspan(n);
    }
  }

  static constexpr std::uint64_t kStream = 128 * 1024;
  CallScene scene{large_bed(GetParam())};
};

// ---- filter

struct Row {
  std::uint64_t key, price;
  std::uint32_t unused, more;
};

TEST_P(Streams, FilterCountsAddsUpAndKeepsWhatLiesInTheRange) {
  std::vector<Row> rows(1000);
  for (std::uint64_t i = 0; i < rows.size(); ++i) rows[i] = {i * 7919 % 1000, i * i, 1, 2};
  FilterCall begin{.ask = StreamAsk::begin,
                   .record_bytes = sizeof(Row),
                   .field = 0,
                   .value = 8,
                   .least = 100,
                   .most = 299,
                   .matches = {.address = address(4096), .room_bytes = 200 * sizeof(Row)}};
  ASSERT_EQ(call(kernels::kFilter, begin), CallOutcome::success);
  send(kernels::kFilter, std::as_bytes(std::span(rows)));
  send(kernels::kFilter, bytes_of("end"));
  ASSERT_EQ(call(kernels::kFilter, FilterCall{.ask = StreamAsk::finish}), CallOutcome::success);
  const auto got = answer<FilterAnswer>();
  FilterAnswer expected{.records = rows.size(), .odd_bytes = 3};
  std::vector<std::uint64_t> kept;
  for (const Row& r : rows) {
    if (r.key < 100 || r.key > 299) continue;
    ++expected.count;
    expected.sum += r.price;
    expected.least = std::min(expected.least, r.price);
    expected.most = std::max(expected.most, r.price);
    kept.push_back(r.price);
  }
  EXPECT_EQ(std::memcmp(&got, &expected, sizeof got), 0) << got.count << " " << got.sum;
  ASSERT_EQ(kept.size(), 200U);
  for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(in_server<Row>(4096)[i].price, kept[i]) << i;
}

TEST_P(Streams, FilterFailsWhereThereIsNoRoom) {
  const std::vector<std::uint64_t> values(1000, 5);
  const FilterCall begin{.ask = StreamAsk::begin, .matches = {.address = address(4096), .room_bytes = 999 * 8}};
  ASSERT_EQ(call(kernels::kFilter, begin), CallOutcome::success);
  send(kernels::kFilter, std::as_bytes(std::span(values)));
  EXPECT_EQ(call(kernels::kFilter, FilterCall{.ask = StreamAsk::finish}), CallOutcome::failed);
}

TEST_P(Streams, FilterRefusesWhatMakesNoSense) {
  const FilterCall good{.ask = StreamAsk::begin, .record_bytes = 16, .field = 8, .value = 8};
  for (auto change : {+[](FilterCall& c) { c.record_bytes = 7; }, +[](FilterCall& c) { c.record_bytes = 257; },
                      +[](FilterCall& c) { c.field = 9; }, +[](FilterCall& c) { c.value = ~0U; },
                      +[](FilterCall& c) { c.ask = StreamAsk::finish; },
                      +[](FilterCall& c) { c.ask = static_cast<StreamAsk>(77); }}) {
    FilterCall bad = good;
    change(bad);
    EXPECT_EQ(call(kernels::kFilter, bad), CallOutcome::failed);
  }
  EXPECT_EQ(call(kernels::kFilter, bytes_of("short")), CallOutcome::failed);
}

TEST_P(Streams, ThatNobodyHasBegunFail) {
  for (const std::uint64_t opcode : {kernels::kFilter, kernels::kDistinct, kernels::kShuffle}) {
    send(opcode, bytes_of("12345678"));
    EXPECT_EQ(call(opcode, std::span<const std::byte>()), CallOutcome::failed);
  }
}

// ---- distinct

TEST_P(Streams, DistinctIsRightWithinItsError) {
  for (const std::size_t different : {100U, 30'000U}) {
    std::vector<std::uint64_t> values = random_values(different, different);
    const std::vector<std::uint64_t> first(values.begin(), values.begin() + 50);
    values.insert(values.end(), first.begin(), first.end());  // those come twice
    const DistinctCall begin{.ask = StreamAsk::begin,
                             .stream = {.address = address(0), .room_bytes = values.size() * 8}};
    ASSERT_EQ(call(kernels::kDistinct, begin), CallOutcome::success);
    send(kernels::kDistinct, std::as_bytes(std::span(values)));
    ASSERT_EQ(call(kernels::kDistinct, DistinctCall{.ask = StreamAsk::finish}), CallOutcome::success);
    const auto got = answer<DistinctAnswer>();
    EXPECT_EQ(got.values, values.size());
    EXPECT_NEAR(got.distinct, static_cast<double>(different), 0.025 * static_cast<double>(different)) << "3 errors";
    EXPECT_TRUE(std::equal(values.begin(), values.end(), in_server<std::uint64_t>(0))) << "the stream was kept";
  }
}

std::vector<std::uint8_t> registers_of(std::span<const std::uint64_t> values) {
  std::vector<std::uint8_t> registers(kernels::kSketchBytes, 0);
  for (const std::uint64_t v : values) {
    const std::uint64_t hash = kernels::hash_of(v);
    std::uint8_t run = 1;
    while (run <= 50 && (hash << kernels::kSketchBits << (run - 1) >> 63) == 0) ++run;
    std::uint8_t& longest = registers[hash >> (64 - kernels::kSketchBits)];
    longest = std::max(longest, run);
  }
  return registers;
}

// However many values are hashed together.
TEST_P(Streams, DistinctHasTheRegistersThatItsHashSays) {
  const std::vector<std::uint64_t> values = random_values(1003, 9);
  const std::vector<std::uint8_t> expected = registers_of(values);
  ASSERT_EQ(call(kernels::kDistinct, DistinctCall{.ask = StreamAsk::begin}), CallOutcome::success);
  send(kernels::kDistinct, std::as_bytes(std::span(values)).first(8), 3);
  send(kernels::kDistinct, std::as_bytes(std::span(values)).subspan(8), 3000);
  const DistinctCall finish{.ask = StreamAsk::finish, .save_to = address(64 * 1024)};
  ASSERT_EQ(call(kernels::kDistinct, finish), CallOutcome::success);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), in_server<std::uint8_t>(64 * 1024)));
}

// And of so many that no register is empty any more: most values are passed over then. Without a card: only the steps.
TEST(Distinct, HasTheSameRegistersWhenItPassesOverValues) {
  const nic::KernelPort port{.write =
                                 [](nic::KernelStep& s, std::uint64_t address, const void* data, std::uint32_t bytes) {
                                   std::memcpy(static_cast<std::byte*>(s.card) + address, data, bytes);
                                   return true;
                                 },
                             .reply = [](nic::KernelStep&, const void*, std::uint32_t) { return true; },
                             .send = nullptr};
  const nic::Kernel kernel = kernels::distinct();
  std::vector<std::uint64_t> state(kernel.state_bytes / 8 + 1);
  std::vector<std::uint8_t> registers(kernels::kSketchBytes + 1);
  const auto step = [&](nic::KernelEvent event, std::span<const std::byte> input) {
    nic::KernelStep s{.event = event,
                      .input = input.data(),
                      .input_bytes = static_cast<std::uint32_t>(input.size()),
                      .state = std::as_writable_bytes(std::span(state)).data(),
                      .port = &port,
                      .card = registers.data()};
    return kernel.step(s);
  };
  const std::vector<std::uint64_t> values = random_values(1'000'003, 10);
  const DistinctCall begin{.ask = StreamAsk::begin}, finish{.ask = StreamAsk::finish, .save_to = 1};
  ASSERT_EQ(step(nic::KernelEvent::call, bytes_of_object(begin)), nic::KernelNext::wait);
  const std::span<const std::byte> stream = std::as_bytes(std::span(values));
  for (std::size_t at = 0; at < stream.size(); at += 4096)
    ASSERT_EQ(step(nic::KernelEvent::payload, stream.subspan(at, std::min<std::size_t>(4096, stream.size() - at))),
              nic::KernelNext::wait);
  ASSERT_EQ(step(nic::KernelEvent::call, bytes_of_object(finish)), nic::KernelNext::done);
  const std::vector<std::uint8_t> expected = registers_of(values);
  EXPECT_GT(*std::min_element(expected.begin(), expected.end()), 2U) << "there was something to pass over";
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), registers.begin() + 1));
}

TEST_P(Streams, DistinctMergesSketches) {
  const std::vector<std::uint64_t> values = random_values(20'000, 3);
  const auto half = std::span(values).first(12'000), other = std::span(values).subspan(8'000);  // 4000 are in both
  const std::uint64_t saved = address(64 * 1024);
  ASSERT_EQ(call(kernels::kDistinct, DistinctCall{.ask = StreamAsk::begin}), CallOutcome::success);
  send(kernels::kDistinct, std::as_bytes(half));
  ASSERT_EQ(call(kernels::kDistinct, DistinctCall{.ask = StreamAsk::finish, .save_to = saved}), CallOutcome::success);
  EXPECT_NEAR(answer<DistinctAnswer>().distinct, 12'000, 300);
  ASSERT_EQ(call(kernels::kDistinct, DistinctCall{.ask = StreamAsk::begin}), CallOutcome::success);
  send(kernels::kDistinct, std::as_bytes(other));
  ASSERT_EQ(call(kernels::kDistinct, DistinctCall{.ask = StreamAsk::result}), CallOutcome::success);
  EXPECT_NEAR(answer<DistinctAnswer>().distinct, 12'000, 300);
  ASSERT_EQ(call(kernels::kDistinct, DistinctCall{.ask = StreamAsk::finish, .merge_from = saved}),
            CallOutcome::success);
  EXPECT_NEAR(answer<DistinctAnswer>().distinct, 20'000, 500);
}

TEST_P(Streams, DistinctFailsWhereTheStreamHasNoRoom) {
  const std::vector<std::uint64_t> values(100);
  const DistinctCall begin{.ask = StreamAsk::begin, .stream = {.address = address(0), .room_bytes = 799}};
  ASSERT_EQ(call(kernels::kDistinct, begin), CallOutcome::success);
  send(kernels::kDistinct, std::as_bytes(std::span(values)));
  EXPECT_EQ(call(kernels::kDistinct, DistinctCall{.ask = StreamAsk::finish}), CallOutcome::failed);
}

// ---- checksum

TEST_P(Streams, ChecksumIsThatOfAllBytes) {
  const std::vector<std::uint64_t> values = random_values(2000, 4);
  const auto bytes = std::as_bytes(std::span(values)).first(15'999);
  const ChecksumCall begin{.ask = StreamAsk::begin, .stream = {.address = address(64), .room_bytes = bytes.size()}};
  ASSERT_EQ(call(kernels::kChecksum, begin), CallOutcome::success);
  send(kernels::kChecksum, bytes);
  ASSERT_EQ(call(kernels::kChecksum, ChecksumCall{.ask = StreamAsk::result}), CallOutcome::success);
  EXPECT_EQ(answer<ChecksumAnswer>().checksum, kernels::checksum(bytes));
  EXPECT_EQ(answer<ChecksumAnswer>().bytes, bytes.size());
  EXPECT_TRUE(std::ranges::equal(scene.memory().bytes.subspan(64, bytes.size()), bytes));
  send(kernels::kChecksum, bytes_of("x"));
  EXPECT_EQ(call(kernels::kChecksum, ChecksumCall{.ask = StreamAsk::finish}), CallOutcome::failed) << "no room";
}

// Who may call the kernel cannot have the server send to others.
TEST_P(Streams, OfPeersSendNothing) {
  const ChecksumCall begin{.ask = StreamAsk::begin, .stream = {.address = 64, .room_bytes = 64, .sends = 1}};
  ASSERT_EQ(call(kernels::kChecksum, begin), CallOutcome::success);
  send(kernels::kChecksum, bytes_of("12345678"));
  EXPECT_EQ(call(kernels::kChecksum, ChecksumCall{.ask = StreamAsk::finish}), CallOutcome::denied);
}

// ---- shuffle

TEST_P(Streams, ShuffleLosesNothing) {
  constexpr std::uint32_t kShift = 5;
  for (const std::uint32_t partitions : {1U, 8U, 1024U}) {
    const std::vector<std::uint64_t> values = random_values(20'003, partitions);
    std::map<std::uint64_t, std::vector<std::uint64_t>> expected;
    for (const std::uint64_t v : values) expected[v >> kShift & (partitions - 1)].push_back(v);
    // The table, counts, and then the partitions, each as large as it has to be.
    std::uint64_t at = 64 * 1024;
    for (std::uint32_t p = 0; p < partitions; ++p) {
      in_server<Partition>(0)[p] = {address(at), expected[p].size() * 8};
      at += expected[p].size() * 8;
    }
    const ShuffleCall begin{
        .ask = StreamAsk::begin, .partitions = partitions, .shift = kShift, .partitions_at = address(0)};
    ASSERT_EQ(call(kernels::kShuffle, begin), CallOutcome::success);
    send(kernels::kShuffle, std::as_bytes(std::span(values)).first(50'000));
    ASSERT_EQ(call(kernels::kShuffle, ShuffleCall{.ask = StreamAsk::result}), CallOutcome::success);
    EXPECT_EQ(answer<ShuffleAnswer>().values, 50'000U / 8);
    send(kernels::kShuffle, std::as_bytes(std::span(values)).subspan(50'000));
    const ShuffleCall finish{.ask = StreamAsk::finish, .counts_to = address(32 * 1024)};
    ASSERT_EQ(call(kernels::kShuffle, finish), CallOutcome::success);
    EXPECT_EQ(answer<ShuffleAnswer>().values, values.size());
    EXPECT_EQ(answer<ShuffleAnswer>().odd_bytes, 0U);
    at = 64 * 1024;
    for (std::uint32_t p = 0; p < partitions; ++p) {
      EXPECT_EQ(in_server<std::uint64_t>(32 * 1024)[p], expected[p].size()) << p;
      EXPECT_TRUE(std::equal(expected[p].begin(), expected[p].end(), in_server<std::uint64_t>(at))) << p;
      at += expected[p].size() * 8;
    }
  }
}

// A call that comes while the stream is still busy with the one before is the stream's, too.
TEST_P(Streams, AreAskedAgainBeforeTheyHaveAnswered) {
  for (std::uint32_t p = 0; p < 1024; ++p) in_server<Partition>(0)[p] = {address(64 * 1024 + p * 64), 64};
  const ShuffleCall begin{.ask = StreamAsk::begin, .partitions = 1024, .partitions_at = address(0)};
  ASSERT_EQ(call(kernels::kShuffle, begin), CallOutcome::success);
  const std::vector<std::uint64_t> values = random_values(500, 3);
  send(kernels::kShuffle, std::as_bytes(std::span(values)));
  scene.clear_answers();
  const ShuffleCall result{.ask = StreamAsk::result}, finish{.ask = StreamAsk::finish};
  std::uint64_t at = 0;
  for (const ShuffleCall* c : {&result, &result, &finish}) {
    ASSERT_EQ(scene.call({.opcode = kernels::kShuffle, .parameters = bytes_of_object(*c), .answer = at}),
              host::Error::none);
    at += 1024;
  }
  ASSERT_TRUE(scene.bed.run());
  for (at = 0; at < 3072; at += 1024) EXPECT_EQ(scene.head(at).outcome, CallOutcome::success) << at;
}

TEST_P(Streams, ShuffleFailsWhereAPartitionHasNoRoom) {
  in_server<Partition>(0)[0] = {address(8192), 800};
  in_server<Partition>(0)[1] = {address(16'384), 792};
  const ShuffleCall begin{.ask = StreamAsk::begin, .partitions = 2, .partitions_at = address(0)};
  const std::uint64_t behind = in_server<std::uint64_t>(16'384)[99];
  std::vector<std::uint64_t> values(200);
  std::iota(values.begin(), values.end(), 0);
  ASSERT_EQ(call(kernels::kShuffle, begin), CallOutcome::success);
  send(kernels::kShuffle, std::as_bytes(std::span(values)));
  EXPECT_EQ(call(kernels::kShuffle, ShuffleCall{.ask = StreamAsk::finish}), CallOutcome::failed);
  EXPECT_EQ(in_server<std::uint64_t>(16'384)[99], behind) << "behind its end";
}

TEST_P(Streams, ShuffleRefusesWhatMakesNoSense) {
  for (const std::uint32_t partitions : {0U, 3U, 2048U}) {
    const ShuffleCall begin{.ask = StreamAsk::begin, .partitions = partitions, .partitions_at = address(0)};
    EXPECT_EQ(call(kernels::kShuffle, begin), CallOutcome::failed) << partitions;
  }
  const ShuffleCall too_far{.ask = StreamAsk::begin, .partitions = 2, .shift = 64, .partitions_at = address(0)};
  EXPECT_EQ(call(kernels::kShuffle, too_far), CallOutcome::failed);
  const ShuffleCall elsewhere{.ask = StreamAsk::begin, .partitions = 2, .partitions_at = 8};
  EXPECT_EQ(call(kernels::kShuffle, elsewhere), CallOutcome::denied);
}

// ---- update

class Updates : public Streams {
 protected:
  CallOutcome update(std::string_view expected, std::string_view becomes, std::uint64_t offset = 512) {
    const UpdateCall head{.address = address(offset),
                          .compared = static_cast<std::uint32_t>(expected.size()),
                          .bytes = static_cast<std::uint32_t>(becomes.size())};
    const std::string all = text_of(bytes_of_object(head)) + std::string(expected) + std::string(becomes);
    return call(kernels::kUpdate, bytes_of(all));
  }
  [[nodiscard]] bool is_updated() const {
    UpdateAnswer a{};
    const std::string text = scene.answer();
    EXPECT_GE(text.size(), sizeof a);
    std::memcpy(&a, text.data(), sizeof a);
    EXPECT_EQ(text.size(), sizeof a + a.bytes);
    return a.is_updated != 0;
  }
  [[nodiscard]] std::string before() const { return scene.answer().substr(sizeof(UpdateAnswer)); }
  [[nodiscard]] std::string there(std::size_t bytes) const { return text_of(scene.memory().bytes.subspan(512, bytes)); }
};

TEST_P(Updates, HappenIfTheRecordIsAsExpected) {
  std::memcpy(in_server<char>(512), "version 1, some words and more", 30);
  ASSERT_EQ(update("version 1", "version 2, other words, and no more"), CallOutcome::success);
  EXPECT_TRUE(is_updated());
  EXPECT_EQ(before(), "version 1");
  EXPECT_EQ(there(35), "version 2, other words, and no more");
  ASSERT_EQ(update("version 1", "version 3, too late"), CallOutcome::success);
  EXPECT_FALSE(is_updated());
  EXPECT_EQ(before(), "version 2");
  EXPECT_EQ(there(35), "version 2, other words, and no more");
  ASSERT_EQ(update("", "whatever was there"), CallOutcome::success);
  EXPECT_TRUE(is_updated());
}

TEST_P(Updates, ThatMakeNoSenseChangeNothing) {
  std::memset(in_server<char>(512), 'x', 64);
  EXPECT_EQ(update("more than it", "becomes"), CallOutcome::failed);
  EXPECT_EQ(update("", ""), CallOutcome::failed);
  EXPECT_EQ(call(kernels::kUpdate, UpdateCall{.address = address(512), .compared = 0, .bytes = 8}), CallOutcome::failed)
      << "nothing follows";
  EXPECT_EQ(call(kernels::kUpdate, UpdateCall{.address = address(512), .compared = ~0U, .bytes = 1}),
            CallOutcome::failed);
  EXPECT_EQ(update("", "beyond the end", scene.memory().bytes.size() - 4), CallOutcome::denied);
  EXPECT_EQ(there(64), std::string(64, 'x'));
}

const auto kDialects = testing::Values(nic::Dialect::roce, nic::Dialect::srnic);
const auto kDialectName = [](const auto& i) { return i.param == nic::Dialect::roce ? "Roce" : "Srnic"; };
INSTANTIATE_TEST_SUITE_P(Dialects, Streams, kDialects, kDialectName);
INSTANTIATE_TEST_SUITE_P(Dialects, Updates, kDialects, kDialectName);

}  // namespace
}  // namespace weft::test
