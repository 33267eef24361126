#include "verbs/ibverbs/operations.h"

#include "verbs/ibverbs/context.h"

namespace weft::verbs {

// What is not set here stays null, and verbs.h says EOPNOTSUPP for it: XRC, flow steering, work queues, counters, null
// regions, rate limits, tag matching.
void fill_operations(verbs_context& v) {
  ibv_context_ops& o = v.context.ops;
  o._compat_query_device = ibv_query_device;
  o._compat_query_port = query_old_port;
  o.alloc_mw = alloc_mw;
  o.bind_mw = bind_mw;
  o.dealloc_mw = dealloc_mw;
  o.poll_cq = poll_cq;
  o.req_notify_cq = req_notify_cq;
  o.post_srq_recv = post_srq_recv;
  o.post_send = post_send;
  o.post_recv = post_recv;
  v.query_port = query_port;
  v.query_device_ex = query_device_ex;
  v.query_rt_values = query_rt_values;
  v.advise_mr = advise_mr;
  v.alloc_dm = alloc_dm;
  v.free_dm = free_dm;
  v.reg_dm_mr = reg_dm_mr;
  v.alloc_td = alloc_td;
  v.dealloc_td = dealloc_td;
  v.alloc_parent_domain = alloc_parent_domain;
  v.create_cq_ex = create_cq_ex;
  v.modify_cq = modify_cq;
  v.create_srq_ex = create_srq_ex;
  v.create_qp_ex = create_qp_ex;
}

bool is_ours(const ibv_context* context) { return context->ops.post_send == post_send; }

}  // namespace weft::verbs
