// The data path: posting work. No allocation, no exceptions; the lane's lock once per list.
#include "verbs/ibverbs/post.h"

#include <array>

#include "base/room.h"
#include "verbs/ibverbs/context.h"
#include "verbs/ibverbs/errors.h"
#include "verbs/ibverbs/host_address.h"
#include "verbs/ibverbs/operations.h"
#include "verbs/ibverbs/raw_enum.h"
#include "verbs/ibverbs/rights.h"

namespace weft::verbs {

int set_binding(host::WorkRequest& r, ibv_mw& mw, std::uint32_t new_key, const ibv_mw_bind_info& info) {
  if ((info.mw_access_flags & ~kWindowAccess) != 0) return EINVAL;
  r.binding.window = ours(&mw).key;
  r.binding.region = wire::Key(info.mr != nullptr ? info.mr->lkey : 0);
  r.binding.address = info.addr;
  r.binding.length = info.mr != nullptr ? info.length : 0;
  r.binding.rights = rights_of(info.mw_access_flags);
  r.binding.new_key = wire::Key(new_key);
  return 0;
}

namespace {

struct Kind {
  nic::WorkKind kind{};
  bool known = false;
};

constexpr auto kKinds = [] {
  std::array<Kind, IBV_WR_DRIVER1 + 1> t{};
  const auto set = [&t](ibv_wr_opcode opcode, nic::WorkKind kind) { t[opcode] = {kind, true}; };
  set(IBV_WR_RDMA_WRITE, nic::WorkKind::write);
  set(IBV_WR_RDMA_WRITE_WITH_IMM, nic::WorkKind::write_immediate);
  set(IBV_WR_SEND, nic::WorkKind::send);
  set(IBV_WR_SEND_WITH_IMM, nic::WorkKind::send_immediate);
  set(IBV_WR_RDMA_READ, nic::WorkKind::read);
  set(IBV_WR_ATOMIC_CMP_AND_SWP, nic::WorkKind::compare_swap);
  set(IBV_WR_ATOMIC_FETCH_AND_ADD, nic::WorkKind::fetch_add);
  set(IBV_WR_LOCAL_INV, nic::WorkKind::local_invalidate);
  set(IBV_WR_BIND_MW, nic::WorkKind::bind_window);
  set(IBV_WR_SEND_WITH_INV, nic::WorkKind::send_invalidate);
  return t;
}();

// What each kind of work takes from its union.
int set_target(host::WorkRequest& r, const ibv_qp& qp, const ibv_send_wr& wr) {
  switch (r.kind) {
    case nic::WorkKind::send_immediate:
    case nic::WorkKind::write_immediate: r.immediate = be32toh(wr.imm_data); break;
    case nic::WorkKind::send_invalidate:
    case nic::WorkKind::local_invalidate: r.invalidate = wire::Key(wr.invalidate_rkey); break;
    default: break;
  }
  if (qp.qp_type == IBV_QPT_UD) {
    if (wr.wr.ud.ah == nullptr) return EINVAL;
    set_destination(r, *wr.wr.ud.ah, wr.wr.ud.remote_qpn, wr.wr.ud.remote_qkey);
    return 0;
  }
  switch (r.kind) {
    case nic::WorkKind::write:
    case nic::WorkKind::write_immediate:
    case nic::WorkKind::read:
      r.remote_address = wr.wr.rdma.remote_addr;
      r.remote_key = wire::Key(wr.wr.rdma.rkey);
      return 0;
    case nic::WorkKind::compare_swap:
    case nic::WorkKind::fetch_add:
      r.remote_address = wr.wr.atomic.remote_addr;
      r.remote_key = wire::Key(wr.wr.atomic.rkey);
      r.compare_add = wr.wr.atomic.compare_add;
      r.swap = wr.wr.atomic.swap;
      return 0;
    case nic::WorkKind::bind_window:
      // Type 1 windows are bound by ibv_bind_mw, which chooses their keys.
      if (wr.bind_mw.mw == nullptr || wr.bind_mw.mw->type != IBV_MW_TYPE_2) return EINVAL;
      return set_binding(r, *wr.bind_mw.mw, wr.bind_mw.rkey, wr.bind_mw.bind_info);
    default: return 0;
  }
}

int post_one(const ibv_qp& qp, const host::Poster& poster, const ibv_send_wr& wr) {
  const auto opcode = static_cast<std::size_t>(raw(wr.opcode));
  if (opcode >= kKinds.size() || !kKinds[opcode].known) return EINVAL;
  const auto count = static_cast<std::size_t>(wr.num_sge);
  if (wr.num_sge < 0 || count > nic::kMaxSges) return EINVAL;
  host::WorkRequest r{.id = wr.wr_id, .kind = kKinds[opcode].kind};
  set_flags(r, wr.send_flags);
  if (const int code = set_target(r, qp, wr); code != 0) return code;
  Room<nic::Sge, nic::kMaxSges> sges;
  Room<nic::Fragment, nic::kMaxSges> pieces;
  if (nic::is_local(r.kind)) {
    // no data
  } else if ((wr.send_flags & IBV_SEND_INLINE) != 0) {
    for (std::size_t i = 0; i < count; ++i) pieces.set(i, {place_of(wr.sg_list[i].addr), wr.sg_list[i].length});
    r.inline_data = pieces.first(count);
    r.is_inline = true;
  } else {
    for (std::size_t i = 0; i < count; ++i) sges.set(i, sge_of(wr.sg_list[i]));
    r.sges = sges.first(count);
  }
  const int code = errno_of(poster.post(r));
  if (code == 0 && r.kind == nic::WorkKind::bind_window) ours(wr.bind_mw.mw).key = r.binding.new_key;
  return code;
}

// Posts a list of receives by `post`; on the first refusal `bad` says which.
template <class Post>
int post_receives(ibv_recv_wr* wr, ibv_recv_wr** bad, Post&& post) {
  for (; wr != nullptr; wr = wr->next) {
    int code = EINVAL;
    const auto count = static_cast<std::size_t>(wr->num_sge);
    if (wr->num_sge >= 0 && count <= nic::kMaxSges) {
      Room<nic::Sge, nic::kMaxSges> sges;
      for (std::size_t i = 0; i < count; ++i) sges.set(i, sge_of(wr->sg_list[i]));
      code = errno_of(post(host::ReceiveRequest{wr->wr_id, sges.first(count)}));
    }
    if (code != 0) {
      *bad = wr;
      return code;
    }
  }
  return 0;
}

}  // namespace

// With thousands of queue pairs each cache line of each counts. All that is needed of the object is in its first, and
// the queue pair's context is on its way while the lock is taken.
int post_send(ibv_qp* ibqp, ibv_send_wr* wr, ibv_send_wr** bad) {
  Context& owner = context_of(ibqp->context);
  const host::Poster poster{&owner.device, &owner.device.card().contexts[ibqp->handle]};
  prefetch(poster.context);
  prefetch(&poster.context->sq);
  const Hold hold(owner);
  int code = hold ? 0 : EIO;
  if (code != 0) *bad = wr;
  std::uint32_t posted = 0;
  for (; code == 0 && wr != nullptr; wr = wr->next, ++posted) {
    if (wr->next != nullptr) poster.prefetch_entry(1);
    code = post_one(*ibqp, poster, *wr);
    if (code != 0) *bad = wr;
  }
  if (!hold) return code;
  owner.lane.rang();
  owner.order.note(ibqp->handle, posted);
  return code;
}

int post_recv(ibv_qp* ibqp, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  QueuePair& qp = ours(ibqp);
  const Hold hold(*qp.owner);
  if (!hold) {
    *bad = wr;
    return EIO;
  }
  const int code = post_receives(wr, bad, [&qp](const host::ReceiveRequest& r) { return qp.queue->post_receive(r); });
  // The card need not hear of receives, unless it is to flush them.
  if (qp.owner->device.doorbells_waiting()) qp.owner->lane.rang();
  return code;
}

int post_srq_recv(ibv_srq* ibsrq, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  SharedReceiveQueue& srq = ours(ibsrq);
  const Hold hold(*srq.owner);
  if (!hold) {
    *bad = wr;
    return EIO;
  }
  return post_receives(wr, bad, [&srq](const host::ReceiveRequest& r) { return srq.queue->post(r); });
}

}  // namespace weft::verbs
