#include "cli/connections/side.h"

#include <algorithm>
#include <cstdio>

#include <unistd.h>

#include "cli/connections/failing.h"
#include "cli/connections/ready.h"

namespace weft::connections {
namespace {

constexpr std::uint32_t kExchanged = 4096;  // addresses that surely fit into a socket's buffer
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

double resident_bytes() {
  unsigned long total = 0, resident = 0;
  std::FILE* f = std::fopen("/proc/self/statm", "r");
  const bool read = f != nullptr && std::fscanf(f, "%lu %lu", &total, &resident) == 2;
  if (f != nullptr) std::fclose(f);
  return read ? static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) : 0;
}

}  // namespace

LoadSide::LoadSide(int socket, Role role, const Shape& shape)
    : link_(socket, role == Role::sends ? ControlSocket::WhenGone::says_so : ControlSocket::WhenGone::is_quiet),
      role_(role),
      shape_(shape),
      buffers_(shape.connections, shape.bytes) {
  open();
  link_.meet();  // neither has refused
  make_connections();
}

void LoadSide::open() {
  ibv_device** list = must(ibv_get_device_list(nullptr), "no RDMA devices");
  if (list[0] == nullptr) give_up("there is no RDMA device (start me by: weft run -- weft-connections)");
  context_ = must(ibv_open_device(list[0]), "ibv_open_device");
  ibv_free_device_list(list);
  const std::uint64_t completions = std::uint64_t{shape_.connections} * shape_.depth;
  check_limits(completions);
  pd_ = must(ibv_alloc_pd(context_), "ibv_alloc_pd");
  const int entries = role_ == Role::sends ? static_cast<int>(completions) : receives_;
  cq_ = must(ibv_create_cq(context_, entries, nullptr, nullptr, 0), "ibv_create_cq");
  ibv_srq_init_attr init{.srq_context = nullptr, .attr = {.max_wr = receives(), .max_sge = 1, .srq_limit = 0}};
  srq_ = must(ibv_create_srq(pd_, &init), "ibv_create_srq");
  mr_ = must(ibv_reg_mr(pd_, buffers_.memory().data(), buffers_.memory().size(), kAccess), "ibv_reg_mr");
  ibv_port_attr port{};
  must(ibv_query_port(context_, 1, &port), "ibv_query_port");
  mtu_ = port.active_mtu;
  mine_ = {.gid = {}, .base = buffers_.base(), .rkey = mr_->rkey};
  must(ibv_query_gid(context_, 1, 0, &mine_.gid), "ibv_query_gid");
}

void LoadSide::check_limits(std::uint64_t completions) {
  ibv_device_attr has{};
  must(ibv_query_device(context_, &has), "ibv_query_device");
  const auto refuse_beyond = [](const char* what, std::uint64_t wanted, int most) {
    if (wanted > static_cast<std::uint64_t>(most)) give_up("{}: {} are wanted, the device has {}", what, wanted, most);
  };
  receives_ = std::min({has.max_srq_wr, has.max_cqe, kReceives});
  if (role_ == Role::receives) return;  // the same device: the other side says it once
  refuse_beyond("queue pairs (max_qp)", shape_.connections, has.max_qp);
  refuse_beyond("entries of a send queue (max_qp_wr)", shape_.depth, has.max_qp_wr);
  refuse_beyond("entries of a completion queue, connections times depth (max_cqe)", completions, has.max_cqe);
  refuse_beyond("shared receive queues (max_srq)", 1, has.max_srq);
}

void LoadSide::make_connections() {
  const std::uint32_t count = shape_.connections;
  const double before = resident_bytes();
  std::vector<Address> mine, theirs(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_;
    init.srq = srq_;
    init.qp_type = IBV_QPT_RC;
    init.cap = {
        .max_send_wr = shape_.depth, .max_recv_wr = 0, .max_send_sge = 1, .max_recv_sge = 0, .max_inline_data = 0};
    qps_.push_back(must(ibv_create_qp(pd_, &init), "ibv_create_qp"));
    mine.push_back({qps_.back()->qp_num, i});
  }
  peer_ = link_.exchange(mine_);
  for (std::uint32_t at = 0; at < count; at += kExchanged) {  // a little at a time: both sides write first
    const std::uint32_t n = std::min(kExchanged, count - at);
    link_.write(&mine[at], n);
    link_.read(&theirs[at], n);
  }
  for (std::uint32_t i = 0; i < count; ++i) connect(qps_[i], theirs[i]);
  bytes_per_connection_ = (resident_bytes() - before) / count;
}

void LoadSide::connect(ibv_qp* qp, const Address& peer) const {
  make_ready(qp, {.gid = peer_.gid, .qpn = peer.qpn, .psn = peer.psn}, mtu_, kAccess);
}

LoadSide::~LoadSide() {
  for (ibv_qp* qp : qps_) ibv_destroy_qp(qp);
  ibv_destroy_srq(srq_);
  ibv_dereg_mr(mr_);
  ibv_destroy_cq(cq_);
  ibv_dealloc_pd(pd_);
  ibv_close_device(context_);
}

}  // namespace weft::connections
