// A queue pair's way through its states, step by step, by mask and in one call.
#include "pair.h"

namespace weft::test {
namespace {

// Two sides whose queue pairs are in RESET.
struct Unconnected : Pair {
  explicit Unconnected(Service service = Service::rc) : Pair(service) {
    must(a.qp.to_reset());
    must(b.qp.to_reset());
  }
};

TEST(States, StepByStep) {
  Unconnected p;
  const Endpoint theirs = p.b.qp.endpoint();
  EXPECT_EQ(error_of(p.a.qp.post({})), Error::bad_state);
  EXPECT_EQ(error_of(p.a.qp.post_receive({})), Error::bad_state);
  must(p.a.qp.to_init({.access = Access::remote_write}));
  EXPECT_EQ(p.a.qp.state(), QpState::init);
  must(p.a.qp.post_receive({.id = 1}));
  must(p.a.qp.to_ready_to_receive({.path = {.peer = theirs.address, .hop_limit = 9},
                                   .peer_qpn = theirs.qpn,
                                   .receive_psn = theirs.psn,
                                   .mtu = 2048,
                                   .max_peer_reads = 3,
                                   .min_rnr_timer = 5}));
  EXPECT_EQ(p.a.qp.state(), QpState::ready_to_receive);
  must(p.a.qp.to_ready_to_send(
      {.send_psn = Psn(77), .ack_timeout = 8, .retry_count = 2, .rnr_retry = 1, .max_reads = 4}));
  const QpAttributes now = p.a.qp.query();
  EXPECT_EQ(now.state, QpState::ready_to_send);
  EXPECT_EQ(now.access, Access::remote_write);
  EXPECT_EQ(now.path.peer, theirs.address);
  EXPECT_EQ(now.path.hop_limit, 9);
  EXPECT_NE(now.path.udp_source_port, 0);
  EXPECT_EQ(now.peer_qpn, theirs.qpn);
  EXPECT_EQ(now.receive_psn, theirs.psn);
  EXPECT_EQ(now.send_psn, Psn(77));
  EXPECT_EQ(now.mtu, 2048);
  EXPECT_EQ(now.max_peer_reads, 3);
  EXPECT_EQ(now.min_rnr_timer, 5);
  EXPECT_EQ(now.ack_timeout, 8);
  EXPECT_EQ(now.retry_count, 2);
  EXPECT_EQ(now.rnr_retry, 1);
  EXPECT_EQ(now.max_reads, 4);
}

TEST(States, TransitionsThatDoNotExistAreRefused) {
  Unconnected p;
  EXPECT_EQ(error_of(p.a.qp.to_ready_to_send({})), Error::bad_transition);
  EXPECT_EQ(error_of(p.a.qp.to_ready_to_receive({})), Error::bad_transition);
  EXPECT_EQ(error_of(p.a.qp.to_send_queue_drained()), Error::bad_transition);
  EXPECT_EQ(error_of(p.a.qp.to_error()), Error::bad_transition);
  EXPECT_EQ(p.a.qp.state(), QpState::reset);
  EXPECT_TRUE(p.a.qp.to_reset());
}

TEST(States, MasksWithTooLittleOrTooMuchAreRefused) {
  Unconnected p;
  QpAttributes attributes{.state = QpState::init};
  EXPECT_EQ(error_of(p.a.qp.modify(attributes, QpMask::state)), Error::missing_attribute);
  const QpMask enough = QpMask::state | QpMask::pkey_index | QpMask::port | QpMask::access;
  EXPECT_EQ(error_of(p.a.qp.modify(attributes, enough | QpMask::mtu)), Error::extra_attribute);
  attributes.port = 2;
  EXPECT_EQ(error_of(p.a.qp.modify(attributes, enough)), Error::invalid_argument);
  attributes.port = 1;
  EXPECT_TRUE(p.a.qp.modify(attributes, enough));
}

TEST(States, ConnectIsAllOrNothing) {
  Unconnected p;
  EXPECT_EQ(error_of(p.a.qp.connect(p.b.qp.endpoint(), {.mtu = 1000})), Error::invalid_argument);
  EXPECT_EQ(p.a.qp.state(), QpState::reset);
  EXPECT_EQ(error_of(connect(p.a.qp, p.b.qp, {.max_reads = 200})), Error::limit_exceeded);
  EXPECT_EQ(p.a.qp.state(), QpState::reset);
  EXPECT_EQ(p.b.qp.state(), QpState::reset);
  must(connect(p.a.qp, p.b.qp));
  EXPECT_EQ(error_of(p.a.qp.connect(p.b.qp.endpoint())), Error::bad_state);
  EXPECT_TRUE(p.carry_out({.verb = Verb::write, .local = p.a.region.sge(0, 8), .remote = p.b.region.remote()}).ok());
}

TEST(States, ServicesAreNotMixed) {
  Unconnected p;
  QueuePair uc = must(p.b.domain.create_queue_pair({.service = Service::uc, .send_cq = &p.b.cq}));
  EXPECT_EQ(uc.service(), Service::uc);
  EXPECT_EQ(error_of(connect(p.a.qp, uc)), Error::invalid_argument);
}

TEST(States, APeerConnectsByWhatItWasTold) {
  Unconnected p;
  const Endpoint a = p.a.qp.endpoint(), b = p.b.qp.endpoint();  // what programs would send each other
  EXPECT_EQ(a.address, p.a.device.address());
  must(p.a.qp.connect(b));
  must(p.b.qp.connect(a));
  EXPECT_EQ(p.a.qp.query().send_psn, a.psn);
  EXPECT_EQ(p.b.qp.query().receive_psn, a.psn);
  EXPECT_TRUE(p.carry_out({.verb = Verb::read, .local = p.a.region.sge(0, 8), .remote = p.b.region.remote()}).ok());
}

TEST(States, ErrorFlushesWhatWasPosted) {
  Pair p;
  must(p.a.qp.post_receive({.id = 1}));
  must(p.a.qp.to_error());
  must(p.a.qp.post({.id = 2, .local = p.a.region.sge(0, 8)}));
  EXPECT_TRUE(p.sim.run());
  const auto done = p.a.drain();
  ASSERT_EQ(done.size(), 2U);
  for (const Completion& one : done) EXPECT_EQ(one.status, CompletionStatus::flushed);
  must(p.a.qp.to_reset());
  EXPECT_EQ(p.a.qp.state(), QpState::reset);
}

TEST(States, ADrainedSendQueueTellsAndGoesOn) {
  Pair p;
  const WorkRequest work{.verb = Verb::write, .local = p.a.region.sge(0, 8), .remote = p.b.region.remote()};
  must(p.a.qp.to_send_queue_drained(true));
  must(p.a.qp.post(work));
  EXPECT_TRUE(p.sim.run());
  EXPECT_EQ(p.a.cq.waiting(), 0U);
  const std::optional<Event> event = p.a.device.next_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, Event::sq_drained);
  EXPECT_EQ(event->qpn, p.a.qp.qpn());
  EXPECT_FALSE(p.a.qp.query().draining);
  must(p.a.qp.back_to_ready_to_send());
  EXPECT_TRUE(p.sim.run());
  EXPECT_EQ(p.a.drain().size(), 1U);
}

}  // namespace
}  // namespace weft::test
