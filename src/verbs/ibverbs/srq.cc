// Shared receive queues.
#include "verbs/ibverbs/acknowledge.h"
#include "verbs/ibverbs/context.h"
#include "verbs/ibverbs/errors.h"
#include "verbs/ibverbs/operations.h"
#include "verbs/ibverbs/raw_enum.h"

namespace weft::verbs {
namespace {

// What was asked for becomes what was got.
ibv_srq* make_srq(ibv_pd* pd, void* srq_context, ibv_srq_attr& attr) {
  Context& c = context_of(*pd);
  const Hold hold(c);
  if (!hold) return refuse(EIO);
  return attempt([&]() -> ibv_srq* {
    auto srq = std::make_unique<SharedReceiveQueue>();
    const auto queue = c.device.create_srq(ours(pd).number, attr.max_wr, attr.max_sge);
    if (!queue) return refuse(queue.error());
    attr.max_wr = (*queue)->capacity();
    attr.max_sge = (*queue)->max_sges();
    srq->context = pd->context;
    srq->srq_context = srq_context;
    srq->pd = pd;
    srq->handle = (*queue)->number();
    srq->owner = &c;
    srq->queue = *queue;
    make_acknowledgeable(*srq);
    ++ours(pd).users;
    c.srqs[(*queue)->number()] = srq.get();
    return srq.release();
  });
}

}  // namespace

ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* attr) {
  const bool typed = (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) != 0;
  if (typed && raw(attr->srq_type) != IBV_SRQT_BASIC) return refuse(EOPNOTSUPP);
  if ((attr->comp_mask & ~(IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD)) != 0) return refuse(EOPNOTSUPP);
  if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0 || !is_of(context, attr->pd)) return refuse(EINVAL);
  return make_srq(attr->pd, attr->srq_context, attr->attr);
}

}  // namespace weft::verbs

using namespace weft::verbs;

extern "C" {

ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* init) { return make_srq(pd, init->srq_context, init->attr); }

int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attr, int mask) {
  if ((mask & IBV_SRQ_MAX_WR) != 0) return EOPNOTSUPP;
  if ((mask & ~IBV_SRQ_LIMIT) != 0) return EINVAL;
  const Hold hold(*ours(srq).owner);
  if (!hold) return EIO;
  return (mask & IBV_SRQ_LIMIT) != 0 ? errno_of(ours(srq).queue->set_limit(attr->srq_limit)) : 0;
}

int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* attr) {
  const Hold hold(*ours(srq).owner);
  if (!hold) return EIO;
  const weft::host::SharedReceiveQueue& queue = *ours(srq).queue;
  *attr = {.max_wr = queue.capacity(), .max_sge = queue.max_sges(), .srq_limit = queue.limit()};
  return 0;
}

int ibv_destroy_srq(ibv_srq* ibsrq) {
  SharedReceiveQueue& srq = ours(ibsrq);
  Context& c = *srq.owner;
  {
    const Hold hold(c);
    if (!hold) return EIO;
    const std::uint32_t number = srq.queue->number();
    if (const int code = errno_of(c.device.destroy(srq.queue)); code != 0) return code;
    c.srqs[number] = nullptr;
    c.forget_async_events(ibsrq);
    --ours(srq.pd).users;
  }
  await_acknowledged(srq.mutex, srq.cond, srq.async_events);
  unmake_acknowledgeable(srq);
  delete &srq;
  return 0;
}

}  // extern "C"
