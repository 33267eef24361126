#include "verbs/rdmacm/fake_verbs.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <thread>

#include "verbs/cm_port.h"

namespace weft::rdmacm::fake {
namespace {

std::mutex losses_lock;
std::map<std::uint16_t, int> losses;
std::atomic<int> objects = 0;

bool is_lost(std::span<const std::byte> mad) {
  const std::lock_guard guard(losses_lock);
  int& left = losses[std::to_integer<std::uint16_t>(mad[17])];
  if (left == 0) return false;
  --left;
  return true;
}

constexpr std::array kAddresses{kAddress, kAddress6};

class LoopbackPort final : public verbs::CmPort {
 public:
  std::span<const wire::Address> addresses() const override { return kAddresses; }
  int open(verbs::CmReceiver& receiver) override {
    receiver_ = &receiver;
    return 0;
  }
  void close() override { receiver_ = nullptr; }
  bool reaches(const wire::Address&) override { return true; }
  std::uint8_t lane_number() const override { return 0x42; }
  int bind_service(std::uint16_t, const wire::Address&, std::uint16_t& port) override {
    if (port == 0) port = next_port_++;
    return 0;
  }
  void release_service(std::uint16_t, const wire::Address&, std::uint16_t) override {}
  void listen(std::uint16_t, const wire::Address&, std::uint16_t, bool) override {}
  void send_mad(const wire::Address& from, const wire::Address& to, std::span<const std::byte> mad) override {
    if (to == kAddress && !is_lost(mad)) receiver_->on_mad(from, to, mad);
  }

 private:
  verbs::CmReceiver* receiver_ = nullptr;
  std::uint16_t next_port_ = 40'000;
};

LoopbackPort the_port;
ibv_device the_device{};
std::atomic<std::uint32_t> next_qpn = 0x100;

}  // namespace

QueuePair& behind(ibv_qp* qp) { return *static_cast<QueuePair*>(qp->qp_context); }

void lose(std::uint16_t attribute, int times) {
  const std::lock_guard guard(losses_lock);
  losses[attribute] = times;
}

int live_objects() { return objects; }

}  // namespace weft::rdmacm::fake

using namespace weft::rdmacm::fake;

extern "C" {

weft::verbs::CmPort* weft_cm_port(ibv_context*) { return &the_port; }

#undef ibv_get_device_list
ibv_device** ibv_get_device_list(int* count) {
  if (count != nullptr) *count = 1;
  auto** list = static_cast<ibv_device**>(std::calloc(2, sizeof(ibv_device*)));
  list[0] = &the_device;
  return list;
}
void ibv_free_device_list(ibv_device** list) { std::free(list); }
__be64 ibv_get_device_guid(ibv_device*) { return 0x1122; }
ibv_context* ibv_open_device(ibv_device* device) {
  static ibv_context context{};
  context.device = device;
  return &context;
}
int ibv_close_device(ibv_context*) { return 0; }
int ibv_query_device(ibv_context*, ibv_device_attr* attr) {
  *attr = {};
  attr->max_qp_rd_atom = attr->max_qp_init_rd_atom = 16;
  return 0;
}
#undef ibv_query_port
int ibv_query_port(ibv_context*, std::uint8_t, _compat_ibv_port_attr* attr) {
  ibv_port_attr& port = *static_cast<ibv_port_attr*>(static_cast<void*>(attr));
  port.active_mtu = IBV_MTU_4096;
  return 0;
}
ibv_pd* ibv_alloc_pd(ibv_context* context) {
  static ibv_pd pd{};
  pd.context = context;
  return &pd;
}
int ibv_dealloc_pd(ibv_pd*) { return 0; }

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attr) {
  ++objects;
  auto* made = new QueuePair;
  made->qp.context = pd->context;
  made->qp.qp_context = made;
  made->qp.pd = pd;
  made->qp.send_cq = attr->send_cq;
  made->qp.recv_cq = attr->recv_cq;
  made->qp.srq = attr->srq;
  made->qp.qp_num = next_qpn++;
  return &made->qp;
}
int ibv_destroy_qp(ibv_qp* qp) {
  --objects;
  delete &behind(qp);
  return 0;
}
int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) {
  QueuePair& q = behind(qp);
  ibv_qp_attr& a = q.attributes;
  if ((mask & IBV_QP_STATE) != 0) q.history.push_back(attr->qp_state);
  if ((mask & IBV_QP_ACCESS_FLAGS) != 0) a.qp_access_flags = attr->qp_access_flags;
  if ((mask & IBV_QP_QKEY) != 0) a.qkey = attr->qkey;
  if ((mask & IBV_QP_AV) != 0) a.ah_attr = attr->ah_attr;
  if ((mask & IBV_QP_PATH_MTU) != 0) a.path_mtu = attr->path_mtu;
  if ((mask & IBV_QP_DEST_QPN) != 0) a.dest_qp_num = attr->dest_qp_num;
  if ((mask & IBV_QP_RQ_PSN) != 0) a.rq_psn = attr->rq_psn;
  if ((mask & IBV_QP_SQ_PSN) != 0) a.sq_psn = attr->sq_psn;
  if ((mask & IBV_QP_TIMEOUT) != 0) a.timeout = attr->timeout;
  if ((mask & IBV_QP_RETRY_CNT) != 0) a.retry_cnt = attr->retry_cnt;
  if ((mask & IBV_QP_RNR_RETRY) != 0) a.rnr_retry = attr->rnr_retry;
  if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0) a.max_rd_atomic = attr->max_rd_atomic;
  if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0) a.max_dest_rd_atomic = attr->max_dest_rd_atomic;
  return 0;
}

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  ++objects;
  return new ibv_comp_channel{.context = context, .fd = -1, .refcnt = 0};
}
int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  --objects;
  delete channel;
  return 0;
}
ibv_cq* ibv_create_cq(ibv_context* context, int, void* user, ibv_comp_channel* channel, int) {
  ++objects;
  auto* made = new ibv_cq{};
  made->context = context;
  made->cq_context = user;
  made->channel = channel;
  return made;
}
int ibv_destroy_cq(ibv_cq* cq) {
  --objects;
  delete cq;
  return 0;
}
ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr*) {
  ++objects;
  auto* made = new ibv_srq{};
  made->pd = pd;
  return made;
}
int ibv_destroy_srq(ibv_srq* srq) {
  --objects;
  delete srq;
  return 0;
}

}  // extern "C"
