// Calls that are refused, each with its error, and change nothing.
#include "pair.h"

namespace weft::test {
namespace {

TEST(Refusals, ObjectsOfAnotherDevice) {
  Pair p;
  EXPECT_EQ(error_of(p.a.domain.create_queue_pair({.send_cq = &p.b.cq})), Error::invalid_argument);
  EXPECT_EQ(error_of(p.a.domain.create_queue_pair({.send_cq = &p.a.cq, .receive_cq = &p.b.cq})),
            Error::invalid_argument);
  SharedReceiveQueue srq = must(p.b.domain.create_shared_receive_queue());
  EXPECT_EQ(error_of(p.a.domain.create_queue_pair({.send_cq = &p.a.cq, .srq = &srq})), Error::invalid_argument);
  CompletionChannel channel = must(p.b.device.create_completion_channel());
  EXPECT_EQ(error_of(p.a.device.create_completion_queue(4, &channel)), Error::invalid_argument);
  EXPECT_EQ(error_of(p.a.region.reregister({.domain = &p.b.domain})), Error::invalid_argument);
  EXPECT_EQ(error_of(p.a.domain.create_queue_pair({})), Error::invalid_argument);  // none at all
}

TEST(Refusals, ASharedReceiveQueueOfAnotherDomain) {
  Pair p;
  Domain other = must(p.a.device.create_domain());
  SharedReceiveQueue srq = must(other.create_shared_receive_queue());
  EXPECT_EQ(error_of(p.a.domain.create_queue_pair({.send_cq = &p.a.cq, .srq = &srq})), Error::wrong_domain);
}

TEST(Refusals, MoreThanTheLimits) {
  Pair p;
  const DeviceLimits limits = p.a.device.limits();
  EXPECT_EQ(limits.max_queue_pairs, kSmall.max_queue_pairs);
  EXPECT_EQ(limits.max_regions, kSmall.max_regions);
  const auto create = [&](const QueuePairLimits& l) {
    return error_of(p.a.domain.create_queue_pair({.limits = l, .send_cq = &p.a.cq}));
  };
  EXPECT_EQ(create({.send_entries = limits.max_queue_entries + 1}), Error::limit_exceeded);
  EXPECT_EQ(create({.receive_sges = limits.max_sges + 1}), Error::limit_exceeded);
  EXPECT_EQ(create({.inline_bytes = limits.max_inline_bytes + 1}), Error::limit_exceeded);
  EXPECT_EQ(create({.send_entries = limits.max_queue_entries, .send_sges = limits.max_sges}), std::nullopt);
  EXPECT_EQ(error_of(p.a.device.create_completion_queue(limits.max_completion_entries + 1)), Error::limit_exceeded);
  EXPECT_EQ(error_of(p.a.device.create_completion_queue(0)), Error::invalid_argument);
  EXPECT_EQ(error_of(p.a.domain.create_shared_receive_queue({.entries = 0})), Error::invalid_argument);
}

TEST(Refusals, AllRegionsThatFitAndNotOneMore) {
  Simulation sim({.device = kSmall});
  Device device = sim.add_device();
  Domain domain = must(device.create_domain());
  std::vector<std::byte> memory(8);
  std::vector<Region> regions;
  for (std::uint32_t i = 0; i < kSmall.max_regions; ++i) regions.push_back(must(domain.register_memory(memory)));
  EXPECT_EQ(error_of(domain.register_memory(memory)), Error::table_full);
  regions.pop_back();
  EXPECT_TRUE(domain.register_memory(memory));
}

TEST(Refusals, MemoryThatIsNone) {
  Pair p;
  EXPECT_EQ(error_of(p.a.domain.register_memory({})), Error::invalid_argument);
  // Who may be written to from afar must be writable at home.
  EXPECT_EQ(error_of(p.a.domain.register_memory(p.a.memory, Access::remote_write)), Error::invalid_argument);
  EXPECT_EQ(error_of(p.a.domain.register_memory(p.a.memory, {.access = Access::none, .address = UINT64_MAX})),
            Error::invalid_argument);
}

TEST(Refusals, WorkThatNoQueuePairTakes) {
  Pair p;
  const Sge word = p.a.region.sge(0, 8);
  const std::vector<Sge> five(5, word), many(33, word);
  EXPECT_EQ(error_of(p.a.qp.post({.local = five})), Error::invalid_argument);
  EXPECT_EQ(error_of(p.a.qp.post({.local = many})), Error::invalid_argument);
  EXPECT_EQ(error_of(p.a.qp.post_receive({.local = many})), Error::invalid_argument);
  EXPECT_EQ(error_of(p.a.qp.post({.verb = Verb::fetch_add, .local = p.a.region.sge(0, 4)})), Error::invalid_argument);
  const std::vector<std::byte> bytes(65);
  EXPECT_EQ(error_of(p.a.qp.post({.inline_data = bytes})), Error::invalid_argument);
  EXPECT_EQ(error_of(p.a.qp.post({.verb = Verb::read, .inline_data = Bytes(bytes).first(8)})), Error::invalid_argument);
  // Both ways to say where the bytes are.
  EXPECT_EQ(error_of(p.a.qp.post({.local = word, .inline_data = Bytes(bytes).first(8)})), Error::invalid_argument);
  EXPECT_EQ(p.sim.network().sent, 0U);
}

TEST(Refusals, VerbsThatAServiceDoesNotHave) {
  Pair uc(Service::uc), ud(Service::ud);
  for (const Verb verb : {Verb::read, Verb::compare_swap, Verb::fetch_add, Verb::send_invalidate}) {
    EXPECT_EQ(error_of(uc.a.qp.post({.verb = verb, .local = uc.a.region.sge(0, 8)})), Error::invalid_argument)
        << text(verb);
  }
  for (const Verb verb : {Verb::write, Verb::read, Verb::bind_window, Verb::local_invalidate}) {
    EXPECT_EQ(error_of(ud.a.qp.post({.verb = verb, .to = ud.to_b()})), Error::invalid_argument) << text(verb);
  }
  // A datagram to nowhere: no IPv4 address leads to that.
  EXPECT_EQ(error_of(ud.a.qp.post({.to = {.path = {.destination = Address{{0xFE, 0x80}}}}})), Error::invalid_argument);
  EXPECT_EQ(error_of(ud.a.domain.create_address_handle({.destination = Address{{0xFE, 0x80}}})),
            Error::invalid_argument);
  EXPECT_EQ(error_of(ud.a.domain.create_address_handle({.destination = ud.b.device.address(), .gid_index = 1})),
            Error::invalid_argument);
}

TEST(Refusals, AFullQueueTakesNoMoreUntilItHasRoom) {
  Pair p;
  const WorkRequest work{.verb = Verb::write, .local = p.a.region.sge(0, 8), .remote = p.b.region.remote()};
  for (std::uint32_t i = 0; i < p.a.qp.limits().send_entries; ++i) must(p.a.qp.post(work));
  EXPECT_EQ(error_of(p.a.qp.post(work)), Error::queue_full);
  EXPECT_TRUE(p.sim.run());
  EXPECT_EQ(p.a.drain().size(), p.a.qp.limits().send_entries);
  EXPECT_TRUE(p.a.qp.post(work));
  for (std::uint32_t i = 0; i < p.a.qp.limits().receive_entries; ++i) must(p.a.qp.post_receive({}));
  EXPECT_EQ(error_of(p.a.qp.post_receive({})), Error::queue_full);
}

TEST(Refusals, EveryErrorHasItsSentence) {
  std::vector<std::string_view> seen;
  for (int e = static_cast<int>(Error::invalid_argument); e <= static_cast<int>(Error::closed); ++e) {
    const std::string_view sentence = text(static_cast<Error>(e));
    EXPECT_GT(sentence.size(), 5U);
    EXPECT_THAT(seen, testing::Not(testing::Contains(sentence)));
    seen.push_back(sentence);
  }
  EXPECT_EQ(text(static_cast<Error>(200)), "unknown error");
  EXPECT_EQ(text(static_cast<Verb>(200)), "?");
  EXPECT_EQ(Reason(250).name(), "unknown");
  EXPECT_FALSE(Reason());
}

TEST(Refusals, NamesOfThingsForPeople) {
  EXPECT_EQ(text(Verb::write_immediate), "WRITE with immediate");
  EXPECT_EQ(text(QpState::ready_to_send), "RTS");
  EXPECT_EQ(text(CompletionKind::receive), "receive");
  EXPECT_EQ(text(Event::sq_drained), "send queue drained");
  EXPECT_EQ(text(Address::v4(10, 0, 0, 1)), "10.0.0.1");
  EXPECT_EQ(text(Address{{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x12, 0x34}}), "fe80:0:0:0:0:0:0:1234");
  EXPECT_TRUE(Address::v4(1, 2, 3, 4).is_v4());
  EXPECT_FALSE(Address{}.is_v4());
}

}  // namespace
}  // namespace weft::test
