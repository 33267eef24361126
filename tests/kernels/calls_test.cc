// What a call of a kernel promises: one answer, whatever it is; memory only through the gate; and a kernel that
// misbehaves harms nobody but its caller.
#include "kernels/scene.h"

namespace weft::test {
namespace {

using nic::CallOutcome;
using nic::Kernel;
using nic::KernelEvent;
using nic::KernelNext;
using nic::KernelStep;
using nic::Status;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kOp = 0xAB'CDEF'0123;

class Calls : public testing::TestWithParam<nic::Dialect> {
 protected:
  Calls() { scene.clear_answers(); }
  static BedSpec spec() { return speaking(GetParam()); }
  void deploy(KernelNext (*step)(KernelStep&), std::uint32_t state_bytes = 64, std::uint32_t most_steps = 1000) {
    ASSERT_EQ(scene.card().deploy({.opcode = kOp,
                                   .name = "test",
                                   .step = step,
                                   .state_bytes = state_bytes,
                                   .most_steps = most_steps,
                                   .instances = 4}),
              host::Error::none);
  }
  std::vector<nic::Completion> done() { return drain(scene.caller().node()); }
  // One call, which has its send completion, and the answer.
  CallOutcome call(std::string_view parameters = {}) {
    EXPECT_EQ(scene.call({.opcode = kOp, .parameters = bytes_of(parameters)}), host::Error::none);
    EXPECT_TRUE(scene.bed.run());
    const auto all = done();
    EXPECT_THAT(all, SizeIs(1));
    for (const auto& c : all) EXPECT_EQ(c.status, Status::success);
    return scene.head().outcome;
  }

  CallScene scene{spec()};
};

KernelNext echo(KernelStep& s) { return s.reply(s.input, s.input_bytes) ? KernelNext::done : KernelNext::failed; }

TEST_P(Calls, AnswerIntoTheCallersMemory) {
  deploy(&echo);
  EXPECT_EQ(call("how are you?"), CallOutcome::success);
  EXPECT_EQ(scene.answer(), "how are you?");
  EXPECT_THAT(drain(scene.server().node()), IsEmpty()) << "the server's program sees nothing of it";
}

TEST_P(Calls, OfAKernelThatIsNotThereAreAnsweredSo) {
  EXPECT_EQ(call(), CallOutcome::no_such_kernel);
  EXPECT_EQ(scene.refused(Refusal::kernel_unknown), 1U);
  deploy(&echo);
  EXPECT_EQ(call("now"), CallOutcome::success) << "the connection goes on";
}

// The fallback: it hears what it was called by, in calls and in streams, and kernels of their own come first.
TEST_P(Calls, OfAnOpcodeThatNobodyHasReachTheKernelForAny) {
  const auto tell_opcode = +[](KernelStep& s) {
    if (s.event == KernelEvent::payload) return KernelNext::wait;
    return s.reply(&s.opcode, sizeof s.opcode) ? KernelNext::done : KernelNext::failed;
  };
  ASSERT_EQ(scene.card().deploy({.opcode = nic::kAnyOpcode, .name = "any", .step = tell_opcode}), host::Error::none);
  EXPECT_EQ(call("who?"), CallOutcome::success);
  EXPECT_EQ(scene.answer(), text_of(bytes_of_object(kOp)));
  deploy(&echo);
  EXPECT_EQ(call("who?"), CallOutcome::success);
  EXPECT_EQ(scene.answer(), "who?");
  ASSERT_EQ(scene.card().remove_kernel(kOp), host::Error::none);
  for (const std::uint64_t opcode : {kOp, kOp + 1}) {  // two streams at once, of two op-codes
    ASSERT_EQ(scene.caller().post({.kind = nic::WorkKind::rpc_write, .local = {{0, 64}}, .opcode = opcode}),
              host::Error::none);
  }
  ASSERT_TRUE(scene.bed.run());
  (void)done();
  EXPECT_EQ(call(), CallOutcome::success);
  EXPECT_EQ(scene.answer(), text_of(bytes_of_object(kOp)));
  ASSERT_EQ(scene.card().remove_kernel(nic::kAnyOpcode), host::Error::none);
  EXPECT_EQ(call(), CallOutcome::no_such_kernel);
}

TEST_P(Calls, CompleteWithAReceiveIfTheyAskForIt) {
  deploy(&echo);
  ASSERT_EQ(scene.caller().receive(7, {{0, 0}}), host::Error::none);
  ASSERT_EQ(
      scene.call({.opcode = kOp, .parameters = bytes_of(std::string_view("ping")), .completes = true, .immediate = 99}),
      host::Error::none);
  ASSERT_TRUE(scene.bed.run());
  const auto all = done();
  ASSERT_THAT(all, SizeIs(2));
  const auto& received = all[0].kind == nic::CompletionKind::receive_write_immediate ? all[0] : all[1];
  EXPECT_EQ(received.id, 7U);
  EXPECT_EQ(received.bytes, 4U);
  EXPECT_EQ(received.immediate, 99U);
  EXPECT_EQ(scene.answer(), "ping");
}

TEST_P(Calls, WithoutRoomForAnAnswerHaveNone) {
  deploy([](KernelStep&) { return KernelNext::done; });
  ASSERT_EQ(scene.call({.opcode = kOp, .room = 0}), host::Error::none);
  ASSERT_TRUE(scene.bed.run());
  EXPECT_THAT(done(), SizeIs(1));
  EXPECT_EQ(scene.head().outcome, CallOutcome::none);
}

TEST_P(Calls, ThatAreNoCallsAreRefusedWhenTheyArePosted) {
  const Endpoint& a = scene.caller();
  EXPECT_EQ(a.post({.kind = nic::WorkKind::rpc, .local = {{0, 8}}}), host::Error::invalid_argument) << "no head";
  EXPECT_EQ(a.post({.kind = nic::WorkKind::rpc, .local = {{0, 1025}}}), host::Error::limit_exceeded) << "over the MTU";
  EXPECT_EQ(a.post({.kind = nic::WorkKind::reply, .local = {{0, 64}}}), host::Error::invalid_argument);
  EXPECT_EQ(a.post({.kind = nic::WorkKind::reply_immediate, .local = {{0, 64}}}), host::Error::invalid_argument);
  EXPECT_EQ(scene.server().post({.kind = nic::WorkKind::rpc, .local = {{0, 64}}}), host::Error::not_supported)
      << "nobody has said that the peer has kernels";
}

TEST_P(Calls, OfAQueuePairThatServesNoneFail) {
  CallScene other(spec());
  auto [a, b] = other.bed.connect({.may_call = true}, {});
  ASSERT_EQ(a.post({.id = 3, .kind = nic::WorkKind::rpc, .local = {{0, 64}}, .opcode = kOp}), host::Error::none);
  ASSERT_TRUE(other.bed.run());
  EXPECT_EQ(other.refused(Refusal::kernel_off), 1U);
  const auto all = drain(a.node());
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].status, Status::remote_invalid_request);
}

// ---- memory

// Reads eight bytes at the address that the parameters say, and answers them.
KernelNext read_word(KernelStep& s) {
  std::uint64_t address = 0;
  if (s.event == KernelEvent::data) return echo(s);
  std::memcpy(&address, s.input, sizeof address);
  return s.read(address, 8);
}
KernelNext write_word(KernelStep& s) {
  std::uint64_t address = 0;
  std::memcpy(&address, s.input, sizeof address);
  return s.write(address, "kernelly", 8) ? KernelNext::done : KernelNext::failed;
}
std::string as_text(std::uint64_t word) { return text_of(bytes_of_object(word)); }

TEST_P(Calls, ReadAndWriteWhatTheirKeyOpens) {
  deploy(&read_word);
  const std::uint64_t at = scene.memory().address + 64;
  EXPECT_EQ(call(as_text(at)), CallOutcome::success);
  EXPECT_EQ(scene.answer(), text_of(scene.memory().bytes.subspan(64, 8)));
  deploy(&write_word);
  EXPECT_EQ(call(as_text(at)), CallOutcome::success);
  EXPECT_EQ(std::memcmp(&scene.memory().bytes[64], "kernelly", 8), 0);
}

TEST_P(Calls, CannotLeaveWhatTheirKeyOpens) {
  const std::uint64_t end = scene.memory().address + scene.memory().bytes.size();
  for (const std::uint64_t at : {scene.memory().address - 1, end - 7, end, std::uint64_t{0}, ~std::uint64_t{0}}) {
    deploy(&read_word);
    EXPECT_EQ(call(as_text(at)), CallOutcome::denied) << at;
    deploy(&write_word);
    EXPECT_EQ(call(as_text(at)), CallOutcome::denied) << at;
  }
  EXPECT_EQ(scene.refused(Refusal::out_of_bounds), 10U);
}

TEST_P(Calls, HaveTheRightsOfTheirConnection) {
  CallScene other(spec(), {}, {.rights = nic::Rights::remote_read});
  other.clear_answers();
  ASSERT_EQ(other.card().deploy({.opcode = kOp, .step = &write_word}), host::Error::none);
  const std::string at = as_text(other.memory().address);
  ASSERT_EQ(other.call({.opcode = kOp, .parameters = bytes_of(at)}), host::Error::none);
  ASSERT_TRUE(other.bed.run());
  EXPECT_EQ(other.head().outcome, CallOutcome::denied);
  EXPECT_EQ(other.refused(Refusal::operation_not_allowed), 1U);
}

// ---- kernels that misbehave

TEST_P(Calls, OfAKernelWithoutEndAreStopped) {
  deploy([](KernelStep&) { return KernelNext::again; }, 0, 5000);
  EXPECT_EQ(call(), CallOutcome::stopped);
  EXPECT_EQ(scene.refused(Refusal::kernel_stopped), 1U);
  deploy(&echo);
  EXPECT_EQ(call("next"), CallOutcome::success);
}

TEST_P(Calls, WhoseAnswerIsTooLongAreToldSo) {
  deploy([](KernelStep& s) {
    std::byte much[1024] = {};
    (void)s.reply(much, sizeof much);
    return KernelNext::again;
  });
  EXPECT_EQ(call(), CallOutcome::too_long);
  const auto untouched = scene.caller().node().bytes({kAnswers + 1024, 1024});
  EXPECT_TRUE(std::ranges::all_of(untouched, [](std::byte b) { return b == std::byte{0}; }));
}

TEST_P(Calls, MayNotAddMoreThanAStepMay) {
  deploy([](KernelStep& s) {
    static std::byte much[KernelStep::kMostReply + 1];
    return s.reply(much, sizeof much) ? KernelNext::done : KernelNext::failed;
  });
  ASSERT_EQ(scene.call({.opcode = kOp, .room = 16 * 1024}), host::Error::none);
  ASSERT_TRUE(scene.bed.run());
  EXPECT_EQ(scene.head().outcome, CallOutcome::too_long);
}

TEST_P(Calls, ThatFailAreToldSo) {
  deploy([](KernelStep&) { return KernelNext::failed; });
  EXPECT_EQ(call(), CallOutcome::failed);
  deploy([](KernelStep&) { return static_cast<KernelNext>(1234); });
  EXPECT_EQ(call(), CallOutcome::failed) << "an answer that means nothing";
}

// ---- long answers, many calls

// Answers as many bytes as the parameters say: 0, 1, 2, ...
KernelNext count(KernelStep& s) {
  struct State {
    std::uint32_t left, next;
  };
  auto& state = nic::state_of<State>(s);
  if (s.event == KernelEvent::call) std::memcpy(&state.left, s.input, sizeof state.left);
  std::byte some[1000];
  const std::uint32_t n = std::min<std::uint32_t>(state.left, sizeof some);
  for (std::uint32_t i = 0; i < n; ++i) some[i] = static_cast<std::byte>(state.next++ * 7);
  state.left -= n;
  if (!s.reply(some, n)) return KernelNext::failed;
  return state.left == 0 ? KernelNext::done : KernelNext::again;
}
std::string counted(std::uint32_t n) {
  std::string all(n, '\0');
  for (std::uint32_t i = 0; i < n; ++i) all[i] = static_cast<char>(i * 7);
  return all;
}
std::string number(std::uint32_t n) { return text_of(bytes_of_object(n)); }

TEST_P(Calls, MayHaveLongAnswers) {
  deploy(&count);
  for (const std::uint32_t n : {0U, 1U, 1016U, 1017U, 4096U, 8192U, 8193U, 30'000U}) {
    const std::string parameters = number(n);
    scene.clear_answers();
    ASSERT_EQ(scene.call({.opcode = kOp, .parameters = bytes_of(parameters), .room = 32 * 1024}), host::Error::none);
    ASSERT_TRUE(scene.bed.run());
    EXPECT_EQ(scene.head().outcome, CallOutcome::success);
    EXPECT_TRUE(scene.answer() == counted(n)) << n;
    EXPECT_THAT(done(), SizeIs(1));
  }
}

TEST_P(Calls, BeyondWhatIsServedAtOnceWait) {
  deploy(&count);
  const std::string parameters = number(900);
  for (std::uint32_t i = 0; i < 20; ++i) {
    ASSERT_EQ(scene.call({.id = i, .opcode = kOp, .parameters = bytes_of(parameters), .answer = i * 1024}),
              host::Error::none);
  }
  ASSERT_TRUE(scene.bed.run());
  EXPECT_THAT(done(), SizeIs(20));
  for (std::uint32_t i = 0; i < 20; ++i) EXPECT_TRUE(scene.answer(i * 1024) == counted(900)) << i;
  EXPECT_GT(scene.refused(Refusal::kernel_busy), 0U);
}

// A program that fills its own half of the send queue leaves the other one to its card.
TEST_P(Calls, AreAnsweredBesideTheServersOwnWork) {
  deploy(&count);
  const std::string parameters = number(900);
  std::uint32_t posted = 0;
  while (
      scene.server().post(
          {.id = posted, .kind = nic::WorkKind::write, .local = {{0, 512}}, .remote = 16 * 1024, .signaled = false}) ==
      host::Error::none)
    ++posted;
  EXPECT_GE(posted, 64U) << "what was asked for";
  for (std::uint32_t i = 0; i < 8; ++i) {
    ASSERT_EQ(scene.call({.id = i, .opcode = kOp, .parameters = bytes_of(parameters), .answer = i * 1024}),
              host::Error::none);
  }
  ASSERT_TRUE(scene.bed.run());
  for (std::uint32_t i = 0; i < 8; ++i) EXPECT_TRUE(scene.answer(i * 1024) == counted(900)) << i;
}

// ---- streams

// Adds up the bytes of its payload; a call asks for the sum.
KernelNext sum(KernelStep& s) {
  auto& total = nic::state_of<std::uint64_t>(s);
  if (s.event == KernelEvent::call) return s.reply(&total, sizeof total) ? KernelNext::wait : KernelNext::failed;
  for (std::uint32_t i = 0; i < s.input_bytes; ++i) total += std::to_integer<unsigned>(s.input[i]);
  return KernelNext::wait;
}
std::uint64_t sum_of(std::span<const std::byte> bytes) {
  std::uint64_t total = 0;
  for (const std::byte b : bytes) total += std::to_integer<unsigned>(b);
  return total;
}

TEST_P(Calls, TakePayloadOfAnyLength) {
  deploy(&sum);
  std::uint64_t expected = 0;
  for (const std::uint32_t n : {0U, 1U, 1024U, 1025U, 20'000U}) {
    ASSERT_EQ(scene.caller().post({.kind = nic::WorkKind::rpc_write, .local = {{8192, n}}, .opcode = kOp}),
              host::Error::none);
    expected += sum_of(scene.caller().node().bytes({8192, n}));
  }
  ASSERT_TRUE(scene.bed.run());
  EXPECT_THAT(done(), SizeIs(5));
  EXPECT_EQ(call(), CallOutcome::success);
  std::uint64_t total = 0;
  ASSERT_THAT(scene.answer(), SizeIs(sizeof total));
  std::memcpy(&total, scene.answer().data(), sizeof total);
  EXPECT_EQ(total, expected);
}

TEST_P(Calls, OfAStreamThatHasFailedAreToldSo) {
  deploy([](KernelStep& s) {
    return s.event == KernelEvent::payload && s.offset >= 4096 ? KernelNext::failed : KernelNext::wait;
  });
  ASSERT_EQ(scene.caller().post({.kind = nic::WorkKind::rpc_write, .local = {{0, 8192}}, .opcode = kOp}),
            host::Error::none);
  ASSERT_EQ(scene.caller().post({.kind = nic::WorkKind::rpc_write, .local = {{0, 64}}, .opcode = kOp}),
            host::Error::none);
  ASSERT_TRUE(scene.bed.run());
  EXPECT_THAT(done(), SizeIs(2));
  EXPECT_EQ(call(), CallOutcome::failed) << "what came before it has failed";
  EXPECT_EQ(call(), CallOutcome::success) << "and a new stream begins";
}

TEST_P(Calls, OfAStreamThatEndsEarlyDropTheRest) {
  deploy([](KernelStep&) { return KernelNext::done; });
  ASSERT_EQ(scene.caller().post({.kind = nic::WorkKind::rpc_write, .local = {{0, 8192}}, .opcode = kOp}),
            host::Error::none);
  ASSERT_TRUE(scene.bed.run());
  EXPECT_THAT(done(), SizeIs(1));
  for (int i = 0; i < 8; ++i) EXPECT_EQ(call(), CallOutcome::success) << "every instance is free again";
}

// Who has no answer to come hears of it by a completion that names the reason. That breaks both queue pairs, as all
// work does that fails.
class CallsOfNoKernel : public Calls {
 protected:
  void expect_failed(std::uint64_t id) {
    ASSERT_TRUE(scene.bed.run());
    const auto all = done();
    ASSERT_THAT(all, SizeIs(2));
    EXPECT_EQ(all[0].id, id);
    EXPECT_EQ(all[0].status, Status::remote_operation);
    EXPECT_EQ(all[0].reason, Refusal::peer_no_kernel);
    EXPECT_EQ(all[1].status, Status::flushed) << "what was behind it";
    EXPECT_EQ(scene.refused(Refusal::kernel_unknown), 1U);
    EXPECT_EQ(scene.caller().qp().state(), nic::QpState::error);
    EXPECT_EQ(scene.server().qp().state(), nic::QpState::error);
  }
  void post_something_behind_it() const {
    ASSERT_EQ(scene.caller().post({.id = 99, .kind = nic::WorkKind::write, .local = {{0, 64}}}), host::Error::none);
  }
};

TEST_P(CallsOfNoKernel, PayloadCompletesWithTheReason) {
  for (const std::uint32_t bytes : {0U, 64U, 5000U}) {
    CallScene fresh(spec());
    ASSERT_EQ(fresh.caller().post({.id = 5, .kind = nic::WorkKind::rpc_write, .local = {{0, bytes}}, .opcode = kOp}),
              host::Error::none);
    ASSERT_TRUE(fresh.bed.run());
    const auto all = drain(fresh.caller().node());
    ASSERT_THAT(all, SizeIs(1)) << bytes;
    EXPECT_EQ(all[0].reason, Refusal::peer_no_kernel) << bytes;
  }
  ASSERT_EQ(scene.caller().post({.id = 5, .kind = nic::WorkKind::rpc_write, .local = {{0, 64}}, .opcode = kOp}),
            host::Error::none);
  post_something_behind_it();
  expect_failed(5);
}

TEST_P(CallsOfNoKernel, CallThatWantsNoAnswerCompletesWithTheReason) {
  ASSERT_EQ(scene.call({.id = 6, .opcode = kOp, .room = 0}), host::Error::none);
  post_something_behind_it();
  expect_failed(6);
}

TEST_P(CallsOfNoKernel, BothReachTheFallbackIfThereIsOne) {
  const auto take_all =
      +[](KernelStep& s) { return s.event == KernelEvent::call ? KernelNext::done : KernelNext::wait; };
  ASSERT_EQ(scene.card().deploy({.opcode = nic::kAnyOpcode, .name = "any", .step = take_all}), host::Error::none);
  ASSERT_EQ(scene.caller().post({.kind = nic::WorkKind::rpc_write, .local = {{0, 64}}, .opcode = kOp}),
            host::Error::none);
  ASSERT_EQ(scene.call({.opcode = kOp, .room = 0}), host::Error::none);
  ASSERT_TRUE(scene.bed.run());
  const auto all = done();
  ASSERT_THAT(all, SizeIs(2));
  for (const auto& c : all) EXPECT_EQ(c.status, Status::success);
}

// ---- deploying

TEST_P(Calls, EndWithTheKernelThatTheyBeganWith) {
  deploy(&sum);
  ASSERT_EQ(scene.caller().post({.kind = nic::WorkKind::rpc_write, .local = {{0, 512}}, .opcode = kOp}),
            host::Error::none);
  ASSERT_TRUE(scene.bed.run());
  (void)done();
  deploy(&echo);
  EXPECT_THAT(scene.card().kernels(), SizeIs(1));
  EXPECT_EQ(call(), CallOutcome::success);
  EXPECT_THAT(scene.answer(), SizeIs(8)) << "the sum: its stream had begun";
  ASSERT_EQ(scene.card().remove_kernel(kOp), host::Error::none);
  EXPECT_EQ(scene.card().remove_kernel(kOp), host::Error::invalid_argument);
  EXPECT_THAT(scene.card().kernels(), IsEmpty());
  EXPECT_EQ(call(), CallOutcome::success) << "it has not ended";
}

// Bug: whoever served calls was told of a send queue twice as long as it was, and of half of it had no use.
TEST_P(Calls, LeaveTheProgramTheSendQueueThatItIsToldOf) {
  const host::QueuePair& serving = scene.server().qp();
  const std::uint32_t entries = serving.options().limits.send_entries;
  for (std::uint32_t i = 0; i < entries; ++i) ASSERT_EQ(scene.server().post({.local = {{0, 1}}}), host::Error::none);
  EXPECT_EQ(scene.server().post({.local = {{0, 1}}}), host::Error::queue_full);
}

// Bug: whoever called again as soon as it saw the answer was told that the server was busy, each time: the answer's
// place there was free only when its ACK had come, which left behind the next call.
TEST_P(Calls, OneAfterTheOtherNeverFindTheServerBusy) {
  BedSpec slow = spec();
  slow.link.bits_per_second = 1'000'000'000;
  slow.turns_first = true;
  CallScene one(slow, {}, {.serves_calls = 1});
  ASSERT_EQ(one.card().deploy({.opcode = kOp, .step = &echo}), host::Error::none);
  for (std::uint64_t n = 0; n < 8; ++n) {
    one.clear_answers();
    ASSERT_EQ(one.call({.id = n, .opcode = kOp, .parameters = bytes_of("again")}), host::Error::none);
    // It is under way while the answer comes, and what is owed for that has to wait.
    ASSERT_EQ(one.caller().post({.id = n, .kind = nic::WorkKind::write, .local = {{8192, 1024}}, .remote = 8192}),
              host::Error::none);
    for (Time until = one.bed.now(); one.head().outcome == CallOutcome::none;) {
      (void)one.bed.run(until += nanoseconds(200));
    }
  }
  ASSERT_TRUE(one.bed.run());
  EXPECT_EQ(one.refused(Refusal::kernel_busy), 0U);
}

TEST_P(Calls, MayComeOnceThePeerIsKnown) {
  CallScene other(spec());
  auto [a, b] = other.bed.connect({.wants_to_call = true}, {.serves_calls = 2});
  const Step rpc{.kind = nic::WorkKind::rpc, .local = {{0, 64}}, .opcode = kOp};
  EXPECT_TRUE(a.qp().awaits_kernels());
  EXPECT_EQ(a.post(rpc), host::Error::not_supported);
  a.qp().learn_of_kernels(true);
  EXPECT_FALSE(a.qp().awaits_kernels());
  EXPECT_EQ(a.post(rpc), host::Error::none);
  ASSERT_EQ(a.go_to(nic::QpState::reset), host::Error::none);
  EXPECT_FALSE(a.qp().awaits_kernels()) << "it has no peer";
}

TEST_P(Calls, AreForgottenWithTheirQueuePair) {
  deploy(&sum);
  for (int i = 0; i < 8; ++i) {  // more than there are instances
    auto [a, b] = scene.bed.connect({.may_call = true}, {.serves_calls = 2});
    ASSERT_EQ(a.post({.kind = nic::WorkKind::rpc_write, .local = {{0, 64}}, .opcode = kOp}), host::Error::none);
    ASSERT_TRUE(scene.bed.run());
    ASSERT_EQ(b.go_to(i % 2 == 0 ? nic::QpState::error : nic::QpState::reset), host::Error::none);
    (void)scene.bed.run();
    EXPECT_THAT(done(), SizeIs(1)) << i;
  }
}

TEST(Kernels, ThatMakeNoSenseAreNotDeployed) {
  CallScene scene;
  EXPECT_EQ(scene.card().deploy({.opcode = 1}), host::Error::invalid_argument);
  EXPECT_EQ(scene.card().deploy({.opcode = 1, .step = &echo, .instances = 0}), host::Error::invalid_argument);
  EXPECT_EQ(scene.card().deploy({.opcode = 1, .step = &echo, .most_steps = 0}), host::Error::invalid_argument);
  EXPECT_EQ(scene.card().deploy({.opcode = 1, .step = &echo, .state_bytes = 2U << 20}), host::Error::limit_exceeded);
}

INSTANTIATE_TEST_SUITE_P(Dialects, Calls, testing::Values(nic::Dialect::roce, nic::Dialect::srnic),
                         [](const auto& i) { return i.param == nic::Dialect::roce ? "Roce" : "Srnic"; });
INSTANTIATE_TEST_SUITE_P(Dialects, CallsOfNoKernel, testing::Values(nic::Dialect::roce, nic::Dialect::srnic),
                         [](const auto& i) { return i.param == nic::Dialect::roce ? "Roce" : "Srnic"; });

}  // namespace
}  // namespace weft::test
