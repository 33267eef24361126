// Bad requests of our own program (checklist 45, 46, and completion queues that overflow): what posting refuses, and
// what only the card can find out.
#include <algorithm>

#include "expect.h"

namespace weft::trust {
namespace {

using host::Error;
using nic::QpState;
using nic::Rights;
using nic::Sge;
using nic::Status;
using nic::WorkKind;
using wire::Key;
using wire::NakCode;
using wire::Service;

constexpr WorkKind kKinds[] = {WorkKind::send,         WorkKind::send_immediate,  WorkKind::send_invalidate,
                               WorkKind::write,        WorkKind::write_immediate, WorkKind::read,
                               WorkKind::compare_swap, WorkKind::fetch_add};

struct TrustLocal : testing::Test {
  Victim victim;
  Area area = victim.allocate(1024);
  Area foreign = victim.allocate_at(0x4000, 256, kAllRights, victim.other_domain());
  Area gone = victim.allocate(256);
  Connection bystander = victim.connect();

  TrustLocal() { (void)victim.device().deregister_region(gone.key); }

  struct BadSge {
    Sge sge;
    Refusal why;
  };
  std::vector<BadSge> bad_sges() const {
    return {{{area.address, 8, Key(0)}, Refusal::key_unknown},
            {{area.address, 8, Key(area.key.raw() ^ 0x8000'0000)}, Refusal::key_unknown},
            {{gone.address, 8, gone.key}, Refusal::key_stale},
            {{foreign.address, 8, foreign.key}, Refusal::key_wrong_domain},
            {{area.address - 8, 8, area.key}, Refusal::out_of_bounds},
            {{area.address + 1017, 8, area.key}, Refusal::out_of_bounds},
            {{~0ULL - 3, 8, area.key}, Refusal::out_of_bounds}};
  }
  static host::WorkRequest work(WorkKind kind, std::span<const Sge> sges, std::uint64_t id = 1) {
    host::WorkRequest r{.id = id, .kind = kind, .sges = sges, .remote_address = 0x1000};
    r.to.destination = kPeerAddress;
    return r;
  }
};

// ---- 45: local keys -------------------------------------------------------------------------------------------------

TEST_F(TrustLocal, T45_LocalKeyWrongInEveryKindOfWork) {
  // CVE-2021-47076 is the atomic among them. Expect: local protection error before anything is sent.
  for (const WorkKind kind : kKinds) {
    for (const auto& [sge, why] : bad_sges()) {
      SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << " " << text(why).counter);
      Connection c = victim.connect();
      EXPECT_TRUE(failed(victim.post(c, work(kind, {&sge, 1})), c, why, Status::local_protection));
      victim.destroy(c);
    }
  }
  EXPECT_TRUE(works(victim, bystander, area));
}

TEST_F(TrustLocal, T45_AnswerToMemoryThatMayNotBeWritten) {
  const Area read_only = victim.allocate(64, Rights::remote_read);
  const Sge sge = read_only.sge(0, 8);
  for (const WorkKind kind : {WorkKind::read, WorkKind::compare_swap, WorkKind::fetch_add}) {
    Connection c = victim.connect();
    const Effects got = victim.post(c, work(kind, {&sge, 1}));
    EXPECT_TRUE(failed(got, c, Refusal::key_no_permission, Status::local_protection));
    victim.destroy(c);
  }
  Connection c = victim.connect();  // sending it is no write
  EXPECT_EQ(victim.post(c, work(WorkKind::send, {&sge, 1})).sent.size(), 1U);
}

TEST_F(TrustLocal, T45_OnlyTheLastOfSeveralElementsIsWrong) {
  const Sge sges[] = {area.sge(0, 100), area.sge(200, 100), {area.address, 8, Key(0)}};
  for (const WorkKind kind : {WorkKind::send, WorkKind::write, WorkKind::read}) {
    Connection c = victim.connect();
    EXPECT_TRUE(failed(victim.post(c, work(kind, sges)), c, Refusal::key_unknown, Status::local_protection));
    victim.destroy(c);
  }
}

TEST_F(TrustLocal, T45_WorkBeforeTheBadOneIsNotLost) {
  // Post: good, bad, good. Expect: the first completes when its acknowledgement comes, then the bad one says why.
  Connection c = victim.connect();
  const Sge good = area.sge(0, 64), bad{0, 8, Key(0)};
  const Psn psn = victim.post(c, work(WorkKind::write, {&good, 1}, 1)).sent.at(0).headers.bth.psn;
  EXPECT_TRUE(silent(victim.post(c, work(WorkKind::write, {&bad, 1}, 2))));
  EXPECT_TRUE(silent(victim.post(c, work(WorkKind::write, {&good, 1}, 3))));
  Effects got = victim.receive(c.ack(psn));
  ASSERT_EQ(got.completions.size(), 3U);
  EXPECT_EQ(got.completions[0].status, Status::success);
  EXPECT_EQ(got.completions[2].id, 3U);
  got.completions.erase(got.completions.begin());
  EXPECT_TRUE(failed(got, c, Refusal::key_unknown, Status::local_protection));
}

TEST_F(TrustLocal, T45_MemoryGoneBeforeTheAnswerComes) {
  for (const WorkKind kind : {WorkKind::read, WorkKind::fetch_add}) {
    Connection c = victim.connect();
    const Area doomed = victim.allocate(64);
    const Sge sge = doomed.sge(0, 8);
    const Psn psn = victim.post(c, work(kind, {&sge, 1})).sent.at(0).headers.bth.psn;
    ASSERT_EQ(victim.device().deregister_region(doomed.key), Error::none);
    const Crafted answer = kind == WorkKind::read ? c.answer(Opcode::rc_read_response_only, psn).carrying(8, 3)
                                                  : c.answer(Opcode::rc_atomic_ack, psn).original(7);
    EXPECT_TRUE(failed(victim.receive(answer), c, Refusal::key_stale, Status::local_protection));
    victim.destroy(c);
  }
}

TEST_F(TrustLocal, T45_MemoryGoneBeforeRetransmission) {
  // Found by the malformed stream: a queue pair that broke while going back left its timer running, which later broke
  // it again, without any work to complete, and flushed four billion entries.
  for (const std::uint8_t retries : {1, 7}) {
    ConnectOptions o;
    o.attributes.retry_count = retries;
    Connection c = victim.connect(o);
    const Area doomed = victim.allocate(512);
    const Sge sge = doomed.sge(0, 512);
    const Psn psn = victim.post(c, work(WorkKind::write, {&sge, 1})).sent.at(1).headers.bth.psn;
    ASSERT_EQ(victim.device().deregister_region(doomed.key), Error::none);
    const Effects got = victim.receive(c.ack(psn, wire::Syndrome::nak(NakCode::psn_sequence)));
    EXPECT_TRUE(failed(got, c, Refusal::key_stale, Status::local_protection));
    EXPECT_TRUE(silent(victim.wait(seconds(100))));
    EXPECT_EQ(victim.next_deadline(), kNever);
  }
}

TEST_F(TrustLocal, T45_UnreliableServicesOnlyStopSending) {
  // IBA 10.3.1: the queue pair goes to SQE, still receives, and can be set to RTS again.
  const Sge bad{0, 8, Key(0)}, good = area.sge(0, 8);
  for (const Service service : {Service::uc, Service::ud}) {
    Connection c = victim.connect({.service = service});
    const Effects got = victim.post(c, work(WorkKind::send, {&bad, 1}));
    EXPECT_TRUE(failed(got, c, Refusal::key_unknown, Status::local_protection, QpState::sqe));
    EXPECT_EQ(victim.post(c, work(WorkKind::send, {&good, 1})).completions.at(0).status, Status::flushed);
    (void)victim.post_receive(c, area.sge(512));
    const Opcode opcode = service == Service::uc ? Opcode::uc_send_only : Opcode::ud_send_only;
    EXPECT_EQ(victim.receive(c.next_request(opcode).carrying(8)).completions.at(0).status, Status::success);
    host::QpAttributes a;
    a.state = QpState::rts;
    (void)victim.modify(c, a, host::QpMask::state);
    EXPECT_EQ(victim.post(c, work(WorkKind::send, {&good, 1})).sent.size(), 1U);
  }
}

TEST_F(TrustLocal, T45_LocalKeyWrongInAReceive) {
  // The sender did nothing wrong: it hears "remote operation error", and our receive says why.
  const Area read_only = victim.allocate(64, Rights::remote_read);
  auto cases = bad_sges();
  cases.push_back({read_only.sge(0, 8), Refusal::key_no_permission});
  for (const auto& [sge, why] : cases) {
    SCOPED_TRACE(text(why).counter);
    Connection c = victim.connect();
    (void)victim.post_receive(c, sge, 5);
    const Effects got = victim.receive(c.request(Opcode::rc_send_only).carrying(8));
    EXPECT_TRUE(broken(got, c, why, NakCode::remote_operation));
    ASSERT_EQ(got.completions.size(), 1U);
    EXPECT_EQ(got.completions[0].id, 5U);
    EXPECT_EQ(got.completions[0].status, Status::local_protection);
    victim.destroy(c);
  }
}

TEST_F(TrustLocal, T45_LocalKeyWrongInAReceiveOfAnUnreliableService) {
  for (const Service service : {Service::uc, Service::ud}) {
    Connection c = victim.connect({.service = service});
    (void)victim.post_receive(c, {0, 128, Key(0)}, 5);
    const Opcode opcode = service == Service::uc ? Opcode::uc_send_only : Opcode::ud_send_only;
    const Effects got = victim.receive(c.next_request(opcode).carrying(8));
    EXPECT_TRUE(failed(got, c, Refusal::key_unknown, Status::local_protection));
    ASSERT_EQ(got.events.size(), 1U);
    EXPECT_EQ(got.events[0].kind, nic::EventKind::qp_fatal);
    EXPECT_EQ(c.qp->context().broken_by, Refusal::key_unknown);
  }
}

// ---- 46: scatter/gather lists and inline data ---------------------------------------------------------------------

TEST_F(TrustLocal, T46_MoreElementsThanAgreed) {
  Connection c = victim.connect();  // four each
  const std::vector<Sge> five(5, area.sge(0, 8));
  for (const WorkKind kind : kKinds) EXPECT_EQ(c.qp->post_send(work(kind, five)), Error::invalid_argument);
  EXPECT_EQ(c.qp->post_receive({.id = 1, .sges = five}), Error::invalid_argument);
  host::SharedReceiveQueue* srq = *victim.device().create_srq(victim.domain(), 4, 4);
  EXPECT_EQ(srq->post({.id = 1, .sges = five}), Error::invalid_argument);
  EXPECT_TRUE(nothing(victim.settle()));
  EXPECT_TRUE(works(victim, c, area));
  // And more than the device has cannot be agreed.
  host::QpOptions o;
  o.send_cq = o.receive_cq = &victim.cq();
  o.limits.send_sges = nic::kMaxSges + 1;
  EXPECT_EQ(victim.device().create_qp(victim.domain(), o).error(), Error::limit_exceeded);
}

TEST_F(TrustLocal, T46_MoreInlineThanAgreed) {
  Connection c = victim.connect();  // 64 bytes
  const auto bytes = pattern(65, 3);
  const nic::Fragment whole[] = {{bytes.data(), 65}}, pieces[] = {{bytes.data(), 40}, {bytes.data() + 40, 25}};
  host::WorkRequest r = work(WorkKind::send, {});
  r.is_inline = true;
  r.inline_data = whole;
  EXPECT_EQ(c.qp->post_send(r), Error::invalid_argument);
  r.inline_data = pieces;
  EXPECT_EQ(c.qp->post_send(r), Error::invalid_argument);
  EXPECT_TRUE(nothing(victim.settle()));
  const nic::Fragment fits[] = {{bytes.data(), 40}, {bytes.data() + 40, 24}};
  r.inline_data = fits;
  const Effects got = victim.post(c, r);
  ASSERT_EQ(got.sent.size(), 1U);
  EXPECT_EQ(got.sent[0].payload, pattern(64, 3));
  // What is to be read back cannot be inline.
  for (const WorkKind kind : {WorkKind::read, WorkKind::fetch_add, WorkKind::bind_window, WorkKind::local_invalidate}) {
    r.kind = kind;
    EXPECT_EQ(c.qp->post_send(r), Error::invalid_argument);
  }
}

TEST_F(TrustLocal, T46_OverlappingElements) {
  // Legal: what is sent is the list as it stands, what is received is placed in the order of the list.
  Connection c = victim.connect();
  const Sge twice[] = {area.sge(0, 100), area.sge(50, 100), area.sge(0, 10)};
  const Effects sent = victim.post(c, work(WorkKind::send, twice));
  Bytes expected(area.bytes.begin(), area.bytes.begin() + 100);
  expected.insert(expected.end(), area.bytes.begin() + 50, area.bytes.begin() + 150);
  expected.insert(expected.end(), area.bytes.begin(), area.bytes.begin() + 10);
  EXPECT_EQ(sent.sent.at(0).payload, expected);
  ASSERT_EQ(c.qp->post_receive({.id = 9, .sges = twice}), Error::none);
  const Crafted p = c.next_request(Opcode::rc_send_only).carrying(210, 4);
  EXPECT_TRUE(accepted(victim.receive(p), c));
  EXPECT_TRUE(std::equal(p.payload.begin() + 100, p.payload.begin() + 200, area.bytes.begin() + 50));
  EXPECT_TRUE(std::equal(p.payload.begin() + 200, p.payload.end(), area.bytes.begin()));
  EXPECT_TRUE(std::equal(p.payload.begin() + 10, p.payload.begin() + 50, area.bytes.begin() + 10));
}

TEST_F(TrustLocal, T46_NoElements) {
  Connection c = victim.connect();
  for (const WorkKind kind : {WorkKind::send, WorkKind::write, WorkKind::read}) {
    const Effects got = victim.post(c, work(kind, {}));
    ASSERT_EQ(got.sent.size(), 1U);
    EXPECT_TRUE(got.sent[0].payload.empty());
  }
  // Elements of no bytes need no key; a receive of none takes a message of none.
  const Sge empty[] = {{0, 0, Key(0)}, area.sge(0, 8), {~0ULL, 0, Key(1)}};
  EXPECT_EQ(victim.post(c, work(WorkKind::send, empty)).sent.at(0).payload.size(), 8U);
  ASSERT_EQ(c.qp->post_receive({.id = 9, .sges = {}}), Error::none);
  EXPECT_EQ(victim.receive(c.next_request(Opcode::rc_send_only)).completions.at(0).id, 9U);
  ASSERT_EQ(c.qp->post_receive({.id = 10, .sges = {}}), Error::none);
  EXPECT_TRUE(broken(victim.receive(c.request(Opcode::rc_send_only).carrying(1)), c, Refusal::receive_too_small,
                     NakCode::invalid_request));
}

TEST_F(TrustLocal, T46_WorkThatTheServiceDoesNotHave) {
  const Sge sge = area.sge(0, 8), seven = area.sge(0, 7);
  Connection rc = victim.connect(), uc = victim.connect({.service = Service::uc}),
             ud = victim.connect({.service = Service::ud});
  for (const WorkKind kind : {WorkKind::read, WorkKind::compare_swap, WorkKind::fetch_add, WorkKind::send_invalidate}) {
    EXPECT_EQ(uc.qp->post_send(work(kind, {&sge, 1})), Error::invalid_argument);
  }
  for (const WorkKind kind : kKinds) {
    const bool sends = kind == WorkKind::send || kind == WorkKind::send_immediate;
    EXPECT_EQ(ud.qp->post_send(work(kind, {&sge, 1})), sends ? Error::none : Error::invalid_argument);
  }
  for (const WorkKind kind : {WorkKind::compare_swap, WorkKind::fetch_add}) {
    EXPECT_EQ(rc.qp->post_send(work(kind, {&seven, 1})), Error::invalid_argument);
    EXPECT_EQ(rc.qp->post_send(work(kind, {})), Error::invalid_argument);
  }
}

TEST_F(TrustLocal, MessageLongerThanTwoGibibytes) {
  Connection c = victim.connect();
  const Sge half{0, 0x8000'0000, Key(1)}, one{0, 1, Key(1)}, sges[] = {half, one};
  EXPECT_EQ(c.qp->post_send(work(WorkKind::send, sges)), Error::invalid_argument);
}

TEST_F(TrustLocal, ReadWhereNoneAreAllowed) {
  ConnectOptions o;
  o.attributes.max_reads = 0;
  for (const WorkKind kind : {WorkKind::read, WorkKind::compare_swap, WorkKind::fetch_add}) {
    Connection c = victim.connect(o);
    const Sge sge = area.sge(0, 8);
    EXPECT_TRUE(failed(victim.post(c, work(kind, {&sge, 1})), c, Refusal::reads_disabled, Status::local_qp_operation));
    victim.destroy(c);
  }
}

TEST_F(TrustLocal, DatagramLongerThanThePort) {
  Connection ud = victim.connect({.service = Service::ud});
  const Sge sge = area.sge(0, 1024), sges[] = {sge, area.sge(0, 1)};
  EXPECT_EQ(victim.post(ud, work(WorkKind::send, {&sge, 1})).sent.size(), 1U);
  EXPECT_TRUE(failed(victim.post(ud, work(WorkKind::send, sges)), ud, Refusal::datagram_too_long, Status::local_length,
                     QpState::sqe));
}

// ---- completions that have nowhere to go ----------------------------------------------------------------------------

struct TrustOverflow : TrustLocal {
  host::CompletionQueue* small = *victim.device().create_cq(2);
  Connection c = victim.connect({.cq = small});

  AssertionResult overflowed(const Effects& got) {
    if (AssertionResult r = counted(got, Refusal::cq_overflow); !r) return r;
    const bool told = got.events.size() == 2 && got.events[0].kind == nic::EventKind::cq_error &&
                      got.events[0].number == small->number() && got.events[1].kind == nic::EventKind::qp_fatal &&
                      got.events[1].number == c.qpn().raw();
    if (!told) return testing::AssertionFailure() << "not both events: " << text_of(got);
    return c.state() == QpState::error && small->overflowed() ? testing::AssertionSuccess()
                                                              : testing::AssertionFailure() << "goes on";
  }
};

TEST_F(TrustOverflow, OverflowOfOurOwnCompletions) {
  const Sge sge = area.sge(0, 8);
  for (std::uint64_t id = 0; id < 3; ++id) {
    const Psn psn = victim.post(c, work(WorkKind::write, {&sge, 1}, id)).sent.at(0).headers.bth.psn;
    const Effects got = victim.receive(c.ack(psn));
    if (id == 2) {
      EXPECT_TRUE(overflowed(got));
    }
  }
  EXPECT_TRUE(works(victim, bystander, area));
}

TEST_F(TrustOverflow, MessageWhoseCompletionIsLostIsNotAcknowledged) {
  // The program will never hear of it, so its sender must not be told that it has arrived.
  for (std::uint64_t id = 0; id < 3; ++id) {
    (void)victim.post_receive(c, area.sge(0, 64), id);
    const Effects got = victim.receive(c.next_request(Opcode::rc_send_only).carrying(8));
    if (id == 2) {
      EXPECT_TRUE(overflowed(got));
      EXPECT_TRUE(got.sent.empty()) << text_of(got);
    }
  }
  EXPECT_TRUE(dropped(victim.receive(c.request(Opcode::rc_send_only)), Refusal::qp_not_ready));
  EXPECT_TRUE(works(victim, bystander, area));
}

}  // namespace
}  // namespace weft::trust
