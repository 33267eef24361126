#include "cli/connections/receiver.h"

#include <array>

#include "cli/connections/failing.h"

namespace weft::connections {
namespace {

constexpr std::uint32_t kBatch = 32;         // receives that are posted with one call
constexpr std::uint32_t kPollsALook = 1024;  // polls between two looks at the socket

class Receives {
 public:
  explicit Receives(const LoadSide& side) : side_(side) {
    for (std::uint32_t i = 0; i < kBatch; ++i) {
      sges_[i] = {.addr = 0, .length = side.shape().bytes, .lkey = side.lkey()};
      requests_[i] = {.wr_id = 0, .next = nullptr, .sg_list = &sges_[i], .num_sge = 1};
    }
  }

  // The `i`th of those that are posted next has the buffer of connection `connection`: any, as the queue is shared.
  void set(std::uint32_t i, std::uint64_t connection) {
    requests_[i].wr_id = connection;
    requests_[i].next = nullptr;
    if (i > 0) requests_[i - 1].next = &requests_[i];
    sges_[i].addr = side_.buffers().base() + side_.buffers().offset(static_cast<std::uint32_t>(connection));
  }
  void post() {
    ibv_recv_wr* bad = nullptr;
    must(ibv_post_srq_recv(side_.srq(), requests_.data(), &bad), "ibv_post_srq_recv");
  }

 private:
  const LoadSide& side_;
  std::array<ibv_recv_wr, kBatch> requests_{};
  std::array<ibv_sge, kBatch> sges_{};
};

void fill(const LoadSide& side, Receives& receives) {
  for (std::uint32_t posted = 0; posted < side.receives();) {
    const std::uint32_t n = std::min(kBatch, side.receives() - posted);
    for (std::uint32_t i = 0; i < n; ++i) receives.set(i, (posted + i) % side.buffers().count());
    receives.post();
    posted += n;
  }
}

void poll_once(const LoadSide& side, Receives& receives) {
  ibv_wc done[kBatch];
  const int n = ibv_poll_cq(side.cq(), kBatch, done);
  if (n < 0) give_up("ibv_poll_cq failed where messages arrive");
  if (n == 0) return;
  for (int i = 0; i < n; ++i) {
    if (done[i].status != IBV_WC_SUCCESS) give_up("a receive failed: {}", ibv_wc_status_str(done[i].status));
    receives.set(static_cast<std::uint32_t>(i), done[i].wr_id);
  }
  receives.post();
}

}  // namespace

void receive_until_told(const LoadSide& side, LoadVerb verb) {
  Receives receives(side);
  if (verb == LoadVerb::send) fill(side, receives);
  side.link().meet();  // nobody sends before the other can receive
  if (verb == LoadVerb::write) {
    (void)side.link().is_told(-1);
    return;
  }
  while (!side.link().is_told(0)) {
    for (std::uint32_t i = 0; i < kPollsALook; ++i) poll_once(side, receives);
  }
}

}  // namespace weft::connections
