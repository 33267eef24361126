#include "cli/connections/side.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace weft::connections {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kExchanged = 4096;  // addresses that surely fit into a socket's buffer

[[noreturn]] void give_up(const char* what, int code) {
  std::fprintf(stderr, "weft-connections: %s: %s\n", what, std::strerror(code));
  std::_Exit(1);
}
template <class T>
T* must(T* object, const char* what) {
  if (object == nullptr) give_up(what, errno);
  return object;
}
void must(int code, const char* what) {
  if (code != 0) give_up(what, code);
}

void write_all(int socket, const void* data, std::size_t bytes) {
  const auto* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::write(socket, at, bytes);
    if (n <= 0) give_up("the other side is gone", EPIPE);
    at += n;
    bytes -= static_cast<std::size_t>(n);
  }
}
void read_all(int socket, void* data, std::size_t bytes) {
  if (::recv(socket, data, bytes, MSG_WAITALL) != static_cast<ssize_t>(bytes)) give_up("the other side is gone", EPIPE);
}

double resident_bytes() {
  unsigned long total = 0, resident = 0;
  std::FILE* f = std::fopen("/proc/self/statm", "r");
  const bool read = f != nullptr && std::fscanf(f, "%lu %lu", &total, &resident) == 2;
  if (f != nullptr) std::fclose(f);
  return read ? static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) : 0;
}

}  // namespace

Side::Side(int socket, std::uint32_t connections, std::uint32_t bytes)
    : socket_(socket), bytes_(bytes), memory_(std::size_t{kShared} * bytes), under_way_(connections) {
  open();
  make_connections(connections);
}

void Side::open() {
  ibv_device** list = must(ibv_get_device_list(nullptr), "no RDMA devices");
  if (list[0] == nullptr) give_up("no RDMA device (start me by: weft run -- weft-connections)", ENODEV);
  context_ = must(ibv_open_device(list[0]), "ibv_open_device");
  ibv_free_device_list(list);
  pd_ = must(ibv_alloc_pd(context_), "ibv_alloc_pd");
  cq_ = must(ibv_create_cq(context_, kShared + kUnderWay, nullptr, nullptr, 0), "ibv_create_cq");
  ibv_srq_init_attr init{.srq_context = nullptr, .attr = {.max_wr = kShared, .max_sge = 1, .srq_limit = 0}};
  srq_ = must(ibv_create_srq(pd_, &init), "ibv_create_srq");
  mr_ = must(ibv_reg_mr(pd_, memory_.data(), memory_.size(), IBV_ACCESS_LOCAL_WRITE), "ibv_reg_mr");
  must(ibv_query_gid(context_, 1, 0, &gid_), "ibv_query_gid");
}

void Side::make_connections(std::uint32_t count) {
  const double before = resident_bytes();
  std::vector<Address> mine, theirs(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_;
    init.srq = srq_;
    init.qp_type = IBV_QPT_RC;
    init.cap = {.max_send_wr = kDepth, .max_recv_wr = 0, .max_send_sge = 1, .max_recv_sge = 0, .max_inline_data = 0};
    qps_.push_back(must(ibv_create_qp(pd_, &init), "ibv_create_qp"));
    mine.push_back({qps_.back()->qp_num, i});
  }
  ibv_gid peer{};
  write_all(socket_, &gid_, sizeof gid_);
  read_all(socket_, &peer, sizeof peer);
  gid_ = peer;
  for (std::uint32_t at = 0; at < count; at += kExchanged) {  // a little at a time: both sides write first
    const std::uint32_t n = std::min(kExchanged, count - at);
    write_all(socket_, &mine[at], n * sizeof(Address));
    read_all(socket_, &theirs[at], n * sizeof(Address));
  }
  for (std::uint32_t i = 0; i < count; ++i) connect(qps_[i], theirs[i]);
  bytes_per_connection_ = (resident_bytes() - before) / count;
  post_receives(kShared - 1);
  char ready = 'r';  // nobody sends before the other can receive
  write_all(socket_, &ready, 1);
  read_all(socket_, &ready, 1);
}

void Side::connect(ibv_qp* qp, const Address& peer) {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_INIT;
  a.port_num = 1;
  must(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), "to INIT");
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = IBV_MTU_1024;
  a.dest_qp_num = peer.qpn;
  a.rq_psn = peer.psn;
  a.max_dest_rd_atomic = 1;
  a.min_rnr_timer = 1;
  a.ah_attr.is_global = 1;
  a.ah_attr.grh.dgid = gid_;
  a.ah_attr.grh.hop_limit = 64;
  a.ah_attr.port_num = 1;
  must(ibv_modify_qp(qp, &a,
                     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                         IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
       "to RTR");
  a.qp_state = IBV_QPS_RTS;
  a.timeout = 16;
  a.retry_cnt = 7;
  a.rnr_retry = 7;
  a.sq_psn = peer.psn;
  a.max_rd_atomic = 1;
  must(ibv_modify_qp(qp, &a,
                     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                         IBV_QP_MAX_QP_RD_ATOMIC),
       "to RTS");
}

// The same stretch of memory for all: what arrives is not looked at.
void Side::post_receives(std::uint32_t count) {
  ibv_sge sge{reinterpret_cast<std::uint64_t>(memory_.data()), bytes_, mr_->lkey};
  ibv_recv_wr wrs[kBatch];
  while (count > 0) {
    const std::uint32_t n = count < kBatch ? count : kBatch;
    for (std::uint32_t i = 0; i < n; ++i) wrs[i] = {0, i + 1 < n ? &wrs[i + 1] : nullptr, &sge, 1};
    ibv_recv_wr* bad = nullptr;
    must(ibv_post_srq_recv(srq_, wrs, &bad), "ibv_post_srq_recv");
    count -= n;
  }
}

// Several at once, as programs with something to say do.
void Side::post_burst(std::uint32_t index) {
  ibv_sge sge{reinterpret_cast<std::uint64_t>(memory_.data()), bytes_, mr_->lkey};
  ibv_send_wr wrs[kBurst]{}, *bad = nullptr;
  for (std::uint32_t i = 0; i < kBurst; ++i) {
    wrs[i].wr_id = index;
    wrs[i].next = i + 1 < kBurst ? &wrs[i + 1] : nullptr;
    wrs[i].sg_list = &sge;
    wrs[i].num_sge = 1;
    wrs[i].opcode = IBV_WR_SEND;
    wrs[i].send_flags = IBV_SEND_SIGNALED;
  }
  must(ibv_post_send(qps_[index], wrs, &bad), "ibv_post_send");
  under_way_[index] += kBurst;
}

double Side::send_for(std::chrono::nanoseconds how_long, std::uint32_t connections) {
  const auto start = Clock::now();
  std::uint64_t done = 0;
  std::uint32_t total = 0, next = 0;
  for (bool more = true; more || total > 0;) {
    // As many as may be under way, connection by connection; one whose queue is full is skipped.
    for (std::uint32_t skipped = 0; more && total + kBurst <= kUnderWay && skipped < connections;) {
      // Whoever has thousands of connections is waiting for memory, unless it says what it will need.
      __builtin_prefetch(qps_[next + kAhead < connections ? next + kAhead : next]);
      if (under_way_[next] + kBurst <= kDepth) {
        post_burst(next);
        total += kBurst;
        skipped = 0;
      } else {
        ++skipped;
      }
      next = next + 1 < connections ? next + 1 : 0;
    }
    ibv_wc wc[kBatch];
    const int n = ibv_poll_cq(cq_, kBatch, wc);
    for (int i = 0; i < n; ++i) {
      if (wc[i].status != IBV_WC_SUCCESS) {
        std::fprintf(stderr, "weft-connections: a SEND failed: %s\n", ibv_wc_status_str(wc[i].status));
        std::_Exit(1);
      }
      --under_way_[wc[i].wr_id];
      --total;
      ++done;
    }
    more = Clock::now() - start < how_long;
  }
  return static_cast<double>(done) / std::chrono::duration<double>(Clock::now() - start).count();
}

void Side::say_goodbye() {
  const char bye = 'b';
  write_all(socket_, &bye, 1);
}

void Side::receive_until_told() {
  for (;;) {
    ibv_wc wc[kBatch];
    std::uint32_t vain = 0;
    while (vain < 4096) {
      const int n = ibv_poll_cq(cq_, kBatch, wc);
      if (n > 0) post_receives(static_cast<std::uint32_t>(n));
      vain = n > 0 ? 0 : vain + 1;
    }
    pollfd told{socket_, POLLIN, 0};
    if (::poll(&told, 1, 0) > 0) return;
  }
}

Side::~Side() {
  for (ibv_qp* qp : qps_) ibv_destroy_qp(qp);
  ibv_destroy_srq(srq_);
  ibv_dereg_mr(mr_);
  ibv_destroy_cq(cq_);
  ibv_dealloc_pd(pd_);
  ibv_close_device(context_);
}

}  // namespace weft::connections
