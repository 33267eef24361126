// Calls of kernels on the peer's card and on this one, for libweft_dv.so.1 (verbs/dv_port.h).
#include <array>
#include <cstring>

#include <time.h>

#include "host/write_work.h"
#include "verbs/dv_port.h"
#include "verbs/ibverbs/context.h"
#include "verbs/ibverbs/errors.h"
#include "verbs/ibverbs/host_address.h"
#include "verbs/ibverbs/post.h"

namespace weft::verbs {
namespace {

// How often a call looks whether it is known what the peer is, and how many times it does.
constexpr long kLookEveryNanoseconds = 100'000;
constexpr int kMostLooks = 50'000;

constexpr unsigned kFlags = IBV_SEND_SIGNALED | IBV_SEND_FENCE | IBV_SEND_INLINE;

// Inline data: a call's head, if there is one, and the program's own bytes.
struct PieceList {
  const nic::CallHead* head;
  SgeList rest;
  [[nodiscard]] std::size_t size() const { return rest.count + (head != nullptr ? 1 : 0); }
  [[nodiscard]] nic::Fragment operator[](std::size_t i) const {
    if (head != nullptr && i == 0) return {std::as_bytes(std::span(head, 1)).data(), sizeof *head};
    const ibv_sge& s = rest.first[head != nullptr ? i - 1 : i];
    return {place_of(s.addr), s.length};
  }
};

// A call, or payload, as a Source (host/write_work.h).
template <class Call>
class Request {
 public:
  Request(const Call& call, nic::WorkKind kind, const nic::CallHead* head) : call_(call), kind_(kind), head_(head) {}

  [[nodiscard]] std::uint64_t id() const { return call_.wr_id; }
  [[nodiscard]] nic::WorkKind kind() const { return kind_; }
  [[nodiscard]] std::uint8_t flags() const { return work_flags(call_.send_flags); }
  [[nodiscard]] SgeList sges() const {
    return {call_.sg_list, is_inline() ? 0 : static_cast<std::size_t>(call_.num_sge)};
  }
  [[nodiscard]] PieceList pieces() const { return {head_, {call_.sg_list, static_cast<std::size_t>(call_.num_sge)}}; }
  [[nodiscard]] nic::AddressVector to() const { return {}; }
  void aim(nic::Work& w, nic::Context&) const {
    w.key = call_.rkey;
    w.remote.address = call_.opcode;
  }

  // 0 or errno. Without inline data the head lies in the program's memory.
  [[nodiscard]] int prepare() const {
    if ((call_.send_flags & ~kFlags) != 0) return EINVAL;
    if (call_.num_sge < 0 || static_cast<std::size_t>(call_.num_sge) > nic::kMaxSges) return EINVAL;
    if (call_.num_sge != 0 && call_.sg_list == nullptr) return EINVAL;
    if (is_inline() || head_ == nullptr) return 0;
    if (call_.num_sge == 0 || call_.sg_list[0].length < sizeof *head_) return EINVAL;
    std::memcpy(place_of(call_.sg_list[0].addr), head_, sizeof *head_);
    return 0;
  }

 private:
  [[nodiscard]] bool is_inline() const { return (call_.send_flags & IBV_SEND_INLINE) != 0; }

  const Call& call_;
  nic::WorkKind kind_;
  const nic::CallHead* head_;
};

template <class Source>
int post_once(QueuePair& qp, const Source& from) {
  Context& owner = *qp.owner;
  const Hold hold(owner);
  if (!hold) return EIO;
  if (qp.queue->awaits_kernels()) return EAGAIN;
  const int code = errno_of(host::write_work(*qp.poster.context, owner.device.card().port, from));
  if (code != 0) return code;
  owner.lane.rang(qp.slot);
  owner.order.note(qp.slot, 1);
  return 0;
}

template <class Source>
int post(ibv_qp* ibqp, const Source& from) {
  QueuePair& qp = ours(ibqp);
  int code = from.prepare();
  if (code == 0) code = post_once(qp, from);
  for (int looks = 0; code == EAGAIN && looks < kMostLooks; ++looks) {  // the lane's thread hears the answer
    const timespec pause{.tv_sec = 0, .tv_nsec = kLookEveryNanoseconds};
    nanosleep(&pause, nullptr);
    code = post_once(qp, from);
  }
  return code;
}

}  // namespace

int post_rpc(ibv_qp* qp, const weftdv_rpc& call) {
  const nic::CallHead head{.address = call.answer_addr,
                           .key = call.answer_rkey,
                           .room = call.answer_length,
                           .immediate = be32toh(call.imm_data),
                           .flags = call.notify ? nic::CallHead::kCompletes : 0};
  if (head.room != 0 && head.room < sizeof(nic::ReplyHead)) return EINVAL;
  return post(qp, Request(call, nic::WorkKind::rpc, &head));
}

int post_rpc_write(ibv_qp* qp, const weftdv_rpc_write& payload) {
  return post(qp, Request(payload, nic::WorkKind::rpc_write, nullptr));
}

namespace {

int post_local(ibv_qp* ibqp, const host::LocalRequest& request) {
  QueuePair& qp = ours(ibqp);
  Context& owner = *qp.owner;
  const Hold hold(owner);
  if (!hold) return EIO;
  const int code = errno_of(qp.queue->write_local_call(request));
  if (code != 0) return code;
  owner.lane.rang(qp.slot);
  return 0;
}

}  // namespace

int post_local_rpc(ibv_qp* qp, const weftdv_local_rpc& call) {
  if ((call.send_flags & ~static_cast<unsigned>(IBV_SEND_SIGNALED)) != 0) return EINVAL;
  if (call.parameters == nullptr && call.parameter_bytes != 0) return EINVAL;
  const nic::Fragment parameters{static_cast<const std::byte*>(call.parameters), call.parameter_bytes};
  return post_local(qp, {.id = call.wr_id,
                         .opcode = call.opcode,
                         .signaled = (call.send_flags & IBV_SEND_SIGNALED) != 0,
                         .key = wire::Key(call.lkey),
                         .answer = {.address = call.answer_addr, .key = call.answer_lkey, .room = call.answer_length},
                         .parameters = std::span(&parameters, call.parameter_bytes != 0 ? 1U : 0U)});
}

int post_local_rpc_write(ibv_qp* qp, const weftdv_local_rpc_write& payload) {
  if ((payload.send_flags & ~static_cast<unsigned>(IBV_SEND_SIGNALED)) != 0) return EINVAL;
  if (payload.num_sge < 0 || static_cast<std::size_t>(payload.num_sge) > nic::kMaxSges) return EINVAL;
  if (payload.num_sge != 0 && payload.sg_list == nullptr) return EINVAL;
  const auto count = static_cast<std::size_t>(payload.num_sge);
  std::array<nic::Sge, nic::kMaxSges> sges;
  for (std::size_t i = 0; i < count; ++i) sges[i] = sge_of(payload.sg_list[i]);
  return post_local(qp, {.id = payload.wr_id,
                         .opcode = payload.opcode,
                         .is_payload = true,
                         .signaled = (payload.send_flags & IBV_SEND_SIGNALED) != 0,
                         .key = wire::Key(payload.lkey),
                         .payload = std::span(sges).first(count)});
}

}  // namespace weft::verbs

extern "C" int weft_dv_post_local_rpc(ibv_qp* qp, const weftdv_local_rpc* call) {
  return weft::verbs::post_local_rpc(qp, *call);
}

extern "C" int weft_dv_post_local_rpc_write(ibv_qp* qp, const weftdv_local_rpc_write* payload) {
  return weft::verbs::post_local_rpc_write(qp, *payload);
}

extern "C" int weft_dv_post_rpc(ibv_qp* qp, const weftdv_rpc* call) { return weft::verbs::post_rpc(qp, *call); }

extern "C" int weft_dv_post_rpc_write(ibv_qp* qp, const weftdv_rpc_write* payload) {
  return weft::verbs::post_rpc_write(qp, *payload);
}
