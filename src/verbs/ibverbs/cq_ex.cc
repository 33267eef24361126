// Extended polling: one completion at a time, its parts read through functions of the queue.
#include <ctime>

#include "verbs/ibverbs/completion.h"
#include "verbs/ibverbs/cq.h"
#include "verbs/ibverbs/errors.h"
#include "verbs/ibverbs/operations.h"

namespace weft::verbs {
namespace {

constexpr std::uint64_t kTimes =
    std::uint64_t{IBV_WC_EX_WITH_COMPLETION_TIMESTAMP} | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
constexpr std::uint64_t kFlags = std::uint64_t{IBV_WC_STANDARD_FLAGS} | kTimes;

// 0 and the queue stands at the next completion, or ENOENT.
int advance(CompletionQueue& cq) {
  {
    const Hold hold(*cq.owner);
    if (!hold) return EIO;
    if (take(cq, 1, [&cq](const nic::Completion& done) { cq.current = done; }) == 0) return ENOENT;
  }
  cq.wr_id = cq.current.id;
  cq.status = status_of(cq.current);
  return 0;
}

int start_poll(ibv_cq_ex* p, ibv_poll_cq_attr* attr) {
  CompletionQueue& cq = ours(p);
  if (attr != nullptr && attr->comp_mask != 0) return EINVAL;
  if (!cq.single_threaded) cq.polling.lock();
  const int code = advance(cq);
  if (code != 0 && !cq.single_threaded) cq.polling.unlock();  // end_poll follows only what succeeded
  if (code == ENOENT) cq.owner->lane.rest();
  return code;
}

int next_poll(ibv_cq_ex* p) { return advance(ours(p)); }

void end_poll(ibv_cq_ex* p) {
  if (!ours(p).single_threaded) ours(p).polling.unlock();
}

ibv_wc_opcode read_opcode(ibv_cq_ex* p) { return opcode_of(ours(p).current); }
std::uint32_t read_vendor_err(ibv_cq_ex* p) { return vendor_error_of(ours(p).current); }
std::uint32_t read_byte_len(ibv_cq_ex* p) { return ours(p).current.bytes; }
__be32 read_imm_data(ibv_cq_ex* p) { return immediate_of(ours(p).current); }
std::uint32_t read_qp_num(ibv_cq_ex* p) { return ours(p).current.qpn.raw(); }
std::uint32_t read_src_qp(ibv_cq_ex* p) { return ours(p).current.source_qpn.raw(); }
unsigned read_wc_flags(ibv_cq_ex* p) { return flags_of(ours(p).current); }
std::uint32_t read_slid(ibv_cq_ex*) { return 0; }
std::uint8_t read_sl(ibv_cq_ex* p) { return service_level_of(ours(p).current, ours(p).owner->route_header); }
std::uint8_t read_dlid_path_bits(ibv_cq_ex*) { return 0; }

std::uint64_t read_completion_ts(ibv_cq_ex* p) { return static_cast<std::uint64_t>(ours(p).current.when); }

// Both clocks are read now; what lies between them then was the same but for the wall clock's corrections.
std::uint64_t read_completion_wallclock_ns(ibv_cq_ex* p) {
  CompletionQueue& cq = ours(p);
  timespec wall{};
  ::clock_gettime(CLOCK_REALTIME, &wall);
  const Hold hold(*cq.owner);
  if (!hold) return 0;
  const std::int64_t age = cq.owner->lane.now() - cq.current.when;
  return static_cast<std::uint64_t>(wall.tv_sec * 1'000'000'000 + wall.tv_nsec - age);
}

void set_readers(CompletionQueue& cq, std::uint64_t flags) {
  cq.start_poll = start_poll;
  cq.next_poll = next_poll;
  cq.end_poll = end_poll;
  cq.read_opcode = read_opcode;
  cq.read_vendor_err = read_vendor_err;
  cq.read_wc_flags = read_wc_flags;
  // The rest is cheap enough to be there always; but who asks for nothing shall notice what it forgot to ask for.
  if ((flags & IBV_WC_EX_WITH_BYTE_LEN) != 0) cq.read_byte_len = read_byte_len;
  if ((flags & IBV_WC_EX_WITH_IMM) != 0) cq.read_imm_data = read_imm_data;
  if ((flags & IBV_WC_EX_WITH_QP_NUM) != 0) cq.read_qp_num = read_qp_num;
  if ((flags & IBV_WC_EX_WITH_SRC_QP) != 0) cq.read_src_qp = read_src_qp;
  if ((flags & IBV_WC_EX_WITH_SLID) != 0) cq.read_slid = read_slid;
  if ((flags & IBV_WC_EX_WITH_SL) != 0) cq.read_sl = read_sl;
  if ((flags & IBV_WC_EX_WITH_DLID_PATH_BITS) != 0) cq.read_dlid_path_bits = read_dlid_path_bits;
  if ((flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP) != 0) cq.read_completion_ts = read_completion_ts;
  if ((flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK) != 0) {
    cq.read_completion_wallclock_ns = read_completion_wallclock_ns;
  }
}

}  // namespace

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attr) {
  if ((attr->comp_mask & ~(IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD)) != 0) return refuse(EINVAL);
  if ((attr->wc_flags & ~kFlags) != 0) return refuse(EOPNOTSUPP);
  const std::uint32_t flags = (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 ? attr->flags : 0;
  if ((flags & ~IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0) return refuse(EOPNOTSUPP);  // overruns are never ignored
  CompletionQueue* cq = make_cq(context, attr->cqe, attr->cq_context, attr->channel, attr->comp_vector);
  if (cq == nullptr) return nullptr;
  cq->single_threaded = (flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0;
  set_readers(*cq, attr->wc_flags);
  if ((attr->wc_flags & kTimes) != 0) cq->queue->want_times();  // nobody has heard of it yet
  return cq;
}

}  // namespace weft::verbs
