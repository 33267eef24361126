// Every verb once through the public interface: what it does to memory, and what its completions say.
#include <cstring>

#include "pair.h"

namespace weft::test {
namespace {

std::uint64_t word(const Side& side, std::size_t offset) {
  std::uint64_t value = 0;
  std::memcpy(&value, &side.memory[offset], 8);
  return value;
}
void set_word(Side& side, std::size_t offset, std::uint64_t value) { std::memcpy(&side.memory[offset], &value, 8); }

TEST(Verbs, SendArrivesInTheReceive) {
  Pair p;
  p.a.fill(0, 3000, 1);
  must(p.b.qp.post_receive({.id = 9, .local = p.b.region.sge(4096, 4096)}));
  const Completion done = p.carry_out({.id = 5, .local = p.a.region.sge(0, 3000)});
  EXPECT_TRUE(done.ok());
  EXPECT_EQ(done.kind, CompletionKind::send);
  EXPECT_EQ(done.qpn, p.a.qp.qpn());

  const auto got = p.b.drain();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_TRUE(got[0].ok());
  EXPECT_EQ(got[0].id, 9U);
  EXPECT_EQ(got[0].kind, CompletionKind::receive);
  EXPECT_EQ(got[0].bytes, 3000U);
  EXPECT_EQ(got[0].immediate, std::nullopt);
  EXPECT_LT(got[0].when, done.when);
  EXPECT_EQ(p.b.copy(4096, 3000), p.a.copy(0, 3000));
}

TEST(Verbs, SendWithImmediateCarriesItsWord) {
  Pair p;
  must(p.b.qp.post_receive({.id = 9, .local = p.b.region.sge()}));
  EXPECT_TRUE(p.carry_out({.verb = Verb::send_immediate, .immediate = 0xCAFE'F00D}).ok());
  const auto got = p.b.drain();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].bytes, 0U);
  EXPECT_EQ(got[0].immediate, 0xCAFE'F00DU);
}

TEST(Verbs, WriteNeedsNobodyAtTheOtherEnd) {
  Pair p;
  p.a.fill(0, 5000, 2);
  const Completion done =
      p.carry_out({.verb = Verb::write, .local = p.a.region.sge(0, 5000), .remote = p.b.region.remote(100)});
  EXPECT_TRUE(done.ok());
  EXPECT_EQ(done.kind, CompletionKind::write);
  EXPECT_EQ(p.b.copy(100, 5000), p.a.copy(0, 5000));
  EXPECT_EQ(p.b.cq.waiting(), 0U);
}

TEST(Verbs, WriteWithImmediateTellsThePeer) {
  Pair p;
  p.a.fill(0, 2000, 3);
  must(p.b.qp.post_receive({.id = 4}));
  EXPECT_TRUE(p.carry_out({.verb = Verb::write_immediate,
                           .local = p.a.region.sge(0, 2000),
                           .remote = p.b.region.remote(),
                           .immediate = 11})
                  .ok());
  const auto got = p.b.drain();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].kind, CompletionKind::receive_write_immediate);
  EXPECT_EQ(got[0].immediate, 11U);
  EXPECT_EQ(got[0].bytes, 2000U);
  EXPECT_EQ(p.b.copy(0, 2000), p.a.copy(0, 2000));
}

TEST(Verbs, ReadFetches) {
  Pair p;
  p.b.fill(0, 6000, 4);
  const Completion done =
      p.carry_out({.verb = Verb::read, .local = p.a.region.sge(0, 6000), .remote = p.b.region.remote()});
  EXPECT_EQ(done.kind, CompletionKind::read);
  EXPECT_EQ(done.bytes, 6000U);
  EXPECT_EQ(p.a.copy(0, 6000), p.b.copy(0, 6000));
}

TEST(Verbs, CompareAndSwapSwapsWhatItExpects) {
  Pair p;
  set_word(p.b, 64, 10);
  const WorkRequest work{.verb = Verb::compare_swap,
                         .local = p.a.region.sge(0, 8),
                         .remote = p.b.region.remote(64),
                         .compare = 10,
                         .swap = 20};
  EXPECT_EQ(p.carry_out(work).kind, CompletionKind::compare_swap);
  EXPECT_EQ(word(p.a, 0), 10U);
  EXPECT_EQ(word(p.b, 64), 20U);
  EXPECT_TRUE(p.carry_out(work).ok());  // 20 is not what it expects now
  EXPECT_EQ(word(p.a, 0), 20U);
  EXPECT_EQ(word(p.b, 64), 20U);
}

TEST(Verbs, FetchAndAddAdds) {
  Pair p;
  set_word(p.b, 8, 100);
  const WorkRequest work{
      .verb = Verb::fetch_add, .local = p.a.region.sge(0, 8), .remote = p.b.region.remote(8), .add = 23};
  EXPECT_EQ(p.carry_out(work).kind, CompletionKind::fetch_add);
  EXPECT_EQ(word(p.a, 0), 100U);
  EXPECT_EQ(word(p.b, 8), 123U);
}

TEST(Verbs, AWindowOfTypeOneOpensAndCloses) {
  Pair p;
  Window window = must(p.a.domain.create_window(WindowType::one));
  const WindowBinding binding = window.onto(p.a.region, 1000, 500, Access::remote_write);
  EXPECT_EQ(p.carry_out({.verb = Verb::bind_window, .bind = binding}).kind, CompletionKind::bind_window);
  EXPECT_TRUE(window.bound());
  EXPECT_EQ(window.key(), binding.new_key);
  EXPECT_EQ(error_of(p.a.region.close()), Error::busy);

  p.b.fill(0, 500, 5);
  must(p.b.qp.post({.verb = Verb::write,
                    .local = p.b.region.sge(0, 500),
                    .remote = {.address = p.a.region.address() + 1000, .key = window.key()}}));
  EXPECT_TRUE(p.sim.run());
  EXPECT_TRUE(p.b.drain().at(0).ok());
  EXPECT_EQ(p.a.copy(1000, 500), p.b.copy(0, 500));

  EXPECT_TRUE(p.carry_out({.verb = Verb::bind_window, .bind = window.onto_nothing()}).ok());
  EXPECT_FALSE(window.bound());
}

TEST(Verbs, AWindowOfTypeTwoIsClosedByItsOwnerOrByThePeer) {
  Pair p;
  Window window = must(p.a.domain.create_window(WindowType::two));
  const auto open = [&] {
    return p.carry_out(
        {.verb = Verb::bind_window, .bind = window.onto(p.a.region, 0, 64, Access::remote_read | Access::zero_based)});
  };
  EXPECT_TRUE(open().ok());
  EXPECT_TRUE(p.carry_out({.verb = Verb::local_invalidate, .invalidate = window.key()}).ok());
  EXPECT_FALSE(window.bound());

  EXPECT_TRUE(open().ok());
  p.a.fill(0, 64, 6);
  must(
      p.b.qp.post({.verb = Verb::read, .local = p.b.region.sge(0, 64), .remote = {.address = 0, .key = window.key()}}));
  must(p.a.qp.post_receive({.id = 8, .local = p.a.region.sge(128, 64)}));
  must(p.b.qp.post(
      {.verb = Verb::send_invalidate, .local = p.b.region.sge(64, 10), .fence = true, .invalidate = window.key()}));
  EXPECT_TRUE(p.sim.run());
  EXPECT_EQ(p.b.drain().size(), 2U);
  EXPECT_EQ(p.b.copy(0, 64), p.a.copy(0, 64));
  const auto got = p.a.drain();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].invalidated, window.key());
  EXPECT_FALSE(window.bound());
}

TEST(Verbs, UnreliableConnectionsSendAndWrite) {
  Pair p(Service::uc);
  p.a.fill(0, 3000, 7);
  must(p.b.qp.post_receive({.id = 1, .local = p.b.region.sge(0, 3000)}));
  must(p.b.qp.post_receive({.id = 2}));
  EXPECT_TRUE(p.carry_out({.local = p.a.region.sge(0, 3000)}).ok());
  EXPECT_TRUE(p.carry_out({.verb = Verb::write_immediate,
                           .local = p.a.region.sge(0, 3000),
                           .remote = p.b.region.remote(4096),
                           .immediate = 3})
                  .ok());
  const auto got = p.b.drain();
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[1].immediate, 3U);
  EXPECT_EQ(p.b.copy(0, 3000), p.a.copy(0, 3000));
  EXPECT_EQ(p.b.copy(4096, 3000), p.a.copy(0, 3000));
}

TEST(Verbs, DatagramsSayWhoSentThem) {
  Pair p(Service::ud);
  p.a.fill(0, 1000, 8);
  must(p.b.qp.post_receive({.id = 1, .local = p.b.region.sge(0, 2000)}));
  const AddressHandle path = must(p.a.domain.create_address_handle({.destination = p.b.device.address()}));
  EXPECT_TRUE(p.carry_out({.verb = Verb::send_immediate,
                           .local = p.a.region.sge(0, 1000),
                           .immediate = 77,
                           .to = {.path = path, .qpn = p.b.qp.qpn(), .qkey = Qkey(7)}})
                  .ok());
  const auto got = p.b.drain();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].bytes, 1000U + kGrhBytes);
  EXPECT_EQ(got[0].source_qpn, p.a.qp.qpn());
  EXPECT_EQ(got[0].immediate, 77U);
  EXPECT_TRUE(got[0].has_grh);
  EXPECT_EQ(p.b.copy(kGrhBytes, 1000), p.a.copy(0, 1000));
}

TEST(Verbs, ScatterGatherAndInline) {
  Pair p;
  p.a.fill(0, 600, 9);
  const std::array<Sge, 3> from{p.a.region.sge(0, 100), p.a.region.sge(100, 200), p.a.region.sge(300, 300)};
  const std::array<Sge, 2> into{p.b.region.sge(0, 50), p.b.region.sge(50, 1000)};
  must(p.b.qp.post_receive({.local = into}));
  EXPECT_TRUE(p.carry_out({.local = from}).ok());
  EXPECT_EQ(p.b.copy(0, 600), p.a.copy(0, 600));

  // Inline: the buffer is the caller's again when post returns.
  std::vector<std::byte> words{std::byte{1}, std::byte{2}, std::byte{3}};
  const std::array<Bytes, 2> pieces{Bytes(words).first(2), Bytes(words).last(1)};
  must(p.a.qp.post({.id = 1, .verb = Verb::write, .remote = p.b.region.remote(2000), .inline_data = words}));
  must(p.a.qp.post({.id = 2, .verb = Verb::write, .remote = p.b.region.remote(2010), .inline_data = pieces}));
  const std::vector<std::byte> expected = words;
  words.assign(3, std::byte{0});
  EXPECT_TRUE(p.sim.run());
  EXPECT_EQ(p.a.drain().size(), 2U);
  EXPECT_EQ(p.b.copy(2000, 3), expected);
  EXPECT_EQ(p.b.copy(2010, 3), expected);
}

// StaR, with either side stateless.
TEST(Verbs, GoBetweenRolesToo) {
  for (const StarRole role : {StarRole::stateless, StarRole::stateful}) {
    Simulation sim({.device = kSmall});
    Side a(sim), b(sim);
    sim.connect();
    const StarRole other = role == StarRole::stateless ? StarRole::stateful : StarRole::stateless;
    a.qp = must(a.domain.create_queue_pair({.limits = kLimits, .send_cq = &a.cq, .role = role}));
    b.qp = must(b.domain.create_queue_pair({.limits = kLimits, .send_cq = &b.cq, .role = other}));
    must(connect(a.qp, b.qp, {.min_rnr_timer = 1, .ack_timeout = 6}));
    a.fill(0, 5000, 2);
    must(b.qp.post_receive({.id = 9, .local = b.region.sge(8192, 4096)}));
    must(a.qp.post({.id = 1, .verb = Verb::write, .local = a.region.sge(0, 5000), .remote = b.region.remote(100)}));
    must(a.qp.post({.id = 2, .local = a.region.sge(0, 3000)}));
    EXPECT_TRUE(sim.run(Duration::seconds(10)));
    const auto done = a.drain(), got = b.drain();
    ASSERT_EQ(done.size(), 2U);
    ASSERT_EQ(got.size(), 1U);
    EXPECT_TRUE(done[0].ok() && done[1].ok() && got[0].ok());
    EXPECT_EQ(b.copy(100, 5000), a.copy(0, 5000));
    EXPECT_EQ(b.copy(8192, 3000), a.copy(0, 3000));
  }
}

TEST(Verbs, AStatelessQueuePairHasNoSharedReceiveQueue) {
  Simulation sim({.device = kSmall});
  Side side(sim);
  const SharedReceiveQueue srq = must(side.domain.create_shared_receive_queue({}));
  EXPECT_EQ(error_of(side.domain.create_queue_pair(
                {.limits = kLimits, .send_cq = &side.cq, .srq = &srq, .role = StarRole::stateless})),
            Error::not_supported);
}

TEST(Verbs, UnsignalledWorkIsSilent) {
  Pair p;
  must(p.a.qp.post(
      {.id = 1, .verb = Verb::write, .local = p.a.region.sge(0, 8), .remote = p.b.region.remote(), .signaled = false}));
  EXPECT_TRUE(
      p.carry_out({.id = 2, .verb = Verb::write, .local = p.a.region.sge(0, 8), .remote = p.b.region.remote()}).ok());
  EXPECT_EQ(p.a.cq.waiting(), 0U);
}

TEST(Verbs, ARefusalSaysWhichRuleWasBroken) {
  Pair p;
  const Completion done = p.carry_out(
      {.verb = Verb::write, .local = p.a.region.sge(0, 8), .remote = {.address = 0, .key = Key(0x1234'5678)}});
  EXPECT_EQ(done.status, CompletionStatus::remote_access);
  EXPECT_EQ(text(done.status), "remote access error");
  EXPECT_TRUE(static_cast<bool>(done.reason));
  EXPECT_EQ(done.reason.name(), "peer_access_error");
  EXPECT_FALSE(done.reason.meaning().empty());
  EXPECT_EQ(p.a.qp.state(), QpState::error);
  EXPECT_EQ(p.a.qp.broken_by(), done.reason);
  EXPECT_EQ(p.b.device.counter("mem_key_unknown"), 1U);
}

}  // namespace
}  // namespace weft::test
