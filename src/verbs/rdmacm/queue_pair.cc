// Queue pairs on identifiers, with completion queues for programs that bring none.
#include "verbs/rdmacm/queue_pair.h"

#include <cstring>

#include "verbs/rdmacm/cm_agent.h"
#include "verbs/rdmacm/errors.h"

namespace weft::rdmacm {
namespace {

bool create_queue(rdma_cm_id& id, std::uint32_t entries, ibv_comp_channel*& channel, ibv_cq*& queue) {
  if (entries == 0) return true;
  channel = ibv_create_comp_channel(id.verbs);
  if (channel == nullptr) return false;
  queue = ibv_create_cq(id.verbs, static_cast<int>(entries), &id, channel, 0);
  return queue != nullptr;
}

}  // namespace

int create_queues(rdma_cm_id& id, std::uint32_t send_entries, std::uint32_t receive_entries) {
  if (create_queue(id, receive_entries, id.recv_cq_channel, id.recv_cq) &&
      create_queue(id, send_entries, id.send_cq_channel, id.send_cq)) {
    return 0;
  }
  const int code = errno;
  destroy_queues(id);
  return fail(code);
}

void destroy_queues(rdma_cm_id& id) {
  if (id.recv_cq != nullptr) ibv_destroy_cq(id.recv_cq);
  if (id.send_cq != nullptr && id.send_cq != id.recv_cq) ibv_destroy_cq(id.send_cq);
  id.recv_cq = id.send_cq = nullptr;
  if (id.recv_cq_channel != nullptr) ibv_destroy_comp_channel(id.recv_cq_channel);
  if (id.send_cq_channel != nullptr && id.send_cq_channel != id.recv_cq_channel) {
    ibv_destroy_comp_channel(id.send_cq_channel);
  }
  id.recv_cq_channel = id.send_cq_channel = nullptr;
}

namespace {

int check(const Identifier& id, const ibv_qp_init_attr_ex& attr) {
  if (id.qp != nullptr || id.verbs == nullptr) return EINVAL;
  if ((attr.comp_mask & IBV_QP_INIT_ATTR_PD) != 0 && attr.pd != nullptr && attr.pd->context != id.verbs) return EINVAL;
  const bool other_receive = id.recv_cq != nullptr && attr.recv_cq != nullptr && id.recv_cq != attr.recv_cq;
  const bool other_send = id.send_cq != nullptr && attr.send_cq != nullptr && id.send_cq != attr.send_cq;
  return other_receive || other_send ? EINVAL : 0;
}

int create_queue_pair(Identifier& id, ibv_qp_init_attr_ex& attr) {
  if ((attr.comp_mask & IBV_QP_INIT_ATTR_PD) == 0 || attr.pd == nullptr) {
    attr.comp_mask |= IBV_QP_INIT_ATTR_PD;
    attr.pd = id.pd;
  }
  const bool sends = attr.send_cq != nullptr || id.send_cq != nullptr;
  const bool receives = attr.recv_cq != nullptr || id.recv_cq != nullptr;
  if (create_queues(id, sends ? 0 : attr.cap.max_send_wr, receives ? 0 : attr.cap.max_recv_wr) != 0) return -1;
  if (attr.send_cq == nullptr) attr.send_cq = id.send_cq;
  if (attr.recv_cq == nullptr) attr.recv_cq = id.recv_cq;
  if (attr.srq == nullptr) attr.srq = id.srq;
  ibv_qp* qp = ibv_create_qp_ex(id.verbs, &attr);
  int code = qp != nullptr ? 0 : errno;
  if (qp != nullptr) {
    const AgentHold hold(id.agent);
    code = hold ? to_first_state(id, qp) : EIO;
  }
  if (code != 0) {
    if (qp != nullptr) ibv_destroy_qp(qp);
    destroy_queues(id);
    return fail(code);
  }
  id.pd = qp->pd;
  id.qp = qp;
  return 0;
}

}  // namespace
}  // namespace weft::rdmacm

using namespace weft::rdmacm;

extern "C" {

int rdma_create_qp_ex(rdma_cm_id* id, ibv_qp_init_attr_ex* qp_init_attr) {
  Identifier& me = identifier_of(id);
  if (const int code = check(me, *qp_init_attr); code != 0) return fail(code);
  return attempt([&] { return create_queue_pair(me, *qp_init_attr); });
}

int rdma_create_qp(rdma_cm_id* id, ibv_pd* pd, ibv_qp_init_attr* qp_init_attr) {
  // The short form is the beginning of the long one, and what was granted goes back into it.
  ibv_qp_init_attr_ex attr{};
  std::memcpy(static_cast<void*>(&attr), qp_init_attr, sizeof *qp_init_attr);
  attr.comp_mask = IBV_QP_INIT_ATTR_PD;
  attr.pd = pd != nullptr ? pd : id->pd;
  const int result = rdma_create_qp_ex(id, &attr);
  std::memcpy(qp_init_attr, static_cast<const void*>(&attr), sizeof *qp_init_attr);
  return result;
}

void rdma_destroy_qp(rdma_cm_id* id) {
  if (id->qp != nullptr) ibv_destroy_qp(id->qp);
  id->qp = nullptr;
  destroy_queues(*id);
}

}  // extern "C"
