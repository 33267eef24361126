// Extended queue pairs: work is built call by call (ibv_wr_*).
#include <cstring>

#include "verbs/ibverbs/builder.h"
#include "verbs/ibverbs/context.h"
#include "verbs/ibverbs/errors.h"
#include "verbs/ibverbs/operations.h"
#include "verbs/ibverbs/post.h"
#include "verbs/ibverbs/qp.h"

namespace weft::verbs {

Builder::Builder(const host::QpLimits& limits)
    : work(limits.send_entries),
      max_sges_(limits.send_sges),
      max_inline_(limits.inline_bytes),
      sges_(std::size_t{limits.send_entries} * limits.send_sges),
      inline_bytes_(std::size_t{limits.send_entries} * limits.inline_bytes) {}

Builder::Staged* Builder::begin(const ibv_qp_ex& qp, nic::WorkKind kind) {
  if (error == 0 && count == work.size()) fail(ENOMEM);
  if (error != 0) return nullptr;
  Staged& s = work[count++];
  s = Staged{};
  s.request.id = qp.wr_id;
  s.request.kind = kind;
  set_flags(s.request, qp.wr_flags);
  return &s;
}

nic::Sge* Builder::sge_room(std::size_t wanted) {
  if (wanted > max_sges_) return nullptr;
  return sges_.data() + std::size_t{count - 1} * max_sges_;
}

std::byte* Builder::inline_room(std::size_t bytes) {
  if (bytes > max_inline_) return nullptr;
  return inline_bytes_.data() + std::size_t{count - 1} * max_inline_;
}

namespace {

Builder& builder_of(ibv_qp_ex* qp) { return *ours(qp).builder; }

Builder::Staged* begin(ibv_qp_ex* qp, nic::WorkKind kind) { return builder_of(qp).begin(*qp, kind); }

void begin_remote(ibv_qp_ex* qp, nic::WorkKind kind, std::uint32_t rkey, std::uint64_t address,
                  std::uint32_t immediate = 0, std::uint64_t compare_add = 0, std::uint64_t swap = 0) {
  Builder::Staged* s = begin(qp, kind);
  if (s == nullptr) return;
  s->request.remote_key = wire::Key(rkey);
  s->request.remote_address = address;
  s->request.immediate = immediate;
  s->request.compare_add = compare_add;
  s->request.swap = swap;
}

// ---- what to do -----------------------------------------------------------------------------------------------------

void wr_send(ibv_qp_ex* qp) { (void)begin(qp, nic::WorkKind::send); }
void wr_send_imm(ibv_qp_ex* qp, __be32 immediate) {
  if (Builder::Staged* s = begin(qp, nic::WorkKind::send_immediate)) s->request.immediate = be32toh(immediate);
}
void wr_send_inv(ibv_qp_ex* qp, std::uint32_t key) {
  if (Builder::Staged* s = begin(qp, nic::WorkKind::send_invalidate)) s->request.invalidate = wire::Key(key);
}
void wr_local_inv(ibv_qp_ex* qp, std::uint32_t key) {
  if (Builder::Staged* s = begin(qp, nic::WorkKind::local_invalidate)) s->request.invalidate = wire::Key(key);
}
void wr_rdma_write(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address) {
  begin_remote(qp, nic::WorkKind::write, rkey, address);
}
void wr_rdma_write_imm(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, __be32 immediate) {
  begin_remote(qp, nic::WorkKind::write_immediate, rkey, address, be32toh(immediate));
}
void wr_rdma_read(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address) {
  begin_remote(qp, nic::WorkKind::read, rkey, address);
}
void wr_atomic_cmp_swp(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, std::uint64_t compare,
                       std::uint64_t swap) {
  begin_remote(qp, nic::WorkKind::compare_swap, rkey, address, 0, compare, swap);
}
void wr_atomic_fetch_add(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, std::uint64_t add) {
  begin_remote(qp, nic::WorkKind::fetch_add, rkey, address, 0, add);
}
void wr_bind_mw(ibv_qp_ex* qp, ibv_mw* mw, std::uint32_t rkey, const ibv_mw_bind_info* info) {
  Builder::Staged* s = begin(qp, nic::WorkKind::bind_window);
  if (s == nullptr) return;
  s->window = &ours(mw);
  const int code = ours(mw).is_type_2 ? set_binding(s->request.binding, *mw, rkey, *info) : EINVAL;
  if (code != 0) builder_of(qp).fail(code);
}

// ---- to whom, with which data ---------------------------------------------------------------------------------------

void wr_set_ud_addr(ibv_qp_ex* qp, ibv_ah* ah, std::uint32_t qpn, std::uint32_t qkey) {
  if (Builder::Staged* s = builder_of(qp).current()) set_destination(s->request, *ah, qpn, qkey);
}

void wr_set_sge_list(ibv_qp_ex* qp, std::size_t count, const ibv_sge* list) {
  Builder& b = builder_of(qp);
  Builder::Staged* s = b.current();
  if (s == nullptr) return;
  nic::Sge* to = b.sge_room(count);
  if (to == nullptr) return b.fail(EINVAL);
  for (std::size_t i = 0; i < count; ++i) to[i] = sge_of(list[i]);
  s->request.sges = {to, count};
}

void wr_set_sge(ibv_qp_ex* qp, std::uint32_t lkey, std::uint64_t address, std::uint32_t length) {
  const ibv_sge one{address, length, lkey};
  wr_set_sge_list(qp, 1, &one);
}

void wr_set_inline_data_list(ibv_qp_ex* qp, std::size_t count, const ibv_data_buf* list) {
  Builder& b = builder_of(qp);
  Builder::Staged* s = b.current();
  if (s == nullptr) return;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) bytes += list[i].length;
  std::byte* to = b.inline_room(bytes);
  if (to == nullptr) return b.fail(EINVAL);
  s->inline_piece = {to, static_cast<std::uint32_t>(bytes)};
  for (std::size_t i = 0; i < count; to += list[i++].length) {
    if (list[i].length != 0) std::memcpy(to, list[i].addr, list[i].length);
  }
  s->request.is_inline = true;
}

void wr_set_inline_data(ibv_qp_ex* qp, void* address, std::size_t length) {
  const ibv_data_buf one{address, length};
  wr_set_inline_data_list(qp, 1, &one);
}

// ---- all or nothing -------------------------------------------------------------------------------------------------

void wr_start(ibv_qp_ex* qp) {
  builder_of(qp).building.lock();
  builder_of(qp).clear();
}

void wr_abort(ibv_qp_ex* qp) {
  builder_of(qp).clear();
  builder_of(qp).building.unlock();
}

int post_staged(QueuePair& qp, Builder::Staged& s) {
  if (s.request.is_inline) s.request.inline_data = {&s.inline_piece, 1};
  if (s.window != nullptr) s.request.binding.window = s.window->key;
  const int code = errno_of(qp.poster.post(s.request));
  if (code == 0 && s.window != nullptr) s.window->key = s.request.binding.new_key;
  return code;
}

// Takes back what was posted: the lock has not been given back since, so that the card has not heard of it.
void take_back(QueuePair& qp, std::span<Builder::Staged> posted) {
  qp.queue->poster().context->sq_posted -= static_cast<std::uint32_t>(posted.size());
  for (auto s = posted.rbegin(); s != posted.rend(); ++s) {
    if (s->window != nullptr) s->window->key = s->request.binding.window;
  }
}

int post_all(QueuePair& qp, Builder& b) {
  if (b.error != 0) return b.error;
  const Hold hold(*qp.owner);
  if (!hold) return EIO;
  for (std::uint32_t i = 0; i < b.count; ++i) {
    if (const int code = post_staged(qp, b.work[i]); code != 0) {
      take_back(qp, std::span(b.work).first(i));
      return code;
    }
  }
  qp.owner->lane.rang();
  if (!qp.poster.context->stateless()) qp.owner->order.note(qp.slot, b.count);
  return 0;
}

int wr_complete(ibv_qp_ex* qp) {
  Builder& b = builder_of(qp);
  const int code = post_all(ours(qp), b);
  b.clear();
  b.building.unlock();
  return code;
}

constexpr std::uint64_t kMessages = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
constexpr std::uint64_t kConnected = kMessages | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                                     IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW;
constexpr std::uint64_t kReliable = kConnected | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                                    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV;

}  // namespace

std::uint64_t possible_operations(ibv_qp_type type) {
  return type == IBV_QPT_RC ? kReliable : type == IBV_QPT_UC ? kConnected : kMessages;
}

void set_builders(QueuePair& qp, std::uint64_t operations) {
  const auto asked = [operations](ibv_qp_create_send_ops_flags o) { return (operations & o) != 0; };
  qp.wr_start = wr_start;
  qp.wr_complete = wr_complete;
  qp.wr_abort = wr_abort;
  qp.wr_set_sge = wr_set_sge;
  qp.wr_set_sge_list = wr_set_sge_list;
  qp.wr_set_inline_data = wr_set_inline_data;
  qp.wr_set_inline_data_list = wr_set_inline_data_list;
  if (qp.qp_base.qp_type == IBV_QPT_UD) qp.wr_set_ud_addr = wr_set_ud_addr;
  if (asked(IBV_QP_EX_WITH_RDMA_WRITE)) qp.wr_rdma_write = wr_rdma_write;
  if (asked(IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)) qp.wr_rdma_write_imm = wr_rdma_write_imm;
  if (asked(IBV_QP_EX_WITH_SEND)) qp.wr_send = wr_send;
  if (asked(IBV_QP_EX_WITH_SEND_WITH_IMM)) qp.wr_send_imm = wr_send_imm;
  if (asked(IBV_QP_EX_WITH_RDMA_READ)) qp.wr_rdma_read = wr_rdma_read;
  if (asked(IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP)) qp.wr_atomic_cmp_swp = wr_atomic_cmp_swp;
  if (asked(IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)) qp.wr_atomic_fetch_add = wr_atomic_fetch_add;
  if (asked(IBV_QP_EX_WITH_LOCAL_INV)) qp.wr_local_inv = wr_local_inv;
  if (asked(IBV_QP_EX_WITH_BIND_MW)) qp.wr_bind_mw = wr_bind_mw;
  if (asked(IBV_QP_EX_WITH_SEND_WITH_INV)) qp.wr_send_inv = wr_send_inv;
}

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* ex) { return create_special_qp(context, ex, {}); }

ibv_qp* create_special_qp(ibv_context* context, ibv_qp_init_attr_ex* ex, const QpExtras& extras) {
  constexpr std::uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  const auto has = [ex](ibv_qp_init_attr_mask bit) { return (ex->comp_mask & bit) != 0; };
  if ((ex->comp_mask & ~known) != 0) return refuse(EOPNOTSUPP);
  if (!has(IBV_QP_INIT_ATTR_PD) || !is_of(context, ex->pd)) return refuse(EINVAL);
  if (has(IBV_QP_INIT_ATTR_CREATE_FLAGS) && ex->create_flags != 0) return refuse(EOPNOTSUPP);
  const std::uint64_t operations = has(IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) ? ex->send_ops_flags : 0;
  if ((operations & ~possible_operations(ex->qp_type)) != 0) return refuse(EOPNOTSUPP);
  ibv_qp_init_attr attr{.qp_context = ex->qp_context,
                        .send_cq = ex->send_cq,
                        .recv_cq = ex->recv_cq,
                        .srq = ex->srq,
                        .cap = ex->cap,
                        .qp_type = ex->qp_type,
                        .sq_sig_all = ex->sq_sig_all};
  QueuePair* qp = make_qp(ex->pd, attr, extras);
  if (qp == nullptr) return nullptr;
  if (has(IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)) {
    qp->builder.reset(attempt([qp] { return new Builder(qp->queue->options().limits); }));
    if (qp->builder == nullptr) {
      ibv_destroy_qp(public_of(*qp));
      return refuse(ENOMEM);
    }
    set_builders(*qp, operations);
  }
  ex->cap = attr.cap;
  return public_of(*qp);
}

}  // namespace weft::verbs
