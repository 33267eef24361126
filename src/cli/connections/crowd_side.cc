#include "cli/connections/crowd_side.h"

#include <algorithm>
#include <bit>

#include "cli/connections/failing.h"
#include "cli/connections/ready.h"

namespace weft::connections {
namespace {

constexpr int kCrowdAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
// 2 s: thousands of connections begin at once, and where others want the processors, too, the last of them waits long.
constexpr std::uint8_t kCrowdAckTimeout = 19;

}  // namespace

CrowdSide::CrowdSide(const CrowdShape& shape, std::uint32_t connections)
    : shape_(shape), slots_(connections, shape.depth, shape.bytes) {
  open();
  check_limits(connections);
  cq_ = must(ibv_create_cq(context_, static_cast<int>(2 * kUnderWay), nullptr, nullptr, 0), "ibv_create_cq");
  mr_ = must(ibv_reg_mr(pd_, slots_.memory().data(), slots_.memory().size(), kCrowdAccess), "ibv_reg_mr");
  place_.base = std::bit_cast<std::uintptr_t>(slots_.memory().data());
  place_.rkey = mr_->rkey;
  qps_.reserve(connections);
  for (std::uint32_t i = 0; i < connections; ++i) {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_;
    init.qp_type = IBV_QPT_RC;
    init.cap = {
        .max_send_wr = shape.depth, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
    qps_.push_back(must(ibv_create_qp(pd_, &init), "ibv_create_qp"));
  }
}

void CrowdSide::open() {
  ibv_device** list = must(ibv_get_device_list(nullptr), "no RDMA devices");
  if (list[0] == nullptr) give_up("there is no RDMA device (start me by: weft run -- weft-connections)");
  context_ = must(ibv_open_device(list[0]), "ibv_open_device");
  ibv_free_device_list(list);
  pd_ = must(ibv_alloc_pd(context_), "ibv_alloc_pd");
  ibv_port_attr port{};
  must(ibv_query_port(context_, 1, &port), "ibv_query_port");
  mtu_ = port.active_mtu;
  must(ibv_query_gid(context_, 1, 0, &place_.gid), "ibv_query_gid");
}

void CrowdSide::check_limits(std::uint32_t connections) const {
  ibv_device_attr has{};
  must(ibv_query_device(context_, &has), "ibv_query_device");
  if (connections > static_cast<std::uint32_t>(has.max_qp)) {
    give_up("queue pairs (max_qp): {} are wanted, the device has {}", connections, has.max_qp);
  }
  if (shape_.depth > static_cast<std::uint32_t>(has.max_qp_wr)) {
    give_up("entries of a send queue (max_qp_wr): {} are wanted, the device has {}", shape_.depth, has.max_qp_wr);
  }
}

void CrowdSide::connect(std::uint32_t connection, const Place& peer, std::uint32_t peer_number) const {
  make_ready(qps_[connection], {.gid = peer.gid, .qpn = peer_number, .psn = 0}, mtu_, kCrowdAccess, kCrowdAckTimeout);
}

void CrowdSide::post(std::uint32_t connection, std::uint64_t message, std::uint64_t number, ibv_wr_opcode what,
                     const Place& peer, std::uint32_t peers_connection) const {
  ibv_sge sge{.addr = place_.base + slots_.offset(connection, message), .length = shape_.bytes, .lkey = mr_->lkey};
  ibv_send_wr request{}, *bad = nullptr;
  request.wr_id = number;
  request.sg_list = &sge;
  request.num_sge = 1;
  request.opcode = what;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = peer.base + slots_.offset(peers_connection, message);
  request.wr.rdma.rkey = peer.rkey;
  must(ibv_post_send(qps_[connection], &request, &bad), "ibv_post_send");
}

CrowdSide::~CrowdSide() {
  for (ibv_qp* qp : qps_) ibv_destroy_qp(qp);
  ibv_dereg_mr(mr_);
  ibv_destroy_cq(cq_);
  ibv_dealloc_pd(pd_);
  ibv_close_device(context_);
}

}  // namespace weft::connections
