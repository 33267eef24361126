// Kernels that this host's own program calls: what they may reach, what they send, how they end, and in which order.
#include "kernels/local_scene.h"

namespace weft::test {
namespace {

using nic::CallOutcome;
using nic::KernelEvent;
using nic::KernelNext;
using nic::KernelSent;
using nic::KernelStep;
using nic::KernelTarget;
using nic::Status;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kLocalOp = 0x10CA1;

class LocalCallsOf : public testing::TestWithParam<nic::Dialect> {
 protected:
  void deploy(KernelNext (*step)(KernelStep&), std::uint32_t most_steps = 1000, std::uint32_t instances = 4) {
    ASSERT_EQ(scene.card().deploy({.opcode = kLocalOp,
                                   .name = "test",
                                   .step = step,
                                   .state_bytes = 64,
                                   .most_steps = most_steps,
                                   .instances = instances}),
              host::Error::none);
  }
  CallOutcome call(std::string_view parameters = {}) { return scene.call_and_run(kLocalOp, bytes_of(parameters)); }
  [[nodiscard]] Node& peer() { return scene.bed.node(1); }

  LocalScene scene{speaking(GetParam())};
};

KernelNext say_again(KernelStep& s) { return s.reply(s.input, s.input_bytes) ? KernelNext::done : KernelNext::failed; }

// ---- calls, and their memory

TEST_P(LocalCallsOf, AKernelAnswerIntoTheProgramsMemory) {
  deploy([](KernelStep& s) { return s.is_local ? say_again(s) : KernelNext::failed; });
  EXPECT_EQ(call("to oneself"), CallOutcome::success);
  EXPECT_EQ(scene.answer(), "to oneself");
  EXPECT_EQ(peer().counted(nic::Counter::rcvd_pkts), 0U) << "nothing leaves";
}

TEST_P(LocalCallsOf, WhatIsNotThereAreToldSo) {
  EXPECT_EQ(call(), CallOutcome::no_such_kernel);
  EXPECT_EQ(scene.own().counted(Refusal::kernel_unknown), 1U);
  ASSERT_EQ(scene.card().deploy({.opcode = nic::kAnyOpcode, .name = "any", .step = &say_again}), host::Error::none);
  EXPECT_EQ(call("fallback"), CallOutcome::success);
}

TEST_P(LocalCallsOf, AKernelHaveTheRightsOfThePrograms) {
  const auto write_word = +[](KernelStep& s) {
    std::uint64_t address = 0;
    std::memcpy(&address, s.input, sizeof address);
    return s.write(address, "kernelly", 8) ? KernelNext::done : KernelNext::failed;
  };
  deploy(write_word);
  const auto at = [&](std::uint64_t address) { return call(text_of(bytes_of_object(address))); };
  EXPECT_EQ(at(scene.address(64)), CallOutcome::success) << "whatever the peer may do";
  EXPECT_EQ(text_of(scene.own().bytes({64, 8})), "kernelly");
  EXPECT_EQ(at(scene.address(scene.own().arena.bytes.size() - 7)), CallOutcome::denied);
  // Memory of another domain; memory that is not to be written.
  const auto other = scene.card().create_domain();
  const sim::Memory foreign = scene.own().host.allocate(*other, 4096, nic::Rights::local_write);
  const sim::Memory fixed = scene.own().host.allocate(scene.own().domain, 4096, nic::Rights::remote_read);
  for (const sim::Memory* m : {&foreign, &fixed}) {
    const nic::Fragment where{bytes_of_object(m->address).data(), 8};
    const nic::CallHead answer{scene.address(kAnswers), scene.own().arena.key.raw(), 1024, 0, 0};
    ASSERT_EQ(scene.post(0, {.opcode = kLocalOp, .key = m->key, .answer = answer, .parameters = std::span(&where, 1)}),
              host::Error::none);
    ASSERT_TRUE(scene.bed.run());
    EXPECT_THAT(scene.done(), SizeIs(1));
    EXPECT_EQ(scene.head().outcome, CallOutcome::denied);
  }
  EXPECT_EQ(scene.own().counted(Refusal::key_wrong_domain), 1U);
  EXPECT_EQ(scene.own().counted(Refusal::key_no_permission), 1U);
}

TEST_P(LocalCallsOf, AKernelEndInTheOrderOfPosting) {
  deploy([](KernelStep& s) {
    auto& left = nic::state_of<std::uint64_t>(s);
    if (s.event == KernelEvent::call) std::memcpy(&left, s.input, sizeof left);
    return left-- == 0 ? KernelNext::done : KernelNext::again;
  });
  for (const std::uint64_t steps : {900U, 0U, 100U, 1U}) {
    const std::uint64_t parameter = steps;
    ASSERT_EQ(scene.call({.id = steps, .opcode = kLocalOp, .parameters = bytes_of_object(parameter)}),
              host::Error::none);
  }
  ASSERT_TRUE(scene.bed.run());
  std::vector<std::uint64_t> ids;
  for (const auto& c : scene.done()) ids.push_back(c.id);
  EXPECT_THAT(ids, ElementsAre(900, 0, 100, 1));
}

TEST_P(LocalCallsOf, AKernelThatMisbehavesEndAndTheCardGoesOn) {
  deploy([](KernelStep&) { return KernelNext::again; }, 5000);
  EXPECT_EQ(call(), CallOutcome::stopped);
  deploy([](KernelStep& s) {
    const std::byte much[1024] = {};
    return s.reply(much, sizeof much) ? KernelNext::done : KernelNext::again;
  });
  EXPECT_EQ(call(), CallOutcome::too_long);
  deploy([](KernelStep&) { return KernelNext::retry; });
  EXPECT_EQ(call(), CallOutcome::failed) << "nothing was full";
  deploy(&say_again);
  EXPECT_EQ(scene.call_and_run(kLocalOp, bytes_of("no room"), 0), CallOutcome::none);
  EXPECT_EQ(call("well"), CallOutcome::success);
}

TEST_P(LocalCallsOf, AKernelWithoutAnInstanceFreeAreToldSo) {
  deploy([](KernelStep&) { return KernelNext::wait; }, 10, 1);
  EXPECT_EQ(call(), CallOutcome::success) << "it waits for payload, and keeps its instance";
  auto other = scene.bed.connect(scene.own(), {.local_calls = 1}, peer(), {});
  scene.ways.push_back(other);
  ASSERT_EQ(scene.call({.opcode = kLocalOp, .answer = 2048, .way = 1}), host::Error::none);
  ASSERT_TRUE(scene.bed.run());
  EXPECT_EQ(scene.head(2048).outcome, CallOutcome::busy);
}

// ---- payload

KernelNext ordered_sum_of_payload(KernelStep& s) {
  auto& total = nic::state_of<std::uint64_t>(s);
  if (s.event == KernelEvent::call) return s.reply(&total, sizeof total) ? KernelNext::wait : KernelNext::failed;
  for (std::uint32_t i = 0; i < s.input_bytes; ++i) total = total * 31 + std::to_integer<unsigned>(s.input[i]);
  if (s.last) total = total * 31 + 1;
  return KernelNext::wait;
}

TEST_P(LocalCallsOf, AStreamHaveWhatTheProgramHasFedItInOrder) {
  deploy(&ordered_sum_of_payload);
  const std::vector<Piece> pieces{{0, 5000}, {6000, 3}, {9000, 0}, {100, 4097}};
  ASSERT_EQ(scene.payload(7, kLocalOp, pieces), host::Error::none);
  ASSERT_EQ(scene.payload(8, kLocalOp, Piece{0, 0}), host::Error::none);
  ASSERT_TRUE(scene.bed.run());
  EXPECT_THAT(scene.done(), SizeIs(2));
  std::uint64_t expected = 0;
  for (const Piece& p : pieces) {
    for (const std::byte b : scene.own().bytes(p)) expected = expected * 31 + std::to_integer<unsigned>(b);
  }
  expected = (expected * 31 + 1) * 31 + 1;
  EXPECT_EQ(call(), CallOutcome::success);
  EXPECT_EQ(scene.answer(), text_of(bytes_of_object(expected)));
}

TEST_P(LocalCallsOf, AStreamThatFailedAreToldSo) {
  deploy([](KernelStep& s) { return s.event == KernelEvent::call ? KernelNext::done : KernelNext::failed; });
  ASSERT_EQ(scene.payload(7, kLocalOp, Piece{0, 9000}), host::Error::none);
  ASSERT_TRUE(scene.bed.run());
  EXPECT_THAT(scene.done(), SizeIs(1));
  EXPECT_EQ(call(), CallOutcome::failed);
  EXPECT_EQ(call(), CallOutcome::success) << "another one";
}

// ---- what kernels send

// Sends what it is fed, piece by piece, behind each other; the parameters say where.
struct Forward {
  KernelTarget to;
  std::uint32_t piece = 0;
};
KernelNext forward(KernelStep& s) {
  auto& f = nic::state_of<Forward>(s);
  if (s.event == KernelEvent::call) {
    if (s.input_bytes == 0) return KernelNext::done;
    std::memcpy(&f, s.input, sizeof f);
    return KernelNext::wait;
  }
  while (s.taken != s.input_bytes) {
    const std::uint32_t bytes = std::min(f.piece, s.input_bytes - s.taken);
    const KernelSent sent = s.send(f.to, s.input + s.taken, bytes);
    if (sent != KernelSent::sent) return sent == KernelSent::full ? KernelNext::retry : KernelNext::failed;
    f.to.address += bytes;
    s.taken += bytes;
  }
  return KernelNext::wait;
}

TEST_P(LocalCallsOf, AKernelSendWhatTheyAreFedToThePeer) {
  deploy(&forward, 10'000);
  for (const std::uint32_t piece : {4096U, 1000U, 64U}) {  // more than may be under way at once
    std::ranges::fill(peer().bytes({8192, 20'000}), std::byte{0});
    const Forward parameters{{peer().arena.address + 8192, peer().arena.key.raw(), 0}, piece};
    EXPECT_EQ(scene.call_with(kLocalOp, parameters), CallOutcome::success);
    ASSERT_EQ(scene.payload(7, kLocalOp, Piece{100, 20'000}), host::Error::none);
    EXPECT_EQ(scene.call({.opcode = kLocalOp}), host::Error::none);
    ASSERT_TRUE(scene.bed.run());
    EXPECT_THAT(scene.done(), SizeIs(2));
    EXPECT_TRUE(std::ranges::equal(peer().bytes({8192, 20'000}), scene.own().bytes({100, 20'000}))) << piece;
  }
  EXPECT_THAT(drain(peer()), IsEmpty());
}

TEST_P(LocalCallsOf, AKernelCompleteWhenAllItHasSentIsThere) {
  deploy([](KernelStep& s) {
    KernelTarget to;
    std::memcpy(&to, s.input, sizeof to);
    return s.send(to, "arrived!", 8) == KernelSent::sent ? KernelNext::done : KernelNext::failed;
  });
  const KernelTarget to{peer().arena.address, peer().arena.key.raw(), scene.qpn(0)};
  ASSERT_EQ(scene.call({.opcode = kLocalOp, .parameters = bytes_of_object(to)}), host::Error::none);
  for (Time until = scene.bed.now(); scene.head().outcome == CallOutcome::none && until < seconds(1);)
    (void)scene.bed.run(until += nanoseconds(100));
  EXPECT_EQ(text_of(peer().bytes({0, 8})), "arrived!");
  ASSERT_TRUE(scene.bed.run());
  EXPECT_THAT(scene.done(), SizeIs(1));
}

// The program's own queue is as long as it was, however much kernels send.
TEST_P(LocalCallsOf, AKernelLeaveTheProgramItsPlacesInTheSendQueue) {
  deploy(&forward, 10'000);
  const Forward parameters{{peer().arena.address, peer().arena.key.raw(), 0}, 16};
  EXPECT_EQ(scene.call_with(kLocalOp, parameters), CallOutcome::success);
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_EQ(scene.payload(i, kLocalOp, Piece{0, 4096}), host::Error::none);
  for (std::uint64_t i = 0; i < 64; ++i) {
    ASSERT_EQ(scene.ways[0].a.post({.id = i, .kind = nic::WorkKind::write, .local = {{0, 64}}, .remote = 30'000}),
              host::Error::none)
        << i;
  }
  ASSERT_TRUE(scene.bed.run());
  EXPECT_THAT(scene.done(), SizeIs(67));
}

TEST_P(LocalCallsOf, AKernelSendOnQueuePairsOfTheirDomainThatAreMadeForItAlone) {
  deploy([](KernelStep& s) {
    KernelTarget to;
    std::memcpy(&to, s.input, sizeof to);
    const std::byte much[5000] = {};
    return s.send(to, much, to.key) == KernelSent::sent ? KernelNext::done : KernelNext::failed;
  });
  const auto way = [&](std::uint32_t qpn, std::uint32_t bytes) {
    return scene.call_with(kLocalOp, KernelTarget{0, bytes, qpn});
  };
  const auto plain = scene.bed.connect(scene.own(), {}, peer(), {});
  host::QueuePair& idle = scene.own().create_qp({.local_calls = 1});
  const auto domain = scene.card().create_domain();
  const auto elsewhere =
      scene.card().create_qp(*domain, {.send_cq = scene.own().cq, .receive_cq = scene.own().cq, .local_calls = 1});
  ASSERT_TRUE(elsewhere.has_value());
  EXPECT_EQ(way(0xABCDE, 8), CallOutcome::denied) << "there is none";
  EXPECT_EQ(way(plain.a.qp().qpn().raw(), 8), CallOutcome::denied) << "it has no places for that";
  EXPECT_EQ(way(idle.qpn().raw(), 8), CallOutcome::denied) << "it is not connected";
  EXPECT_EQ(way((*elsewhere)->qpn().raw(), 8), CallOutcome::denied) << "another domain's";
  EXPECT_EQ(way(0, 4097), CallOutcome::denied) << "too much at once";
  EXPECT_EQ(scene.own().counted(Refusal::kernel_no_way), 5U);
}

TEST_P(LocalCallsOf, PeersAreNotServedByTheQueuePairAndTheirKernelsDoNotSend) {
  LocalScene other(speaking(GetParam()), {.qp = {.may_call = true}});
  const Endpoint& calling = other.ways[0].b;
  ASSERT_EQ(calling.post({.id = 3, .kind = nic::WorkKind::rpc, .local = {{0, 64}}, .opcode = kLocalOp}),
            host::Error::none);
  ASSERT_TRUE(other.bed.run());
  EXPECT_EQ(other.own().counted(Refusal::kernel_off), 1U);

  CallScene served(speaking(GetParam()), {}, {.local_calls = 2});
  served.clear_answers();
  (void)served.card().deploy({.opcode = kLocalOp, .step = +[](KernelStep& s) {
                                return s.send({}, "x", 1) == KernelSent::sent ? KernelNext::done : KernelNext::failed;
                              }});
  ASSERT_EQ(served.call({.opcode = kLocalOp}), host::Error::none);
  ASSERT_TRUE(served.bed.run());
  EXPECT_EQ(served.head().outcome, CallOutcome::denied);
}

TEST_P(LocalCallsOf, AKernelThatSendsWithoutEndAreStopped) {
  deploy(
      [](KernelStep& s) {
        auto& to = nic::state_of<KernelTarget>(s);
        if (s.event == KernelEvent::call && s.input_bytes == sizeof to) std::memcpy(&to, s.input, sizeof to);
        const KernelSent sent = s.send(to, "again", 5);
        return sent == KernelSent::full ? KernelNext::retry : KernelNext::again;
      },
      500);
  EXPECT_EQ(scene.call_with(kLocalOp, KernelTarget{peer().arena.address, peer().arena.key.raw(), 0}),
            CallOutcome::stopped);
  deploy(&say_again);
  EXPECT_EQ(call("goes on"), CallOutcome::success);
}

// ---- what breaks

TEST_P(LocalCallsOf, AKernelAreToldOfAQueuePairThatBreaksUnderWhatTheyHaveSent) {
  LocalScene two(speaking(GetParam()), {.peers = 2});
  (void)two.card().deploy({.opcode = kLocalOp, .step = &forward, .state_bytes = 64, .instances = 1});
  Node& there = two.bed.node(2);
  const Forward wrong{{there.arena.address, there.arena.key.raw() + 1, two.qpn(1)}, 512};
  EXPECT_EQ(two.call_with(kLocalOp, wrong), CallOutcome::success);
  ASSERT_EQ(two.payload(7, kLocalOp, Piece{0, 60'000}), host::Error::none);  // it waits for room when the peer says no
  EXPECT_EQ(two.call({.id = 8, .opcode = kLocalOp, .answer = 64}), host::Error::none);
  ASSERT_TRUE(two.bed.run());
  EXPECT_EQ(two.ways[1].a.qp().state(), nic::QpState::error);
  EXPECT_EQ(two.ways[0].a.qp().state(), nic::QpState::rts) << "the call's own goes on";
  EXPECT_THAT(two.done(), SizeIs(2));
  EXPECT_THAT(two.head(64).outcome, testing::AnyOf(CallOutcome::denied, CallOutcome::undelivered));
}

TEST_P(LocalCallsOf, WhatWaitsForAQueuePairThatIsResetOrDestroyedIsToldSo) {
  for (const bool destroys : {false, true}) {
    LocalScene two(speaking(GetParam()), {.peers = 2, .local_calls = 1});
    (void)two.card().deploy(
        {.opcode = kLocalOp, .step = &forward, .state_bytes = 64, .most_steps = 500, .instances = 1});
    const Forward where{{two.bed.node(2).arena.address, two.bed.node(2).arena.key.raw(), two.qpn(1)}, 512};
    EXPECT_EQ(two.call_with(kLocalOp, where), CallOutcome::success);
    ASSERT_EQ(two.ways[1].a.go_to(nic::QpState::sqd), host::Error::none);  // what is sent stays
    ASSERT_EQ(two.payload(7, kLocalOp, Piece{0, 60'000}), host::Error::none);
    ASSERT_TRUE(two.bed.run());
    EXPECT_THAT(two.done(), IsEmpty()) << "it waits";
    host::QueuePair& qp = two.ways[1].a.qp();
    if (destroys) {
      ASSERT_EQ(two.card().destroy(&qp), host::Error::none);
      two.own().host.ring_doorbells();
    } else {
      ASSERT_EQ(two.ways[1].a.go_to(nic::QpState::reset), host::Error::none);
    }
    ASSERT_TRUE(two.bed.run());
    EXPECT_THAT(two.done(), SizeIs(1)) << "the payload: its stream has failed";
    EXPECT_EQ(two.call_and_run(kLocalOp, {}), CallOutcome::denied) << "and says that it may not send there";
  }
}

TEST_P(LocalCallsOf, AQueuePairThatBreaksOrIsResetComeBackFlushedOrNotAtAll) {
  deploy([](KernelStep&) { return KernelNext::again; }, 1'000'000);
  for (std::uint64_t id = 0; id < 3; ++id) ASSERT_EQ(scene.call({.id = id, .opcode = kLocalOp}), host::Error::none);
  EXPECT_EQ(scene.ways[0].a.go_to(nic::QpState::error), host::Error::none);
  ASSERT_TRUE(scene.bed.run());
  const auto all = scene.done();
  ASSERT_THAT(all, SizeIs(3));
  for (const auto& c : all) EXPECT_EQ(c.status, Status::flushed);
  ASSERT_EQ(scene.call({.id = 9, .opcode = kLocalOp}), host::Error::none) << "work in an error state is taken";
  ASSERT_TRUE(scene.bed.run());
  EXPECT_THAT(scene.done(), SizeIs(1));
  EXPECT_EQ(scene.ways[0].a.go_to(nic::QpState::reset), host::Error::none);
  EXPECT_EQ(scene.call({.opcode = kLocalOp}), host::Error::bad_state);
}

TEST_P(LocalCallsOf, WorkThatCannotBeDoneBreaksAsOtherWorkDoes) {
  struct Case {
    host::LocalRequest request;
    Status status;
    Refusal reason;
  };
  const nic::Sge beyond{scene.address(scene.own().arena.bytes.size() - 10), 64, scene.own().arena.key};
  const nic::Sge good = scene.own().arena.sge(0, 64);
  const nic::CallHead nowhere{.address = 16, .key = scene.own().arena.key.raw(), .room = 100};
  const Case cases[] = {
      {{.id = 5, .opcode = kLocalOp, .is_payload = true, .payload = {&beyond, 1}},
       Status::local_protection,
       Refusal::out_of_bounds},
      {{.id = 5, .opcode = kLocalOp + 1, .is_payload = true, .payload = {&good, 1}},
       Status::local_qp_operation,
       Refusal::kernel_unknown},
      {{.id = 5, .opcode = kLocalOp, .answer = nowhere}, Status::local_protection, Refusal::out_of_bounds}};
  for (const Case& c : cases) {
    LocalScene one(speaking(GetParam()));
    (void)one.card().deploy({.opcode = kLocalOp, .step = &ordered_sum_of_payload, .state_bytes = 64, .instances = 1});
    host::LocalRequest r = c.request;
    r.key = one.own().arena.key;
    ASSERT_EQ(one.post(0, r), host::Error::none);
    ASSERT_EQ(one.call({.id = 6, .opcode = kLocalOp}), host::Error::none);
    ASSERT_TRUE(one.bed.run());
    const auto all = one.done();
    ASSERT_THAT(all, SizeIs(2));
    EXPECT_EQ(all[0].status, c.status);
    EXPECT_EQ(all[0].reason, c.reason);
    EXPECT_EQ(all[1].status, Status::flushed);
    EXPECT_EQ(one.ways[0].a.context().broken_by, c.reason);
  }
}

// ---- what is refused when it is posted

TEST_P(LocalCallsOf, ThatMakeNoSenseAreRefusedWhenTheyArePosted) {
  EXPECT_EQ(scene.ways[0].b.qp().post_local_call({.opcode = kLocalOp}), host::Error::not_supported);
  const std::vector<std::byte> much(4097);
  EXPECT_EQ(scene.call({.opcode = kLocalOp, .parameters = much}), host::Error::limit_exceeded);
  EXPECT_EQ(scene.call({.opcode = kLocalOp, .room = 7}), host::Error::invalid_argument);
  const std::vector<Piece> many(33, Piece{0, 1});
  EXPECT_EQ(scene.payload(1, kLocalOp, many), host::Error::invalid_argument);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(scene.ways[0].a.qp().post_local_call({.opcode = kLocalOp}), host::Error::none);
  EXPECT_EQ(scene.ways[0].a.qp().post_local_call({.opcode = kLocalOp}), host::Error::queue_full);
  const auto made = [&](const host::QpOptions& o) {
    host::QpOptions options = o;
    options.send_cq = options.receive_cq = scene.own().cq;
    return scene.card().create_qp(scene.own().domain, options).error();
  };
  EXPECT_EQ(made({.local_calls = 1025}), host::Error::limit_exceeded);
  EXPECT_EQ(made({.service = wire::Service::uc, .local_calls = 1}), host::Error::not_supported);
  EXPECT_EQ(made({.service = wire::Service::ud, .local_calls = 1}), host::Error::not_supported);
}

TEST_P(LocalCallsOf, AKernelGoOnWithWhatTheyBeganWith) {
  deploy(&ordered_sum_of_payload);
  ASSERT_EQ(scene.payload(7, kLocalOp, Piece{0, 100}), host::Error::none);
  ASSERT_TRUE(scene.bed.run());
  (void)scene.done();
  deploy(&say_again);
  EXPECT_EQ(call("x"), CallOutcome::success);
  EXPECT_THAT(scene.answer(), SizeIs(8)) << "the stream's own kernel";
  ASSERT_EQ(scene.card().remove_kernel(kLocalOp), host::Error::none);
  EXPECT_EQ(call("x"), CallOutcome::success);
}

INSTANTIATE_TEST_SUITE_P(Dialects, LocalCallsOf, testing::Values(nic::Dialect::roce, nic::Dialect::srnic),
                         [](const auto& i) { return i.param == nic::Dialect::roce ? "Roce" : "Srnic"; });

}  // namespace
}  // namespace weft::test
