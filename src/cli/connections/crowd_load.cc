#include "cli/connections/crowd_load.h"

#include <algorithm>

#include "cli/connections/failing.h"

namespace weft::connections {
namespace {

constexpr std::uint64_t kPatience = 30'000'000'000;  // nanoseconds without any completion, and then it gives up
constexpr std::uint32_t kVainALook = 64;             // polls in vain between two looks at the clock

// A request's number is its connection and when it was posted.
constexpr std::uint32_t kIndexBits = 20;
static_assert(kMostConnections <= 1U << kIndexBits);

}  // namespace

CrowdLoad::CrowdLoad(CrowdSide& side, const CrowdShape& shape, LoadVerb verb, std::vector<CrowdSide::Place> clients)
    : side_(side),
      shape_(shape),
      verb_(verb),
      clients_(std::move(clients)),
      posted_(shape.connections),
      done_(shape.connections),
      now_(clock()),
      last_completion_(now_) {}

std::uint64_t CrowdLoad::clock() const {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(Clock::now() - start_).count());
}

void CrowdLoad::look_at_the_clock() {
  now_ = clock();
  if (under_way_ > 0 && now_ - last_completion_ > kPatience) {
    give_up("{} requests are under way, and none completed for {} s", under_way_, kPatience / 1'000'000'000);
  }
}

// The next in turn that may have one more under way. There is one: fewer are under way than all of them may have.
std::uint32_t CrowdLoad::next(std::uint32_t connections) {
  for (;; ++turn_) {
    const std::uint32_t c = turn_ % connections;
    if (posted_[c] - done_[c] == shape_.depth) continue;
    ++turn_;
    return c;
  }
}

void CrowdLoad::post(std::uint32_t connection) {
  const std::uint64_t message = posted_[connection]++;
  if (verb_ == LoadVerb::write) side_.slots().write(connection, connection, message, Writer::server);
  side_.post(connection, message, now_ << kIndexBits | connection,
             verb_ == LoadVerb::write ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ, clients_[connection % shape_.clients],
             connection / shape_.clients);
  ++under_way_;
}

// What a READ has brought is what the client has there, and came with it: the slot is emptied each time.
void CrowdLoad::finish(std::uint32_t connection) {
  const std::uint64_t message = done_[connection]++ % shape_.depth;
  if (verb_ != LoadVerb::read) return;
  if (!side_.slots().holds(connection, connection, message, Writer::client)) {
    give_up("a READ of connection {} brought other bytes than the client has", connection);
  }
  side_.slots().clear(connection, message);
}

void CrowdLoad::collect(std::uint32_t post_again_over) {
  ibv_wc done[kBatch];
  const int n = ibv_poll_cq(side_.cq(), kBatch, done);
  if (n < 0) give_up("ibv_poll_cq failed at the server");
  if (n == 0) {
    if (++vain_ % kVainALook == 0) look_at_the_clock();
    return;
  }
  last_completion_ = now_ = clock();
  for (int i = 0; i < n; ++i) {
    const auto connection = static_cast<std::uint32_t>(done[i].wr_id & ((1U << kIndexBits) - 1));
    if (done[i].status != IBV_WC_SUCCESS) {
      give_up("a {} of connection {} failed: {}", verb_ == LoadVerb::write ? "WRITE" : "READ", connection,
              ibv_wc_status_str(done[i].status));
    }
    times_.add(now_ - (done[i].wr_id >> kIndexBits));
    finish(connection);
    --under_way_;
    ++completed_;
    if (post_again_over != 0) post(next(post_again_over));
  }
}

Measured CrowdLoad::measure(std::chrono::nanoseconds how_long, std::uint32_t connections) {
  const auto wanted = static_cast<std::uint64_t>(how_long.count());
  const std::uint64_t window = std::min<std::uint64_t>(CrowdSide::kUnderWay, std::uint64_t{connections} * shape_.depth);
  last_completion_ = now_ = clock();
  completed_ = 0;
  while (under_way_ < window) {
    now_ = clock();
    post(next(connections));
    if (under_way_ % kBatch == 0) collect(connections);
  }
  // Each connection has had a turn, and no first touch of its memory is measured.
  const std::uint64_t filled = now_, first = std::max<std::uint64_t>(window, connections);
  while (now_ - filled < wanted / 5 || (completed_ < first && now_ - filled < 20 * wanted)) collect(connections);
  const bool steady = completed_ >= first;
  times_.clear();
  const std::uint64_t from = now_;
  while (now_ - from < wanted) collect(connections);
  Measured out;
  out.steady = steady;
  out.completed = times_.count();
  out.messages_per_second = static_cast<double>(out.completed) / (static_cast<double>(now_ - from) / 1e9);
  out.median_us = times_.percentile(0.5) / 1e3;
  out.p99_us = times_.percentile(0.99) / 1e3;
  return out;
}

void CrowdLoad::drain() {
  last_completion_ = clock();
  while (under_way_ > 0) collect(0);
}

}  // namespace weft::connections
