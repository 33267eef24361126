// Queue pairs: made, brought from state to state, asked, destroyed.
#include "verbs/ibverbs/qp.h"

#include <bit>
#include <cstdio>
#include <memory>
#include <memory_resource>

#include "verbs/ibverbs/acknowledge.h"
#include "verbs/ibverbs/builder.h"
#include "verbs/ibverbs/errors.h"
#include "verbs/ibverbs/qp_attributes.h"
#include "verbs/ibverbs/raw_enum.h"

namespace weft::verbs {
namespace {

// none: a type of queue pair that this device has not.
wire::Service service_of(const ibv_qp_type& type) {
  switch (raw(type)) {
    case IBV_QPT_RC: return wire::Service::rc;
    case IBV_QPT_UC: return wire::Service::uc;
    case IBV_QPT_UD: return wire::Service::ud;
    default: return wire::Service::none;
  }
}

ibv_qp_type type_of(wire::Service service) {
  if (service == wire::Service::ud) return IBV_QPT_UD;
  return service == wire::Service::uc ? IBV_QPT_UC : IBV_QPT_RC;
}

host::QpOptions options_of(const ibv_qp_init_attr& a) {
  host::QpOptions o;
  o.service = service_of(a.qp_type);
  o.signal_all = a.sq_sig_all != 0;
  o.limits = {.send_entries = a.cap.max_send_wr,
              .receive_entries = a.srq != nullptr ? 0 : a.cap.max_recv_wr,
              .send_sges = a.cap.max_send_sge,
              .receive_sges = a.srq != nullptr ? 0 : a.cap.max_recv_sge,
              .inline_bytes = a.cap.max_inline_data};
  if (a.send_cq != nullptr) o.send_cq = ours(a.send_cq).queue;
  if (a.recv_cq != nullptr) o.receive_cq = ours(a.recv_cq).queue;
  if (a.srq != nullptr) o.srq = ours(a.srq).queue;
  return o;
}

void introduce(QueuePair& qp, ibv_pd* pd, const ibv_qp_init_attr& a) {
  ibv_qp& p = qp.qp_base;
  p.context = pd->context;
  p.qp_context = a.qp_context;
  p.pd = pd;
  p.send_cq = a.send_cq;
  p.recv_cq = a.recv_cq;
  p.srq = a.srq;
  p.handle = qp.slot;
  p.qp_num = qp.queue->qpn().raw();
  p.state = IBV_QPS_RESET;
  p.qp_type = a.qp_type;
  make_acknowledgeable(p);
}

ibv_qp_init_attr origin_of(QueuePair& qp) {
  const ibv_qp& p = qp.qp_base;
  return {.qp_context = p.qp_context,
          .send_cq = p.send_cq,
          .recv_cq = p.recv_cq,
          .srq = p.srq,
          .cap = capabilities_of(qp.queue->options()),
          .qp_type = type_of(qp.queue->options().service),
          .sq_sig_all = qp.queue->options().signal_all};
}

// What a card without state cannot do, said where the program's writer looks: errno has no word for it.
void explain_stateless(const char* what) {
  std::fprintf(stderr, "weft: a queue pair that is stateless in StaR has no %s: its card keeps nothing of it\n", what);
}

// The objects of queue pairs lie beside each other, as rings do: posting to one after the other is not to wait for page
// tables. With the lane's lock held.
struct Unmake {
  host::Device& device;
  void operator()(QueuePair* qp) const { std::pmr::polymorphic_allocator<>(&device.pool()).delete_object(qp); }
};
std::unique_ptr<QueuePair, Unmake> new_queue_pair(host::Device& device) {
  return {std::pmr::polymorphic_allocator<>(&device.pool()).new_object<QueuePair>(), Unmake{device}};
}

}  // namespace

QueuePair::QueuePair() : ibv_qp_ex{} {}
QueuePair::~QueuePair() = default;

QueuePair* make_qp(ibv_pd* pd, ibv_qp_init_attr& attr, const QpExtras& extras) {
  Context& c = context_of(*pd);
  if (service_of(attr.qp_type) == wire::Service::none) return refuse(EOPNOTSUPP);
  if (!is_of(pd->context, attr.send_cq) || !is_of(pd->context, attr.recv_cq)) return refuse(EINVAL);
  if (attr.srq != nullptr && !is_of(pd->context, attr.srq)) return refuse(EINVAL);
  if (const int code = c.attach(extras.role); code != 0) return refuse(code);
  const Hold hold(c);
  if (!hold) return refuse(EIO);
  return attempt([&]() -> QueuePair* {
    auto qp = new_queue_pair(c.device);
    host::QpOptions options = options_of(attr);
    options.role = extras.role;
    options.serves_calls = extras.serves_calls;
    options.local_calls = extras.local_calls;
    options.wants_to_call = extras.calls;
    const auto queue = c.device.create_qp(ours(pd).number, options);
    if (!queue) {
      const bool stateless =
          (extras.role == host::StarRole::none ? c.device.config().role : extras.role) == host::StarRole::stateless;
      if (stateless && options.srq != nullptr && queue.error() == host::Error::not_supported)
        explain_stateless("shared receive queue");
      return refuse(queue.error());
    }
    qp->owner = &c;
    qp->queue = *queue;
    qp->poster = (*queue)->poster();
    qp->slot = (*queue)->slot();
    qp->is_datagram = (*queue)->options().service == wire::Service::ud;
    introduce(*qp, pd, attr);
    attr.cap = capabilities_of((*queue)->options());
    ++ours(pd).users;
    if (qp->slot >= c.qps.size()) c.qps.resize(std::bit_ceil(qp->slot + 1));  // the card has none of these
    c.qps[qp->slot] = qp.get();
    return qp.release();
  });
}

}  // namespace weft::verbs

using namespace weft::verbs;

extern "C" {

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attr) {
  QueuePair* qp = make_qp(pd, *attr);
  return qp != nullptr ? public_of(*qp) : nullptr;
}

int ibv_modify_qp(ibv_qp* ibqp, ibv_qp_attr* attr, int attr_mask) try {
  QueuePair& qp = ours(ibqp);
  auto mask = static_cast<std::uint32_t>(attr_mask);
  weft::host::QpAttributes attributes;
  if (!translate(*attr, mask, attributes)) return EINVAL;
  if (qp.owner->lost()) return EIO;
  if ((attr_mask & IBV_QP_AV) != 0 && (attr_mask & IBV_QP_DEST_QPN) != 0 &&
      !qp.owner->reaches(attributes.peer, attributes.peer_qpn)) {
    return EHOSTUNREACH;
  }
  const Hold hold(*qp.owner);
  const bool ends = (attr_mask & IBV_QP_STATE) != 0 &&
                    (attributes.state == weft::nic::QpState::reset || attributes.state == weft::nic::QpState::error);
  if (ends) qp.owner->settle_debts();
  if (const int code = errno_of(qp.queue->modify(attributes, mask)); code != 0) {
    const bool drains = (attr_mask & IBV_QP_STATE) != 0 && attributes.state == weft::nic::QpState::sqd;
    if (code == EOPNOTSUPP && drains && qp.queue->block() != nullptr) explain_stateless("SQD state");
    return code;
  }
  qp.owner->on_moved(*qp.queue);  // a reset ends what was agreed upon
  if ((attr_mask & IBV_QP_STATE) != 0) ibqp->state = attr->qp_state;
  qp.owner->lane.rang();
  return 0;
} catch (const std::bad_alloc&) {  // the lane's first words to a peer need memory, too
  return ENOMEM;
}

// All attributes, whatever the mask asks for.
int ibv_query_qp(ibv_qp* ibqp, ibv_qp_attr* attr, int, ibv_qp_init_attr* init) {
  QueuePair& qp = ours(ibqp);
  const Hold hold(*qp.owner);
  if (!hold) return EIO;
  *attr = translate(qp.queue->query());
  attr->cap = capabilities_of(qp.queue->options());
  *init = origin_of(qp);
  ibqp->state = attr->qp_state;
  return 0;
}

int ibv_destroy_qp(ibv_qp* ibqp) {
  QueuePair& qp = ours(ibqp);
  Context& c = *qp.owner;
  {
    const Hold hold(c);
    if (!hold) return EIO;
    c.settle_debts();
    if (const int code = errno_of(c.device.destroy(qp.queue)); code != 0) return code;
    c.qps[qp.slot] = nullptr;
    c.forget_async_events(ibqp);
    --ours(ibqp->pd).users;
  }
  await_acknowledged(ibqp->mutex, ibqp->cond, qp.async_events);
  unmake_acknowledgeable(*ibqp);
  const Hold hold(c);
  if (hold) Unmake{c.device}(&qp);
  return 0;
}

ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) { return ours(qp).builder != nullptr ? &ours(qp) : nullptr; }

// Messages are placed packet by packet as they come, each from its first byte to its last; after a loss, from there on.
int ibv_query_qp_data_in_order(ibv_qp*, ibv_wr_opcode, std::uint32_t) { return 0; }

}  // extern "C"
