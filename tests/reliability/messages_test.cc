// Messages of every shape: none of a byte, inline, in many pieces, and as long as they may be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/bed.h"
#include "support/completions.h"

namespace weft::test {
namespace {

using nic::Counter;
using nic::Status;
using nic::WorkKind;
using testing::ElementsAre;
using wire::Service;

TEST(Message, OfNothingIsAMessage) {
  using enum WorkKind;
  struct Verbs {
    Service service;
    std::vector<WorkKind> kinds;
  };
  for (const Verbs& v : {Verbs{Service::rc, {send, send_immediate, write, write_immediate, read}},
                         Verbs{Service::uc, {send, send_immediate, write, write_immediate}},
                         Verbs{Service::ud, {send, send_immediate}}}) {
    for (const WorkKind kind : v.kinds) {
      for (const std::vector<Piece>& local : {std::vector<Piece>{}, std::vector<Piece>{{0, 0}}}) {
        Bed bed;
        auto [a, b] = bed.connect({.service = v.service});
        b.receive(9, {{0, 64}});
        a.post({.id = 1, .kind = kind, .local = local, .immediate = 7});
        ASSERT_TRUE(bed.run());
        EXPECT_THAT(results(drain(a.node())), ElementsAre(IdAndStatus(1, Status::success)));
        EXPECT_EQ(drain(b.node()).size(), kind == read || kind == write ? 0U : 1U);
      }
    }
  }
}

TEST(Message, OfNothingToNowhereNeedsNoKey) {
  for (const WorkKind kind : {WorkKind::write, WorkKind::read}) {
    Bed bed;
    auto [a, b] = bed.connect();
    a.post({.id = 1, .kind = kind, .remote = 1 << 30, .remote_key = wire::Key(0xDEAD)});
    ASSERT_TRUE(bed.run());
    EXPECT_THAT(results(drain(a.node())), ElementsAre(IdAndStatus(1, Status::success)));
  }
}

TEST(Message, InlineMayBeOverwrittenAtOnce) {
  for (const Service service : {Service::rc, Service::uc, Service::ud}) {
    BedSpec spec;
    spec.link.faults = {.count_world = true};
    if (service == Service::rc)
      spec.link.faults.script = {{sim::Fault::drop, 1}};  // and it is still there for a second try
    Bed bed(spec);
    auto [a, b] = bed.connect({.service = service});
    const std::uint64_t grh = service == Service::ud ? 40 : 0;
    b.receive(9, {{0, 300}});
    const std::vector<std::byte> before(a.node().arena.bytes.begin(), a.node().arena.bytes.begin() + 200);
    a.post({.id = 1, .kind = WorkKind::send, .local = {{0, 50}, {50, 150}}, .is_inline = true});
    fill(a.node().bytes({0, 200}), 999);
    ASSERT_TRUE(bed.run());
    EXPECT_TRUE(std::ranges::equal(b.node().bytes({grh, 200}), before));
  }
}

TEST(Message, InlineMayBeLongerThanAPacket) {
  Bed bed;
  auto [a, b] = bed.connect({.limits = {.inline_bytes = 1000}, .mtu = 256});
  a.post({.id = 1, .kind = WorkKind::write, .local = {{1, 999}}, .remote = 4096, .is_inline = true});
  ASSERT_TRUE(bed.run());
  EXPECT_TRUE(std::ranges::equal(b.node().bytes({4096, 999}), a.node().bytes({1, 999})));
}

// Pieces of odd lengths at odd places, that do not follow each other.
std::vector<Piece> many_pieces(std::uint64_t from, std::uint32_t least, std::uint32_t step) {
  constexpr std::uint32_t kCount = 32;
  std::vector<Piece> pieces;
  for (std::uint32_t i = 0; i < kCount; ++i) pieces.push_back({from + 300 * (i * 7 % kCount), least + i * step % 131});
  return pieces;
}
std::vector<std::byte> gathered(const Node& node, const std::vector<Piece>& pieces) {
  std::vector<std::byte> all;
  for (const Piece& p : pieces) all.insert(all.end(), node.bytes(p).begin(), node.bytes(p).end());
  return all;
}

TEST(Message, IsGatheredAndScatteredInThirtyTwoPieces) {
  for (const WorkKind kind : {WorkKind::send, WorkKind::write, WorkKind::read}) {
    Bed bed;
    auto [a, b] = bed.connect({.limits = {.send_sges = 32, .receive_sges = 32}, .mtu = 256});
    const std::vector<Piece> from = many_pieces(1, 0, 37), to = many_pieces(20'003, 30, 41);
    b.receive(9, to);
    a.post({.id = 1, .kind = kind, .local = from, .remote = 50'000});
    ASSERT_TRUE(bed.run());
    ASSERT_THAT(results(drain(a.node())), ElementsAre(IdAndStatus(1, Status::success)));
    const std::vector<std::byte> message = gathered(a.node(), from);
    const auto size = static_cast<std::uint32_t>(message.size());
    std::vector<std::byte> arrived =
        gathered(b.node(), kind == WorkKind::send ? to : std::vector<Piece>{{50'000, size}});
    ASSERT_GE(arrived.size(), message.size());
    arrived.resize(message.size());
    EXPECT_EQ(arrived, message);
  }
}

TEST(Message, FillsNoMoreThanTheWindow) {
  BedSpec spec;
  spec.card.window_packets = 8;
  Bed bed(spec);
  auto [a, b] = bed.connect({.mtu = 256});
  a.post({.id = 1, .kind = WorkKind::write, .local = {{0, 5000}}, .remote = 8192});
  bed.world().run_until(microseconds(1));  // before the first acknowledgement
  EXPECT_EQ(a.node().counted(Counter::sent_pkts), 8U);
  ASSERT_TRUE(bed.run());
  EXPECT_EQ(a.node().counted(Counter::sent_pkts), 20U);
  EXPECT_EQ(a.node().counted(Counter::local_ack_timeout_err), 0U);
}

// srnic asks for ACKs by PSN, not by place in the message.
TEST(Message, IsAcknowledgedEverySoManyPackets) {
  BedSpec spec = speaking(nic::Dialect::roce);
  spec.card.acknowledge_every = 5;
  Bed bed(spec);
  auto [a, b] = bed.connect({.mtu = 256});
  a.post({.id = 1, .kind = WorkKind::write, .local = {{0, 20 * 256}}, .remote = 8192});
  ASSERT_TRUE(bed.run());
  EXPECT_EQ(b.node().counted(Counter::acks_sent), 4U);
}

// A gap is told once, at once, and the next one again: nothing waits for a timeout.
TEST(Message, WithGapsIsNakedOncePerGap) {
  BedSpec spec = speaking(nic::Dialect::roce);
  spec.link.faults = {.count_world = true, .script = {{sim::Fault::drop, 3}, {sim::Fault::drop, 25}}};
  Bed bed(spec);
  auto [a, b] = bed.connect({.mtu = 256});
  for (std::uint64_t gaps = 1; gaps <= 2; ++gaps) {
    a.post({.id = gaps, .kind = WorkKind::write, .local = {{0, 10 * 256}}, .remote = 8192});
    ASSERT_TRUE(bed.run());
    EXPECT_THAT(results(drain(a.node())), ElementsAre(IdAndStatus(gaps, Status::success)));
    EXPECT_EQ(a.node().counted(Counter::rcvd_seq_err), gaps);
  }
  EXPECT_EQ(a.node().counted(Counter::local_ack_timeout_err), 0U);
}

// However wide the window and however seldom acknowledgements are asked for, the sender never waits for one in vain.
TEST(Message, NeedsNoTimeoutInAWideWindow) {
  BedSpec spec;
  spec.card.window_packets = 2048;
  spec.card.acknowledge_every = 255;
  spec.arena_bytes = 2 << 20;
  Bed bed(spec);
  auto [a, b] = bed.connect({.mtu = 256});
  a.post({.id = 1, .kind = WorkKind::write, .local = {{0, 1 << 20}}, .remote = 1 << 20});
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(results(drain(a.node())), ElementsAre(IdAndStatus(1, Status::success)));
  EXPECT_EQ(a.node().counted(Counter::local_ack_timeout_err), 0U);
}

// Two gigabytes of address space onto the same few megabytes of memory, again and again.
class FoldedMemory {
 public:
  static constexpr std::size_t kBytes = std::size_t{1} << 31, kFold = std::size_t{1} << 24;

  FoldedMemory() {
    const int file = ::memfd_create("folded", 0);
    EXPECT_EQ(::ftruncate(file, kFold), 0);
    start_ =
        static_cast<std::byte*>(::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    for (std::size_t at = 0; at < kBytes; at += kFold) {
      void* got = ::mmap(start_ + at, kFold, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
      EXPECT_NE(got, MAP_FAILED);
    }
    ::close(file);
  }
  ~FoldedMemory() { ::munmap(start_, kBytes); }
  FoldedMemory(const FoldedMemory&) = delete;
  FoldedMemory& operator=(const FoldedMemory&) = delete;

  [[nodiscard]] std::byte* data() const { return start_; }
  [[nodiscard]] std::span<std::byte> fold() const { return {start_, kFold}; }

 private:
  std::byte* start_;
};

class LongestMessage : public testing::TestWithParam<WorkKind> {};
TEST_P(LongestMessage, HasTwoGibibytes) {
  constexpr std::uint32_t kLength = FoldedMemory::kBytes;
  BedSpec spec;
  spec.link = {.bits_per_second = 400'000'000'000, .delay = nanoseconds(100)};
  Bed bed(spec);
  auto [a, b] = bed.connect({.mtu = 4096, .psn = wire::Psn(0xFF'FF00)});
  const FoldedMemory here, there;
  fill(here.fold(), 1);
  fill(there.fold(), 2);
  const auto open = [](const Node& node, const FoldedMemory& memory) {
    return *node.device().register_region(node.domain, {memory.data(), FoldedMemory::kBytes, 1ULL << 32, kEveryRight});
  };
  const nic::Sge local{1ULL << 32, kLength, open(a.node(), here)}, remote{1ULL << 32, kLength, open(b.node(), there)};
  ASSERT_EQ(b.node().host.post(b.qp(), host::ReceiveRequest{.id = 2, .sges = {&remote, 1}}), host::Error::none);
  ASSERT_EQ(a.node().host.post(a.qp(), host::WorkRequest{.id = 1,
                                                         .kind = GetParam(),
                                                         .sges = {&local, 1},
                                                         .remote_address = remote.address,
                                                         .remote_key = remote.key}),
            host::Error::none);
  ASSERT_TRUE(bed.run());
  const auto log = drain(a.node());
  ASSERT_THAT(results(log), ElementsAre(IdAndStatus(1, Status::success)));
  EXPECT_EQ(log[0].bytes, kLength);
  EXPECT_TRUE(std::ranges::equal(here.fold(), there.fold()));
  const Node& source = GetParam() == WorkKind::read ? b.node() : a.node();
  EXPECT_EQ(source.counted(Counter::sent_bytes), kLength);
  EXPECT_EQ(source.counted(Counter::retransmitted_pkts), 0U);
}
INSTANTIATE_TEST_SUITE_P(EveryVerb, LongestMessage, testing::Values(WorkKind::send, WorkKind::write, WorkKind::read));

}  // namespace
}  // namespace weft::test
