// The data path: posting work. No allocation, no exceptions; the lane's lock once per list.
#include "verbs/ibverbs/post.h"

#include <array>
#include <atomic>

#include "host/write_work.h"
#include "verbs/ibverbs/context.h"
#include "verbs/ibverbs/errors.h"
#include "verbs/ibverbs/host_address.h"
#include "verbs/ibverbs/operations.h"
#include "verbs/ibverbs/raw_enum.h"
#include "verbs/ibverbs/rights.h"

namespace weft::verbs {

int set_binding(nic::WindowBinding& b, ibv_mw& mw, std::uint32_t new_key, const ibv_mw_bind_info& info) {
  if ((info.mw_access_flags & ~kWindowAccess) != 0) return EINVAL;
  b.window = ours(&mw).key;
  b.region = info.mr != nullptr ? ours(info.mr).key : wire::Key(0);
  b.address = info.addr;
  b.length = info.mr != nullptr ? info.length : 0;
  b.rights = rights_of(info.mw_access_flags);
  b.new_key = wire::Key(new_key);
  return 0;
}

namespace {

// What work of each opcode is, and what it takes from the unions of its request if it moves data.
enum class Word : std::uint8_t { none, immediate, key };
enum class Target : std::uint8_t { none, remote, atomic };
struct Kind {
  nic::WorkKind kind{};
  Word word{};
  Target target{};
  bool known = false;
};

constexpr auto kKinds = [] {
  std::array<Kind, IBV_WR_DRIVER1 + 1> t{};
  const auto set = [&t](ibv_wr_opcode opcode, nic::WorkKind kind, Word word = Word::none, Target to = Target::none) {
    t[opcode] = {kind, word, to, true};
  };
  set(IBV_WR_RDMA_WRITE, nic::WorkKind::write, Word::none, Target::remote);
  set(IBV_WR_RDMA_WRITE_WITH_IMM, nic::WorkKind::write_immediate, Word::immediate, Target::remote);
  set(IBV_WR_SEND, nic::WorkKind::send);
  set(IBV_WR_SEND_WITH_IMM, nic::WorkKind::send_immediate, Word::immediate);
  set(IBV_WR_RDMA_READ, nic::WorkKind::read, Word::none, Target::remote);
  set(IBV_WR_ATOMIC_CMP_AND_SWP, nic::WorkKind::compare_swap, Word::none, Target::atomic);
  set(IBV_WR_ATOMIC_FETCH_AND_ADD, nic::WorkKind::fetch_add, Word::none, Target::atomic);
  set(IBV_WR_LOCAL_INV, nic::WorkKind::local_invalidate);
  set(IBV_WR_BIND_MW, nic::WorkKind::bind_window);
  set(IBV_WR_SEND_WITH_INV, nic::WorkKind::send_invalidate, Word::key);
  return t;
}();

// The same list for inline data, whose elements are the program's own bytes.
struct PieceList {
  const ibv_sge* first;
  std::size_t count;
  [[nodiscard]] std::size_t size() const { return count; }
  [[nodiscard]] nic::Fragment operator[](std::size_t i) const { return {place_of(first[i].addr), first[i].length}; }
};

// A work request of verbs that moves data, as a Source (host/write_work.h).
class Request {
 public:
  Request(const ibv_send_wr& wr, Kind what)
      : wr_(wr), what_(what), flags_(work_flags(wr.send_flags)), count_(static_cast<std::size_t>(wr.num_sge)) {}

  [[nodiscard]] std::uint64_t id() const { return wr_.wr_id; }
  [[nodiscard]] nic::WorkKind kind() const { return what_.kind; }
  [[nodiscard]] std::uint8_t flags() const { return flags_; }
  [[nodiscard]] SgeList sges() const { return {wr_.sg_list, is_inline() ? 0 : count_}; }
  [[nodiscard]] PieceList pieces() const { return {wr_.sg_list, count_}; }
  [[nodiscard]] const nic::AddressVector& to() const { return ours(wr_.wr.ud.ah).to; }

  void aim(nic::Work& w, nic::Context& c) const {
    if (what_.word == Word::immediate) w.immediate = be32toh(wr_.imm_data);
    if (what_.word == Word::key) w.immediate = wr_.invalidate_rkey;
    if (c.service == wire::Service::ud) {
      const AddressHandle& ah = ours(wr_.wr.ud.ah);
      w.hop_limit = ah.hop_limit;
      host::aim_datagram(w, c, ah.to, ah.service_level, wire::Qpn(wr_.wr.ud.remote_qpn),
                         wire::Qkey(wr_.wr.ud.remote_qkey));
    } else if (what_.target == Target::remote) {
      w.key = wr_.wr.rdma.rkey;
      w.remote.address = wr_.wr.rdma.remote_addr;
    } else if (what_.target == Target::atomic) {
      w.key = wr_.wr.atomic.rkey;
      w.remote = {wr_.wr.atomic.remote_addr, wr_.wr.atomic.compare_add, wr_.wr.atomic.swap};
    }
  }

 private:
  [[nodiscard]] bool is_inline() const { return (flags_ & nic::WorkFlags::inline_data) != 0; }

  const ibv_send_wr& wr_;
  Kind what_;
  std::uint8_t flags_;  // WorkFlags
  std::size_t count_;
};

// Work that moves no data is rare, and takes the way of a WorkRequest.
[[gnu::noinline]] int post_local(const PostingPart& qp, const ibv_send_wr& wr, nic::WorkKind kind) {
  if (qp.is_datagram) return EINVAL;
  host::WorkRequest r{.id = wr.wr_id, .kind = kind};
  set_flags(r, wr.send_flags);
  if (kind == nic::WorkKind::local_invalidate) {
    r.invalidate = wire::Key(wr.invalidate_rkey);
    return errno_of(qp.poster.post(r));
  }
  // Type 1 windows are bound by ibv_bind_mw, which chooses their keys.
  if (wr.bind_mw.mw == nullptr || !ours(wr.bind_mw.mw).is_type_2) return EINVAL;
  int code = set_binding(r.binding, *wr.bind_mw.mw, wr.bind_mw.rkey, wr.bind_mw.bind_info);
  if (code == 0) code = errno_of(qp.poster.post(r));
  if (code == 0) ours(wr.bind_mw.mw).key = r.binding.new_key;
  return code;
}

// The doorbell comes after the last one of a list.
int post_one(const PostingPart& qp, const ibv_send_wr& wr) {
  const auto opcode = static_cast<std::size_t>(raw(wr.opcode));
  if (opcode >= kKinds.size() || !kKinds[opcode].known) return EINVAL;
  const Kind what = kKinds[opcode];
  if (wr.num_sge < 0 || static_cast<std::size_t>(wr.num_sge) > nic::kMaxSges) return EINVAL;
  if (nic::is_local(what.kind)) [[unlikely]]
    return post_local(qp, wr, what.kind);
  if (qp.is_datagram && wr.wr.ud.ah == nullptr) return EINVAL;
  return errno_of(host::write_work(*qp.poster.context, qp.poster.device->card().port, Request(wr, what)));
}

// Posts a list of receives by `post`; on the first refusal `bad` says which.
template <class Post>
int post_receives(ibv_recv_wr* wr, ibv_recv_wr** bad, Post&& post) {
  for (; wr != nullptr; wr = wr->next) {
    int code = EINVAL;
    const auto count = static_cast<std::size_t>(wr->num_sge);
    if (wr->num_sge >= 0 && count <= nic::kMaxSges) {
      code = errno_of(post(wr->wr_id, SgeList{wr->sg_list, count}));
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
  PostingPart& qp = ours(ibqp);
  Context& owner = *qp.owner;
  const host::Poster& poster = qp.poster;
  const nic::Context* const context = std::atomic_ref(qp.poster.context).load(std::memory_order_relaxed);
  prefetch(context);
  prefetch(&context->sq);
  const Hold hold(owner);
  int code = hold ? 0 : EIO;
  if (code != 0) *bad = wr;
  std::uint32_t posted = 0;
  for (; code == 0 && wr != nullptr; wr = wr->next, ++posted) {
    if (wr->next != nullptr) [[unlikely]]
      poster.prefetch_entry(1);
    code = post_one(qp, *wr);
    if (code != 0) *bad = wr;
  }
  if (!hold) return code;
  if (poster.context->stateless()) [[unlikely]] {  // the card has no slot for it
    owner.device.ring(*poster.context);
    owner.lane.rang();
    return code;
  }
  owner.lane.rang(qp.slot);
  owner.order.note(qp.slot, posted);
  return code;
}

int post_recv(ibv_qp* ibqp, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  QueuePair& qp = ours(ibqp);
  const Hold hold(*qp.owner);
  if (!hold) {
    *bad = wr;
    return EIO;
  }
  const int code =
      post_receives(wr, bad, [&qp](std::uint64_t id, SgeList sges) { return qp.queue->post_receive(id, sges); });
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
  return post_receives(wr, bad, [&srq](std::uint64_t id, SgeList sges) { return srq.queue->post(id, sges); });
}

}  // namespace weft::verbs
