// The server's table as clients see it that reach it by RDMA: where it is, and a queue pair for each client.
#pragma once

#include <vector>

#include "common/card.h"
#include "common/tcp.h"
#include "getter.h"
#include "messages.h"

namespace kv {

using namespace examples;

class RemoteTable {
 public:
  RemoteTable(const ServerPlace& server, std::size_t clients, Calls calls, bool deploys = false)
      : card_(static_cast<int>(clients * 4 + 64)), socket_(connect_to(server.address, server.port)) {
    about_ = ask({.ask = Ask::table});
    for (std::size_t i = 0; i < clients; ++i) {
      QueuePair qp = card_.make_queue_pair(calls);
      const Endpoint own = card_.endpoint_of(qp);
      const std::uint32_t by_calls = calls == Calls::makes ? 1 : 0;
      const std::uint64_t wants = deploys && i == 0 ? 1 : 0;
      const Answer peer = ask({.ask = Ask::connect, .by_calls = by_calls, .endpoint = own, .wants_to_deploy = wants});
      if (i == 0) first_ = peer;
      qp.connect(peer.endpoint, own);
      qps_.push_back(std::move(qp));
    }
  }

  [[nodiscard]] Card& card() { return card_; }
  [[nodiscard]] ibv_qp* qp(std::size_t client) const { return qps_[client].get(); }
  [[nodiscard]] std::uint32_t rkey() const { return about_.rkey; }
  [[nodiscard]] std::uint32_t most_object() const { return about_.most_object; }
  // What the server said of the first client's queue pair.
  [[nodiscard]] const Answer& first() const { return first_; }
  [[nodiscard]] std::uint64_t entry_of(std::uint64_t key) const {
    return about_.entries_at + (hash_of(key) & about_.entry_mask) * sizeof(weft_get_entry);
  }

 private:
  [[nodiscard]] Answer ask(const Question& q) const {
    Answer a;
    if (!socket_.write_from(q) || !socket_.read_into(a)) give_up("the server has gone");
    return a;
  }

  Card card_;
  Socket socket_;  // the server keeps our queue pairs as long as it is open
  Answer about_, first_;
  std::vector<QueuePair> qps_;
};

// The next completions; the program ends if one is an error.
template <class Each>
void poll_cq(ibv_cq* cq, Each&& each) {
  ibv_wc done[32];
  const int n = ibv_poll_cq(cq, 32, done);
  if (n < 0) give_up("the completion queue is broken");
  for (int i = 0; i < n; ++i) {
    if (done[i].status != IBV_WC_SUCCESS) give_up(ibv_wc_status_str(done[i].status));
    each(done[i]);
  }
}

}  // namespace kv
