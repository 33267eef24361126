// Programs can write into the public structs that they hold. The numbers there are theirs: whatever a program makes of
// them, no call looks anything up by them.
#include <cstring>

#include "bed.h"

namespace weft::tests {
namespace {

// Also where no such value exists, as in an enumeration.
template <class Field>
void spoil_field(Field& field, std::uint64_t value) {
  std::memcpy(&field, &value, sizeof field);
}
template <class... Fields>
void spoil_fields(std::uint64_t value, Fields&... fields) {
  (spoil_field(fields, value), ...);
}

// ---- every integer of every object

void spoil(ibv_context* c, std::uint64_t v) { spoil_fields(v, c->cmd_fd, c->async_fd, c->num_comp_vectors); }
void spoil(ibv_pd* p, std::uint64_t v) { spoil_fields(v, p->handle); }
void spoil(ibv_mr* m, std::uint64_t v) { spoil_fields(v, m->length, m->handle, m->lkey, m->rkey); }
void spoil(ibv_mw* w, std::uint64_t v) { spoil_fields(v, w->rkey, w->handle, w->type); }
void spoil(ibv_ah* a, std::uint64_t v) { spoil_fields(v, a->handle); }
void spoil(ibv_dm* d, std::uint64_t v) { spoil_fields(v, d->comp_mask, d->handle); }
void spoil(ibv_comp_channel* c, std::uint64_t v) { spoil_fields(v, c->fd, c->refcnt); }
void spoil(ibv_srq* s, std::uint64_t v) { spoil_fields(v, s->handle, s->events_completed); }
void spoil(ibv_cq* c, std::uint64_t v) {
  spoil_fields(v, c->handle, c->cqe, c->comp_events_completed, c->async_events_completed);
}
void spoil(ibv_cq_ex* c, std::uint64_t v) {
  spoil(ibv_cq_ex_to_cq(c), v);
  spoil_fields(v, c->comp_mask, c->status, c->wr_id);
}
void spoil(ibv_qp* q, std::uint64_t v) {
  spoil_fields(v, q->handle, q->qp_num, q->state, q->qp_type, q->events_completed);
}
void spoil(ibv_qp_ex* q, std::uint64_t v) {
  spoil(&q->qp_base, v);
  spoil_fields(v, q->comp_mask);
}

class PublicFields : public Bed, public testing::WithParamInterface<std::uint64_t> {
 protected:
  static constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
                                 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;

  void SetUp() override {
    Bed::SetUp();
    mr = ibv_reg_mr(pd, memory.data(), memory.size(), kAccess);
    ASSERT_NE(mr, nullptr);
    key = mr->lkey;
  }
  template <class... Objects>
  static void spoil_all(Objects*... objects) {
    (spoil(objects, GetParam()), ...);
  }

  [[nodiscard]] ibv_sge sge(std::size_t at, std::uint32_t bytes = 64) const {
    return {number(memory.data() + at), bytes, key};
  }
  int receive(ibv_qp* qp, std::uint64_t id) {
    ibv_sge to = sge(0);
    ibv_recv_wr wr{id, nullptr, &to, 1}, *bad = nullptr;
    return ibv_post_recv(qp, &wr, &bad);
  }
  int send(ibv_qp* qp, ibv_wr_opcode opcode, std::uint32_t bytes = 64) {
    ibv_sge from = sge(4096, bytes);
    ibv_send_wr wr{};
    wr.sg_list = &from;
    wr.num_sge = 1;
    wr.opcode = opcode;
    wr.send_flags = IBV_SEND_SIGNALED;
    if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
      wr.wr.atomic = {.remote_addr = number(memory.data()), .compare_add = 1, .swap = 0, .rkey = key};
    } else {
      wr.wr.rdma = {.remote_addr = number(memory.data()), .rkey = key};
    }
    return post(qp, wr);
  }
  // All of a queue pair's work still does what it did.
  void expect_traffic(ibv_qp* from, ibv_qp* to, std::uint32_t number_of_from, std::uint32_t number_of_to) {
    ASSERT_EQ(receive(to, 7), 0);
    ASSERT_EQ(send(from, IBV_WR_SEND), 0);
    for (int i = 0; i < 2; ++i) {
      const ibv_wc done = next();
      EXPECT_EQ(done.status, IBV_WC_SUCCESS);
      EXPECT_EQ(done.qp_num, done.opcode == IBV_WC_RECV ? number_of_to : number_of_from);
    }
    for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
      ASSERT_EQ(send(from, opcode, opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : 64), 0);
      EXPECT_EQ(next().status, IBV_WC_SUCCESS) << opcode;
    }
  }

  alignas(64) std::array<char, 8192> memory{};
  ibv_mr* mr = nullptr;
  std::uint32_t key = 0;
};

TEST_P(PublicFields, OfQueuePairs) {
  ibv_qp *a = make_qp(), *b = make_qp();
  connect(a, b);
  const std::uint32_t a_number = a->qp_num, b_number = b->qp_num;
  spoil_all(context, pd, cq, mr, a, b);
  expect_traffic(a, b, a_number, b_number);
  spoil_all(a, b);
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(a, &attr, IBV_QP_STATE, &init), 0);
  EXPECT_EQ(attr.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(attr.dest_qp_num, b_number);
  EXPECT_EQ(init.qp_type, IBV_QPT_RC);
  spoil_all(a, b);
  attr.qp_state = IBV_QPS_ERR;
  EXPECT_EQ(ibv_modify_qp(a, &attr, IBV_QP_STATE), 0);
  ASSERT_EQ(send(a, IBV_WR_SEND), 0);
  EXPECT_EQ(next().status, IBV_WC_WR_FLUSH_ERR);
  spoil_all(a, b);
  EXPECT_EQ(ibv_destroy_qp(a), 0);
  EXPECT_EQ(ibv_destroy_qp(b), 0);
}

TEST_P(PublicFields, OfDatagramQueuePairsAndAddressHandles) {
  ibv_qp* qp = make_qp({.type = IBV_QPT_UD});
  ASSERT_EQ(to_init(qp), 0);
  ASSERT_EQ(to_rtr(qp, 0), 0);
  ASSERT_EQ(to_rts(qp), 0);
  ibv_ah_attr to = to_self();
  ibv_ah* ah = ibv_create_ah(pd, &to);
  ASSERT_NE(ah, nullptr);
  const std::uint32_t its_number = qp->qp_num;
  spoil_all(pd, cq, mr, qp, ah);
  ibv_sge sges[] = {sge(0, 40 + 64), sge(4096)};
  ibv_recv_wr receive_wr{7, nullptr, &sges[0], 1}, *bad = nullptr;
  ASSERT_EQ(ibv_post_recv(qp, &receive_wr, &bad), 0);
  ibv_send_wr wr{};
  wr.sg_list = &sges[1];
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.ud = {.ah = ah, .remote_qpn = its_number, .remote_qkey = 0x1234};
  ASSERT_EQ(post(qp, wr), 0);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(next().status, IBV_WC_SUCCESS);
  wr.wr.ud.ah = nullptr;
  EXPECT_EQ(post(qp, wr), EINVAL);
  wr.opcode = IBV_WR_BIND_MW;  // not for datagrams, whatever type the public struct has
  EXPECT_EQ(post(qp, wr), EINVAL);
  EXPECT_EQ(ibv_destroy_ah(ah), 0);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
}

TEST_P(PublicFields, OfExtendedQueuePairsAndCompletionQueues) {
  ibv_cq_init_attr_ex cq_attr{};
  cq_attr.cqe = 16;
  cq_attr.wc_flags = IBV_WC_STANDARD_FLAGS;
  ibv_cq_ex* ex = ibv_create_cq_ex(context, &cq_attr);
  ASSERT_NE(ex, nullptr);
  ibv_qp *a = make_qp({.cq = ibv_cq_ex_to_cq(ex), .operations = IBV_QP_EX_WITH_RDMA_WRITE}), *b = make_qp();
  connect(a, b);
  ibv_qp_ex* ax = ibv_qp_to_qp_ex(a);
  spoil_all(mr, ex, ax, b);
  ibv_wr_start(ax);
  ax->wr_id = 9;
  ax->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_rdma_write(ax, key, number(memory.data()));
  ibv_wr_set_sge(ax, key, number(memory.data() + 4096), 64);
  ASSERT_EQ(ibv_wr_complete(ax), 0);
  ibv_poll_cq_attr poll{};
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  int code = ENOENT;
  while (code == ENOENT && std::chrono::steady_clock::now() < until) code = ibv_start_poll(ex, &poll);
  ASSERT_EQ(code, 0);
  EXPECT_EQ(ex->wr_id, 9u);
  EXPECT_EQ(ex->status, IBV_WC_SUCCESS);
  spoil_all(ex);
  EXPECT_EQ(ibv_wc_read_opcode(ex), IBV_WC_RDMA_WRITE);
  ibv_end_poll(ex);
  spoil_all(ax, b);
  EXPECT_EQ(ibv_destroy_qp(a), 0);
  spoil_all(ex);
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
}

TEST_P(PublicFields, OfCompletionQueuesAndTheirChannels) {
  ibv_comp_channel* channel = ibv_create_comp_channel(context);
  ASSERT_NE(channel, nullptr);
  spoil_all(context, channel);
  EXPECT_EQ(ibv_create_cq(context, 4, nullptr, channel, 1 << 20), nullptr);  // so many vectors there are not
  EXPECT_EQ(errno, EINVAL);
  ibv_cq* q = ibv_create_cq(context, 4, nullptr, channel, 0);
  ASSERT_NE(q, nullptr);
  EXPECT_EQ(channel->refcnt, 1);
  ibv_qp *a = make_qp({.cq = q}), *b = make_qp();
  connect(a, b);
  spoil_all(q, channel, a, b);
  EXPECT_EQ(ibv_resize_cq(q, 40), 0);
  EXPECT_GE(q->cqe, 40);
  ibv_modify_cq_attr moderate{.attr_mask = IBV_CQ_ATTR_MODERATE, .moderate = {1, 0}};
  EXPECT_EQ(ibv_modify_cq(q, &moderate), 0);
  ASSERT_EQ(ibv_req_notify_cq(q, 0), 0);
  ASSERT_EQ(send(a, IBV_WR_RDMA_WRITE), 0);
  ibv_cq* ready = nullptr;
  void* its_context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(channel, &ready, &its_context), 0);
  EXPECT_EQ(ready, q);
  EXPECT_EQ(next(q).status, IBV_WC_SUCCESS);
  spoil_all(q, channel);
  EXPECT_EQ(ibv_destroy_comp_channel(channel), EBUSY);
  EXPECT_EQ(ibv_destroy_cq(q), EBUSY);
  ibv_ack_cq_events(q, 1);
  EXPECT_EQ(ibv_destroy_qp(a), 0);
  spoil_all(q, channel);
  EXPECT_EQ(ibv_destroy_cq(q), 0);  // waits for acknowledgements: for those that are owed, not those that are shown
  spoil_all(channel);
  EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
}

TEST_P(PublicFields, OfSharedReceiveQueuesAndTheirEvents) {
  ibv_srq_init_attr srq_attr{.srq_context = nullptr, .attr = {8, 1, 0}};
  ibv_srq* srq = ibv_create_srq(pd, &srq_attr);
  ASSERT_NE(srq, nullptr);
  ibv_qp *a = make_qp(), *b = make_qp({.srq = srq});
  connect(a, b);
  const std::uint32_t b_number = b->qp_num;
  spoil_all(pd, srq, a, b);
  ibv_sge to = sge(0);
  for (int i = 0; i < 2; ++i) {
    ibv_recv_wr wr{7, nullptr, &to, 1}, *bad = nullptr;
    ASSERT_EQ(ibv_post_srq_recv(srq, &wr, &bad), 0);
  }
  ibv_srq_attr attr{.max_wr = 0, .max_sge = 0, .srq_limit = 2};
  EXPECT_EQ(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
  ASSERT_EQ(ibv_query_srq(srq, &attr), 0);
  EXPECT_EQ(attr.srq_limit, 2u);
  ASSERT_EQ(send(a, IBV_WR_SEND), 0);
  for (int i = 0; i < 2; ++i) {
    const ibv_wc done = next();
    EXPECT_EQ(done.status, IBV_WC_SUCCESS);
    if (done.opcode == IBV_WC_RECV) {
      EXPECT_EQ(done.qp_num, b_number);
    }
  }
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
  EXPECT_EQ(event.element.srq, srq);
  spoil_all(srq);
  ibv_ack_async_event(&event);
  ibv_qp_attr broken{};
  broken.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(ibv_modify_qp(b, &broken, IBV_QP_STATE), 0);
  ASSERT_EQ(ibv_get_async_event(context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
  EXPECT_EQ(event.element.qp, b);
  spoil_all(b, srq);
  ibv_ack_async_event(&event);
  spoil_all(b, srq);
  EXPECT_EQ(ibv_destroy_qp(b), 0);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
}

TEST_P(PublicFields, OfRegions) {
  spoil_all(pd, mr);
  ibv_sge all = sge(0);
  EXPECT_EQ(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &all, 1), 0);
  // The rights change and the memory stays: all of it, and only that.
  EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_LOCAL_WRITE), 0);
  EXPECT_EQ(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, &all, 1), 0);
  spoil_all(mr);
  ibv_pd* other = ibv_alloc_pd(context);
  ASSERT_NE(other, nullptr);
  spoil_all(other);
  EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, other, nullptr, 0, 0), 0);
  EXPECT_EQ(ibv_dealloc_pd(other), EBUSY);
  spoil_all(mr, other);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_dealloc_pd(other), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_P(PublicFields, OfDeviceMemory) {
  ibv_alloc_dm_attr attr{.length = 256, .log_align_req = 3, .comp_mask = 0};
  ibv_dm* dm = ibv_alloc_dm(context, &attr);
  ASSERT_NE(dm, nullptr);
  spoil_all(dm);
  std::array<char, 256> copy{};
  EXPECT_EQ(ibv_memcpy_to_dm(dm, 0, copy.data(), copy.size()), 0);
  EXPECT_EQ(ibv_memcpy_from_dm(copy.data(), dm, 1, copy.size()), EFAULT);
  ibv_mr* of_device = ibv_reg_dm_mr(pd, dm, 0, 256, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
  ASSERT_NE(of_device, nullptr);
  spoil_all(dm, of_device);
  EXPECT_EQ(ibv_free_dm(dm), EBUSY);
  EXPECT_EQ(ibv_dereg_mr(of_device), 0);
  EXPECT_EQ(ibv_free_dm(dm), 0);
}

TEST_P(PublicFields, OfWindows) {
  ibv_qp *a = make_qp(), *b = make_qp();
  connect(a, b);
  ibv_mw *one = ibv_alloc_mw(pd, IBV_MW_TYPE_1), *two = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
  ASSERT_TRUE(one != nullptr && two != nullptr);
  const std::uint32_t new_key = ibv_inc_rkey(two->rkey);
  spoil_all(mr, a, b, one, two);
  ibv_mw_bind bind{};
  bind.send_flags = IBV_SEND_SIGNALED;
  bind.bind_info = {.mr = mr, .addr = number(memory.data()), .length = 64, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
  spoil_field(one->type, IBV_MW_TYPE_1);  // by which verbs.h decides whether we are called at all
  EXPECT_EQ(ibv_bind_mw(b, one, &bind), 0);
  EXPECT_EQ(next().status, IBV_WC_SUCCESS);
  spoil_field(two->type, IBV_MW_TYPE_1);
  EXPECT_EQ(ibv_bind_mw(b, two, &bind), EINVAL);
  spoil_field(one->type, IBV_MW_TYPE_2);
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_BIND_MW;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.bind_mw = {.mw = one, .rkey = new_key, .bind_info = bind.bind_info};
  EXPECT_EQ(post(b, wr), EINVAL);
  wr.bind_mw.mw = two;
  spoil_all(mr, one, two);
  ASSERT_EQ(post(b, wr), 0);
  EXPECT_EQ(next().status, IBV_WC_SUCCESS);
  spoil_all(mr, one, two);
  EXPECT_EQ(ibv_dealloc_mw(one), 0);
  EXPECT_EQ(ibv_dealloc_mw(two), 0);
}

// By these verbs.h decides whether there is an extended interface at all: then it says that there is none.
TEST_P(PublicFields, OfTheContextsVersion) {
  void* const version = context->abi_compat;
  spoil_field(context->abi_compat, GetParam());
  EXPECT_EQ(ibv_alloc_dm(context, nullptr), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  ibv_device_attr attr{};
  EXPECT_EQ(ibv_query_device(context, &attr), 0);
  EXPECT_GT(attr.max_qp, 0);
  context->abi_compat = version;
}

INSTANTIATE_TEST_SUITE_P(AnyNumber, PublicFields,
                         testing::Values(0, 1, 0xFFFF, 0x7FFF'FFFF, 0x8000'0000, 0xFFFF'FFFF, 0x5555'5555'5555'5555),
                         [](const auto& value) { return std::to_string(value.param); });

}  // namespace
}  // namespace weft::tests
