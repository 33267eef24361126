// Long messages between lanes on one host are copied once, from the sender's memory to the receiver's, where the kernel
// does that. Where it does not, and when the memory is the sender's program's again, they are not.
#include <bit>
#include <chrono>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lanes.h"
#include "world/real/shm/copy_choice.h"
#include "world/real/shm/peer_memory.h"

namespace weft::real {
namespace {

using nic::Counter;
using nic::Status;

constexpr wire::Address kHere = wire::Address::v4(127, 0, 3, 9);
constexpr std::uint32_t kBytes = 64 * 1024;
constexpr std::uint64_t kThere = 500'000;

struct Pair {
  explicit Pair(OneCopy of_a = OneCopy::on, OneCopy of_b = OneCopy::on) : a(settings(of_a)), b(settings(of_b)) {
    qa = a.make_qp();
    qb = b.make_qp();
    a.connect(*qa, kHere, qb->qpn());
    b.connect(*qb, kHere, qa->qpn());
    for (std::size_t i = 0; i < a.memory.size(); ++i) a.memory[i] = static_cast<std::byte>(i * 7 + i / 4096);
  }
  static Settings settings(OneCopy one_copy) {
    Settings s;
    s.addresses = {kHere};
    s.wire = WireChoice::shm;
    s.one_copy = one_copy;
    s.max_qps = 64;
    return s;
  }
  void write(std::uint64_t from = 0, std::uint32_t bytes = kBytes) {
    a.write(*qa, from, bytes, kThere, b.key);
    ASSERT_EQ(a.wait().status, Status::success);
    ASSERT_TRUE(b.holds(kThere, a.memory.data() + from, bytes));
  }
  template <class What>
  static std::uint64_t count(TestLane& of, What what) {
    const std::lock_guard guard(of.lane.lock());
    return of.lane.device().card().counters.get(what);
  }
  [[nodiscard]] std::uint64_t fetched() { return count(b, Counter::one_copy_fetches); }

  TestLane a, b;
  host::QueuePair *qa = nullptr, *qb = nullptr;
};

TEST(OneCopy, IsMadeOfLongMessagesOnceTheReceiverHasTried) {
  Pair p;
  p.write();  // by this the receiver learns that somebody sends long messages
  for (std::uint32_t i = 1; i <= 4; ++i) {
    p.write(i * 4096);
    EXPECT_EQ(p.fetched(), i);
  }
  p.write(0, 300'000);
  EXPECT_GE(p.fetched(), 6U);
  const std::uint64_t before = p.fetched();
  p.write(0, 16 * 1024);
  EXPECT_EQ(p.fetched(), before) << "short ones are quicker through the ring";
}

// Left to choose, the receiver times the ring first, and one copy after that. What it chooses is the machine's.
TEST(OneCopy, IsTriedByAReceiverThatMayChoose) {
  Pair p(OneCopy::measured, OneCopy::measured);
  constexpr std::uint64_t kTrial = CopyChoice::kSample * CopyChoice::kSamples / kBytes;  // messages
  for (std::uint64_t i = 0; i < kTrial / 2; ++i) p.write();
  EXPECT_EQ(p.fetched(), 0U) << "the ring has its turn";
  for (std::uint64_t i = 0; i < 4 * kTrial && p.fetched() == 0; ++i) p.write();
  EXPECT_GT(p.fetched(), 0U) << "one copy has not been tried";
}

TEST(OneCopy, IsMadeOfWhatIsRead) {
  Pair p;
  for (int i = 0; i < 3; ++i) {
    {
      const std::lock_guard guard(p.b.lane.lock());
      const nic::Sge sge{kThere, kBytes, p.b.key};
      ASSERT_EQ(p.qb->post_send({.kind = nic::WorkKind::read, .sges = {&sge, 1}, .remote_key = p.a.key}),
                host::Error::none);
      p.b.lane.rang();
    }
    ASSERT_EQ(p.b.wait().status, Status::success);
    EXPECT_EQ(std::memcmp(p.a.memory.data(), p.b.memory.data() + kThere, kBytes), 0);
  }
  EXPECT_GE(p.fetched(), 1U);
}

TEST(OneCopy, IsNotMadeIfEitherSideWantsNone) {
  for (const auto& [sender, receiver] : {std::pair{OneCopy::off, OneCopy::on}, std::pair{OneCopy::on, OneCopy::off}}) {
    Pair p(sender, receiver);
    for (int i = 0; i < 4; ++i) p.write(i);
    EXPECT_EQ(p.fetched(), 0U);
  }
}

// Memory that its owner can read and the kernel does not hand to others.
TEST(OneCopy, GivesWayToTwoWhereMemoryCannotBeRead) {
#ifdef SYS_memfd_secret
  const auto fd = static_cast<int>(syscall(SYS_memfd_secret, 0));
  if (fd < 0 || ftruncate(fd, kBytes) != 0) GTEST_SKIP() << "no secret memory here";
  void* secret = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (secret == MAP_FAILED) GTEST_SKIP() << "no secret memory here";
  std::memset(secret, 0x5A, kBytes);
  {
    Pair p;
    // The second one, or a later one if the receiver was kept from its processor: then the window is narrow.
    for (int i = 0; i < 50 && p.fetched() == 0; ++i) p.write();
    ASSERT_EQ(p.fetched(), 1U);
    wire::Key key{};
    {
      const std::lock_guard guard(p.a.lane.lock());
      key = *p.a.lane.device().register_region(
          p.a.domain, {.memory = static_cast<std::byte*>(secret), .length = kBytes, .address = 0, .rights = {}});
      const nic::Sge sge{0, kBytes, key};
      ASSERT_EQ(p.qa->post_send(
                    {.kind = nic::WorkKind::write, .sges = {&sge, 1}, .remote_address = kThere, .remote_key = p.b.key}),
                host::Error::none);
      p.a.lane.rang();
    }
    EXPECT_EQ(p.a.wait().status, Status::success);
    EXPECT_TRUE(p.b.holds(kThere, secret, kBytes));
    EXPECT_EQ(Pair::count(p.b, Refusal::payload_gone), 1U);
    p.write();
    EXPECT_EQ(p.fetched(), 1U) << "nothing more is left in a memory that could not be read";
  }
  munmap(secret, kBytes);
#else
  GTEST_SKIP() << "no secret memory here";
#endif
}

// The receiver is held up, and then finds four.
TEST(OneCopy, IsMadeOfSeveralWritesWithOneCall) {
  Pair p;
  const auto post_four = [&] {
    for (std::uint32_t i = 0; i < 4; ++i) p.a.write(*p.qa, i * 4096, kBytes, kThere + i * kBytes, p.b.key);
  };
  const auto end_four = [&] {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    std::size_t ended = 0;
    while (ended < 4 && std::chrono::steady_clock::now() < until) {
      for (const nic::Completion& done : p.a.poll()) {
        EXPECT_EQ(done.status, Status::success);
        ++ended;
      }
    }
    ASSERT_EQ(ended, 4U);
  };
  for (int i = 0; i < 8; ++i) {  // the window to a peer begins with less than four
    post_four();
    end_four();
  }
  const std::uint64_t calls = Pair::count(p.b, Counter::one_copy_calls), fetched = p.fetched();
  {
    const std::lock_guard held(p.b.lane.lock());
    post_four();
    EXPECT_TRUE(p.a.poll().empty());  // what was posted in a burst leaves with this
  }
  end_four();
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(p.b.holds(kThere + i * kBytes, p.a.memory.data() + i * 4096, kBytes)) << i;
  }
  EXPECT_EQ(p.fetched() - fetched, 4U);
  EXPECT_EQ(Pair::count(p.b, Counter::one_copy_calls) - calls, 1U);
}

// The receiver is held up, and meanwhile the sender's program gets its memory back.
TEST(OneCopy, IsNotMadeOfMemoryThatIsTheProgramsAgain) {
  Pair p;
  p.write();
  p.write();
  {
    const std::lock_guard held(p.b.lane.lock());
    const nic::Sge sge{kThere, kBytes, p.b.key};
    ASSERT_EQ(p.qb->post_receive({.id = 2, .sges = {&sge, 1}}), host::Error::none);
    const std::lock_guard guard(p.a.lane.lock());
    const nic::Sge from{0, kBytes, p.a.key};
    ASSERT_EQ(p.qa->post_send({.kind = nic::WorkKind::send, .sges = {&from, 1}}), host::Error::none);
    p.a.lane.rang();
    host::QpAttributes error;
    error.state = nic::QpState::error;
    ASSERT_EQ(p.qa->modify(error, host::QpMask::state), host::Error::none);
    p.a.lane.rang();
    std::vector<nic::Completion> done(1);
    ASSERT_EQ(p.a.cq->poll(done), 1U);
    EXPECT_EQ(done[0].status, Status::flushed);
    std::memset(p.a.memory.data(), 0xEE, kBytes);
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (Pair::count(p.b, Refusal::payload_gone) == 0 && std::chrono::steady_clock::now() < until) {
    EXPECT_TRUE(p.b.poll().empty());
  }
  EXPECT_EQ(Pair::count(p.b, Refusal::payload_gone), 1U);
  EXPECT_TRUE(p.b.poll().empty());
}

TEST(PeerMemory, IsReadOnlyOfTheProgramThatIsMeant) {
  std::uint64_t token = 0x1234'5678'9ABC'DEF0;
  const std::uint64_t data = 42;
  const PeerMemory::Token right{.process = getpid(), .address = std::bit_cast<std::uint64_t>(&token), .value = token};
  std::uint64_t seen = 0, also = 0;
  PeerReads reads, good_and_bad, bad;
  const auto add = [](PeerReads& to, std::uint64_t& target, std::uint64_t from) {
    ASSERT_TRUE(to.add(static_cast<std::byte*>(static_cast<void*>(&target)), from, sizeof target));
  };
  const auto from = std::bit_cast<std::uint64_t>(&data);
  constexpr std::uint64_t kNothing = 8;  // lies there
  add(reads, seen, from);
  add(bad, also, kNothing);
  add(good_and_bad, also, from);
  add(good_and_bad, seen, kNothing);
  EXPECT_TRUE(PeerMemory(right).is_there());
  EXPECT_EQ(PeerMemory(right).read(reads), 1U);
  EXPECT_EQ(seen, data);
  EXPECT_EQ(PeerMemory(right).read(bad), 0U);
  EXPECT_EQ(PeerMemory(right).read(good_and_bad), 1U);
  EXPECT_EQ(also, data);
  PeerMemory::Token other = right;
  other.value += 1;
  EXPECT_FALSE(PeerMemory(other).is_there());
  EXPECT_EQ(PeerMemory(other).read(reads), 0U);
  EXPECT_FALSE(PeerMemory().is_there());
  // Its number was right a while ago, and may be somebody else's by now.
  PeerMemory known(right);
  EXPECT_EQ(known.read(reads), 1U);
  token = ~token;
  EXPECT_TRUE(eventually([&] { return known.read(reads) == 0; }));
}

}  // namespace
}  // namespace weft::real
