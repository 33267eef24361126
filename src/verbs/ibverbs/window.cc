// Memory windows: made and destroyed here; opening one onto a region is work like any other.
#include "verbs/ibverbs/context.h"
#include "verbs/ibverbs/errors.h"
#include "verbs/ibverbs/operations.h"
#include "verbs/ibverbs/post.h"

namespace weft::verbs {

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) {
  Context& c = context_of(*pd);
  const Hold hold(c);
  if (!hold) return refuse(EIO);
  return attempt([&]() -> ibv_mw* {
    auto mw = std::make_unique<Window>();
    const auto key = c.device.create_window(ours(pd).number, type);
    if (!key) return refuse(key.error());
    mw->context = pd->context;
    mw->pd = pd;
    mw->rkey = mw->handle = key->raw();
    mw->type = type;
    mw->key = *key;
    mw->is_type_2 = type == IBV_MW_TYPE_2;
    ++ours(pd).users;
    return mw.release();
  });
}

// A type 1 window gets its new key from us: the next of the 256 that are its own.
int bind_mw(ibv_qp* ibqp, ibv_mw* mw, ibv_mw_bind* bind) {
  QueuePair& qp = ours(ibqp);
  if (ours(mw).is_type_2) return EINVAL;
  const Hold hold(*qp.owner);
  if (!hold) return EIO;
  const std::uint32_t next = ibv_inc_rkey(ours(mw).key.raw());
  host::WorkRequest r{.id = bind->wr_id, .kind = nic::WorkKind::bind_window};
  set_flags(r, bind->send_flags);
  if (const int code = set_binding(r.binding, *mw, next, bind->bind_info); code != 0) return code;
  if (const int code = errno_of(qp.queue->post_send(r)); code != 0) return code;
  ours(mw).key = wire::Key(next);
  mw->rkey = next;
  qp.owner->lane.rang();
  return 0;
}

int dealloc_mw(ibv_mw* mw) {
  Context& c = context_of(*mw);
  const Hold hold(c);
  if (!hold) return EIO;
  // Bindings may have failed, or not have happened yet: what its key is now, only the card knows.
  const nic::Region* window = c.device.card().memory.find_variant(ours(mw).key);
  if (window == nullptr) return EINVAL;
  if (const int code = errno_of(c.device.destroy_window(window->key)); code != 0) return code;
  if (c.device.doorbells_waiting()) c.lane.rang();
  --ours(mw->pd).users;
  delete &ours(mw);
  return 0;
}

}  // namespace weft::verbs
