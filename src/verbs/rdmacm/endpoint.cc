// Endpoints: an identifier and its queue pair in one call, and requests fetched one by one.
#include <rdma/rdma_verbs.h>

#include "verbs/rdmacm/cm_agent.h"
#include "verbs/rdmacm/errors.h"

namespace weft::rdmacm {
namespace {

int make_passive(Identifier& id, const rdma_addrinfo& where, ibv_pd* pd, const ibv_qp_init_attr* qp) {
  if (rdma_bind_addr(&id, where.ai_src_addr) != 0) return -1;
  if (pd != nullptr) id.pd = pd;
  if (qp != nullptr) {
    id.child_qp = *qp;
    id.child_qp->qp_type = static_cast<ibv_qp_type>(where.ai_qp_type);
  }
  return 0;
}

int make_active(Identifier& id, const rdma_addrinfo& where, ibv_pd* pd, ibv_qp_init_attr* qp) {
  constexpr int kTimeoutMs = 2'000;
  if (rdma_resolve_addr(&id, where.ai_src_addr, where.ai_dst_addr, kTimeoutMs) != 0) return -1;
  if (rdma_resolve_route(&id, kTimeoutMs) != 0) return -1;
  if (qp == nullptr) return 0;
  qp->qp_type = static_cast<ibv_qp_type>(where.ai_qp_type);
  return rdma_create_qp(&id, pd, qp);
}

int refuse_request(rdma_cm_id* listener, rdma_cm_event* event, int code) {
  listener->event = event;
  return fail(code);
}

}  // namespace
}  // namespace weft::rdmacm

using namespace weft::rdmacm;

extern "C" {

int rdma_create_ep(rdma_cm_id** id, rdma_addrinfo* res, ibv_pd* pd, ibv_qp_init_attr* qp_init_attr) {
  rdma_cm_id* made = nullptr;
  const auto space = static_cast<rdma_port_space>(res->ai_port_space);
  if (create_identifier(nullptr, &made, nullptr, space, static_cast<ibv_qp_type>(res->ai_qp_type)) != 0) return -1;
  Identifier& me = identifier_of(made);
  const bool passive = (res->ai_flags & RAI_PASSIVE) != 0;
  const int result = passive ? make_passive(me, *res, pd, qp_init_attr) : make_active(me, *res, pd, qp_init_attr);
  if (result != 0) {
    const int code = errno;
    rdma_destroy_ep(made);
    return fail(code);
  }
  *id = made;
  return 0;
}

void rdma_destroy_ep(rdma_cm_id* id) {
  if (id->qp != nullptr) rdma_destroy_qp(id);
  if (id->srq != nullptr) rdma_destroy_srq(id);
  rdma_destroy_id(id);
}

int rdma_get_request(rdma_cm_id* listen, rdma_cm_id** id) {
  Identifier& me = identifier_of(listen);
  if (!me.sync || id == nullptr) return fail(EINVAL);
  if (listen->event != nullptr) {
    rdma_ack_cm_event(listen->event);
    listen->event = nullptr;
  }
  rdma_cm_event* event = nullptr;
  if (rdma_get_cm_event(listen->channel, &event) != 0) return -1;
  if (event->event == RDMA_CM_EVENT_REJECTED) return refuse_request(listen, event, ECONNREFUSED);
  if (event->status != 0) return refuse_request(listen, event, -event->status);
  if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) return refuse_request(listen, event, EINVAL);
  if (me.child_qp) {
    ibv_qp_init_attr attr = *me.child_qp;
    if (rdma_create_qp(event->id, listen->pd, &attr) != 0) return refuse_request(listen, event, errno);
  }
  *id = event->id;
  (*id)->event = event;
  return 0;
}

}  // extern "C"
