// Shared receive queues on identifiers.
#include <rdma/rdma_verbs.h>

#include "verbs/rdmacm/errors.h"
#include "verbs/rdmacm/identifier.h"
#include "verbs/rdmacm/queue_pair.h"

using namespace weft::rdmacm;

extern "C" {

int rdma_create_srq_ex(rdma_cm_id* id, ibv_srq_init_attr_ex* attr) {
  if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) == 0 || id->verbs == nullptr) return fail(EINVAL);
  if (attr->srq_type != IBV_SRQT_BASIC) return fail(EOPNOTSUPP);
  if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0 || attr->pd == nullptr) {
    attr->pd = id->pd;
    attr->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
  }
  // The plain call: whatever else the long form can say is for other kinds of queues.
  ibv_srq_init_attr plain{.srq_context = attr->srq_context, .attr = attr->attr};
  ibv_srq* srq = ibv_create_srq(attr->pd, &plain);
  if (srq == nullptr) return -1;
  attr->attr = plain.attr;
  if (id->pd == nullptr) id->pd = attr->pd;
  id->srq = srq;
  return 0;
}

int rdma_create_srq(rdma_cm_id* id, ibv_pd* pd, ibv_srq_init_attr* attr) {
  ibv_srq_init_attr_ex more{};
  more.srq_context = attr->srq_context;
  more.attr = attr->attr;
  more.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
  more.srq_type = IBV_SRQT_BASIC;
  more.pd = pd;
  const int result = rdma_create_srq_ex(id, &more);
  attr->attr = more.attr;
  return result;
}

void rdma_destroy_srq(rdma_cm_id* id) {
  if (id->srq != nullptr) ibv_destroy_srq(id->srq);
  id->srq = nullptr;
  destroy_queues(*id);
}

}  // extern "C"
