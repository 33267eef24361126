#include "link.h"

#include <bit>

#include <arpa/inet.h>
#include <fcntl.h>

namespace soak {
namespace {

using stress::must;

constexpr std::uint32_t kSends = 2 * kMaxOps;
// 0.5 s, seven times again: a peer may be stopped, or the network down, for two seconds.
constexpr std::uint8_t kTimeout = 17;

stress::Owned<ibv_qp> make_qp(ibv_pd* pd, ibv_cq* cq, std::uint32_t receives) {
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq;
  init.qp_type = IBV_QPT_RC;
  init.cap = {.max_send_wr = kSends,
              .max_recv_wr = receives,
              .max_send_sge = kPieces,
              .max_recv_sge = 1,
              .max_inline_data = kInlineBytes};
  return stress::Owned<ibv_qp>(must(ibv_create_qp(pd, &init), "ibv_create_qp"));
}

ibv_comp_channel* make_channel(ibv_context* context) {
  ibv_comp_channel* made = must(ibv_create_comp_channel(context), "ibv_create_comp_channel");
  must(fcntl(made->fd, F_SETFL, O_NONBLOCK) == 0 ? 0 : errno, "O_NONBLOCK");
  return made;
}

}  // namespace

Link::Link(Device& device, std::uint32_t receives, bool events)
    : gid_(device.gid),
      memory_(kSlots + receives * kSlotBytes),
      channel_(events ? make_channel(device.context.get()) : nullptr),
      cq_(must(ibv_create_cq(device.context.get(), static_cast<int>(kSends + receives), nullptr, channel_.get(), 0),
               "ibv_create_cq")),
      mr_(must(ibv_reg_mr(device.pd.get(), memory_.data(), memory_.size(), stress::kAccess), "ibv_reg_mr")),
      qp_(make_qp(device.pd.get(), cq_.get(), receives)) {
  if (events) must(ibv_req_notify_cq(cq_.get(), 0), "ibv_req_notify_cq");
}

stress::Address Link::address() const {
  return {qp_->qp_num, qp_->qp_num, mr_->rkey, std::bit_cast<std::uint64_t>(memory_.data()), gid_};
}

void Link::connect(const stress::Address& peer) {
  peer_ = peer;
  stress::connect(qp_.get(), qp_->qp_num, peer, kTimeout);
}

void Link::send(const Request& request) {
  ibv_sge pieces[kPieces];
  const std::uint32_t count = request.bytes < request.pieces ? 1 : request.pieces, each = request.bytes / count;
  for (std::uint32_t i = 0; i < count; ++i) {
    const bool last = i + 1 == count;
    pieces[i] = {.addr = address().memory + request.from + i * each,
                 .length = last ? request.bytes - i * each : each,
                 .lkey = mr_->lkey};
  }
  ibv_send_wr wr{}, *bad = nullptr;
  wr.wr_id = request.id;
  wr.sg_list = pieces;
  wr.num_sge = static_cast<int>(count);
  wr.opcode = request.opcode;
  if (request.signaled) wr.send_flags |= IBV_SEND_SIGNALED;
  if (request.inlined) wr.send_flags |= IBV_SEND_INLINE;
  wr.imm_data = htonl(request.immediate);
  if (request.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    wr.wr.atomic = {.remote_addr = peer_.memory + request.to,
                    .compare_add = request.compare_add,
                    .swap = request.swap,
                    .rkey = peer_.rkey};
  } else {
    wr.wr.rdma = {.remote_addr = peer_.memory + request.to, .rkey = peer_.rkey};
  }
  must(ibv_post_send(qp_.get(), &wr, &bad), "ibv_post_send");
}

void Link::receive(std::uint64_t slot) {
  ibv_sge sge{.addr = address().memory + kSlots + slot * kSlotBytes, .length = kSlotBytes, .lkey = mr_->lkey};
  ibv_recv_wr wr{.wr_id = slot, .next = nullptr, .sg_list = &sge, .num_sge = 1}, *bad = nullptr;
  must(ibv_post_recv(qp_.get(), &wr, &bad), "ibv_post_recv");
}

void Link::take_events() {
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  unsigned int events = 0;
  while (ibv_get_cq_event(channel_.get(), &cq, &context) == 0) ++events;
  if (events == 0) return;
  ibv_ack_cq_events(cq_.get(), events);
  must(ibv_req_notify_cq(cq_.get(), 0), "ibv_req_notify_cq");
}

int Link::poll(std::span<ibv_wc> completions) {
  if (channel_) take_events();
  const int found = ibv_poll_cq(cq_.get(), static_cast<int>(completions.size()), completions.data());
  if (found < 0) stress::die("ibv_poll_cq", -found);
  return found;
}

}  // namespace soak
