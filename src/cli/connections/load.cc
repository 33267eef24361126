#include "cli/connections/load.h"

#include <algorithm>

#include "cli/connections/failing.h"

namespace weft::connections {
namespace {

constexpr std::uint64_t kPatience = 10'000'000'000;  // nanoseconds without any completion, and then it gives up
constexpr std::uint32_t kVainALook = 64;             // polls in vain between two looks at the clock
constexpr std::uint64_t kToTellShares = 100;         // completions of a connection, on average

// A request's number is its connection and when it was posted, so that nothing has to be looked up.
constexpr std::uint32_t kIndexBits = 20;
static_assert(kMostConnections <= 1U << kIndexBits);
std::uint64_t number_of(std::uint64_t posted, std::uint32_t connection) { return posted << kIndexBits | connection; }
std::uint32_t connection_of(std::uint64_t number) {
  return static_cast<std::uint32_t>(number & ((1U << kIndexBits) - 1));
}
std::uint64_t posted_at(std::uint64_t number) { return number >> kIndexBits; }

}  // namespace

LoadGenerator::LoadGenerator(const LoadSide& side, LoadVerb verb)
    : side_(side), verb_(verb), now_(clock()), last_completion_(now_), done_(side.shape().connections) {
  for (std::uint32_t i = 0; i < kList; ++i) {
    sges_[i] = {.addr = 0, .length = side.shape().bytes, .lkey = side.lkey()};
    requests_[i].sg_list = &sges_[i];
    requests_[i].num_sge = 1;
    requests_[i].opcode = verb == LoadVerb::send ? IBV_WR_SEND : IBV_WR_RDMA_WRITE;
    requests_[i].send_flags = IBV_SEND_SIGNALED;
    requests_[i].wr.rdma.rkey = side.rkey();
  }
}

std::uint64_t LoadGenerator::clock() const {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(Clock::now() - start_).count());
}

void LoadGenerator::look_at_the_clock() {
  now_ = clock();
  if (under_way_ > 0 && now_ - last_completion_ > kPatience) {
    give_up("{} requests are under way, and none completed for {} s", under_way_, kPatience / 1'000'000'000);
  }
}

void LoadGenerator::post(std::uint32_t connection, std::uint32_t count) {
  const std::uint64_t offset = side_.buffers().offset(connection);
  for (std::uint32_t i = 0; i < count; ++i) {
    requests_[i].wr_id = number_of(now_, connection);
    requests_[i].next = i + 1 < count ? &requests_[i + 1] : nullptr;
    requests_[i].wr.rdma.remote_addr = side_.remote_base() + offset;
    sges_[i].addr = side_.buffers().base() + offset;
  }
  ibv_send_wr* bad = nullptr;
  must(ibv_post_send(side_.qp(connection), requests_, &bad), "ibv_post_send");
  under_way_ += count;
}

// One poll; whatever completed is followed by another request of its connection.
void LoadGenerator::collect(bool post_again) {
  ibv_wc done[kBatch];
  const int n = ibv_poll_cq(side_.cq(), kBatch, done);
  if (n < 0) give_up("ibv_poll_cq failed where messages are sent");
  if (n == 0) {
    if (++vain_ % kVainALook == 0) look_at_the_clock();
    return;
  }
  last_completion_ = now_ = clock();
  for (int i = 0; i < n; ++i) {
    // Whoever has thousands of connections is waiting for memory, unless it says what it will need.
    if (i + static_cast<int>(kAhead) < n) __builtin_prefetch(side_.qp(connection_of(done[i + kAhead].wr_id)));
    const std::uint32_t connection = connection_of(done[i].wr_id);
    if (done[i].status != IBV_WC_SUCCESS) {
      give_up("a {} of connection {} failed: {}", verb_ == LoadVerb::send ? "SEND" : "WRITE", connection,
              ibv_wc_status_str(done[i].status));
    }
    times_.add(now_ - posted_at(done[i].wr_id));
    ++done_[connection];
    --under_way_;
    ++completed_;
    if (post_again) post(connection, 1);
  }
}

void LoadGenerator::fill(std::uint32_t connections) {
  const std::uint32_t depth = side_.shape().depth;
  for (std::uint32_t c = 0; c < connections; ++c) {
    for (std::uint32_t posted = 0; posted < depth;) {
      const std::uint32_t n = std::min(kList, depth - posted);
      now_ = clock();
      post(c, n);
      posted += n;
      collect(true);
    }
  }
}

Measured LoadGenerator::measure(std::chrono::nanoseconds how_long, std::uint32_t connections) {
  const auto wanted = static_cast<std::uint64_t>(how_long.count());
  const std::uint64_t first = std::uint64_t{connections} * side_.shape().depth;
  last_completion_ = clock();
  completed_ = 0;
  fill(connections);
  const std::uint64_t filled = now_;
  while (now_ - filled < wanted / 5 || (completed_ < first && now_ - filled < 2 * wanted)) collect(true);
  const bool steady = completed_ >= first;
  std::fill(done_.begin(), done_.end(), 0);
  times_.clear();
  const std::uint64_t from = now_;
  while (now_ - from < wanted) collect(true);
  Measured out = summary(from, connections);
  out.steady = steady;
  return out;
}

Measured LoadGenerator::summary(std::uint64_t from, std::uint32_t connections) const {
  Measured out;
  out.completed = times_.count();
  out.messages_per_second = static_cast<double>(out.completed) / (static_cast<double>(now_ - from) / 1e9);
  out.median_us = times_.percentile(0.5) / 1e3;
  out.p99_us = times_.percentile(0.99) / 1e3;
  if (out.completed >= kToTellShares * connections) {
    const double mean = static_cast<double>(out.completed) / connections;
    const auto [least, most] = std::minmax_element(done_.begin(), done_.begin() + connections);
    out.shares = {.least = *least / mean, .most = *most / mean};
  }
  return out;
}

void LoadGenerator::drain() {
  last_completion_ = clock();
  while (under_way_ > 0) collect(false);
}

}  // namespace weft::connections
