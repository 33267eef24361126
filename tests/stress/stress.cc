// Threads that make queue pairs, connect them, talk, break them and destroy them, all at once, while the other program
// is killed again and again. Every byte is checked, and every work request must complete exactly once.
//
//   verbs_stress [--seconds N] [--threads N] [--seed N]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <thread>

#include <dirent.h>

#include "peer.h"

namespace stress {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::uint32_t kDepth = 16, kBytes = 16384;
// What others may read stays as it is: a card that has not heard that its answer arrived reads it once more.
constexpr std::uint32_t kReadFrom = 2 * kBytes;

struct Totals {
  std::atomic<std::uint64_t> pairs{0}, messages{0}, bytes{0}, broken{0}, echoes{0}, lost_peers{0};
};

[[noreturn]] void wrong(const char* what) {
  std::fprintf(stderr, "stress: %s\n", what);
  std::exit(1);
}

// One thread's things. The context and the domain are everybody's.
class Worker {
 public:
  Worker(ibv_context* context, ibv_pd* pd, Peer& peer, Totals& totals, std::uint64_t seed)
      : pd_(pd),
        peer_(peer),
        totals_(totals),
        random_(seed),
        cq_(must(ibv_create_cq(context, 256, nullptr, nullptr, 0), "ibv_create_cq")) {
    must(ibv_query_gid(context, 1, 0, &gid_), "ibv_query_gid");
    mr_.reset(must(ibv_reg_mr(pd_, memory_.data(), memory_.size(), kAccess), "ibv_reg_mr"));
    fill(kReadFrom, kBytes);
  }

  void run(Clock::time_point until) {
    while (Clock::now() < until) {
      switch (draw(4)) {
        case 0: talk_to_myself(); break;
        case 1: break_off(); break;
        case 2: leave_in_the_middle(); break;
        default: talk_to_the_peer(); break;
      }
    }
  }

 private:
  std::uint32_t draw(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }
  std::uint64_t at(std::size_t offset) const { return reinterpret_cast<std::uint64_t>(memory_.data()) + offset; }
  void fill(std::size_t offset, std::uint32_t bytes) {
    for (std::uint32_t i = 0; i < bytes; ++i) memory_[offset + i] = static_cast<std::byte>(random_());
  }

  struct Pair {
    Owned<ibv_qp> a, b;
  };
  Pair make_pair() {
    Pair p{make_qp(pd_, cq_.get(), kDepth), make_qp(pd_, cq_.get(), kDepth)};
    connect(p.a.get(), 7, {p.b->qp_num, 9, mr_->rkey, at(0), gid_});
    connect(p.b.get(), 9, {p.a->qp_num, 7, mr_->rkey, at(0), gid_});
    ++totals_.pairs;
    return p;
  }

  void post(ibv_qp* qp, ibv_wr_opcode opcode, std::size_t from, std::uint32_t bytes, std::size_t to,
            std::uint32_t rkey) {
    ibv_sge sge{.addr = at(from), .length = bytes, .lkey = mr_->lkey};
    ibv_send_wr wr{}, *bad = nullptr;
    wr.wr_id = ++posted_;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = opcode;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma = {.remote_addr = at(to), .rkey = rkey};
    must(ibv_post_send(qp, &wr, &bad), "ibv_post_send");
  }
  void post_receive(ibv_qp* qp, std::size_t to, std::uint32_t bytes) {
    ibv_sge sge{.addr = at(to), .length = bytes, .lkey = mr_->lkey};
    ibv_recv_wr wr{.wr_id = ++posted_, .next = nullptr, .sg_list = &sge, .num_sge = 1}, *bad = nullptr;
    must(ibv_post_recv(qp, &wr, &bad), "ibv_post_recv");
  }
  // The next completion. That it comes is the test.
  ibv_wc complete() {
    const auto until = Clock::now() + std::chrono::seconds(60);
    ibv_wc wc;
    for (;;) {
      const int n = ibv_poll_cq(cq_.get(), 1, &wc);
      if (n < 0) wrong("ibv_poll_cq failed");
      if (n == 1) return wc;
      if (Clock::now() > until) wrong("a work request never completed");
    }
  }
  void nothing_more() {
    ibv_wc wc;
    if (ibv_poll_cq(cq_.get(), 1, &wc) != 0) wrong("a work request completed twice");
  }

  // WRITE, READ and SEND between two queue pairs of this program: the same bytes must arrive.
  void talk_to_myself() {
    Pair p = make_pair();
    const std::uint32_t messages = 1 + draw(kDepth / 2), bytes = 1 + draw(kBytes / 4);
    for (std::uint32_t m = 0; m < messages; ++m) {
      fill(0, bytes);
      const std::uint32_t kind = draw(3);
      if (kind == 2) post_receive(p.b.get(), kBytes, bytes);
      const ibv_wr_opcode opcodes[] = {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND};
      const bool reads = kind == 1;
      const std::size_t source = reads ? kReadFrom : 0;
      post(p.a.get(), opcodes[kind], reads ? kBytes : 0, bytes, reads ? kReadFrom : kBytes, mr_->rkey);
      for (std::uint32_t n = kind == 2 ? 2 : 1; n > 0; --n) {
        if (complete().status != IBV_WC_SUCCESS) wrong("a message between healthy queue pairs failed");
      }
      if (std::memcmp(memory_.data() + source, memory_.data() + kBytes, bytes) != 0) {
        wrong("other bytes arrived than were sent");
      }
      ++totals_.messages;
      totals_.bytes += bytes;
    }
    nothing_more();
  }

  // A wrong key: the first request fails for that reason, all others are flushed, each once.
  void break_off() {
    Pair p = make_pair();
    const std::uint32_t sends = 1 + draw(kDepth - 1), receives = draw(kDepth);
    for (std::uint32_t i = 0; i < receives; ++i) post_receive(p.b.get(), kBytes, 64);
    for (std::uint32_t i = 0; i < sends; ++i)
      post(p.a.get(), IBV_WR_RDMA_WRITE, 0, 64, kBytes, mr_->rkey ^ 0x5A00'0000);
    bool refused = false;
    for (std::uint32_t i = 0; i < sends + receives; ++i) {
      const ibv_wc wc = complete();
      if (wc.status == IBV_WC_REM_ACCESS_ERR && !refused) {
        refused = true;
      } else if (wc.status != IBV_WC_WR_FLUSH_ERR) {
        wrong("a broken queue pair's work was neither refused nor flushed");
      }
    }
    if (!refused) wrong("a wrong key was not refused");
    nothing_more();
    ++totals_.broken;
  }

  // Destroyed with work under way: no completion of it may turn up later.
  void leave_in_the_middle() {
    {
      Pair p = make_pair();
      for (std::uint32_t i = 1 + draw(kDepth - 1); i > 0; --i)
        post(p.a.get(), IBV_WR_RDMA_WRITE, 0, kBytes / 4, kBytes, mr_->rkey);
      if (draw(2) == 0) p.b.reset();
    }
    nothing_more();
  }

  void talk_to_the_peer() {
    const std::uint32_t deaths = peer_.deaths();
    Owned<ibv_qp> qp = make_qp(pd_, cq_.get(), kDepth);
    const Address mine{qp->qp_num, qp->qp_num, mr_->rkey, at(0), gid_};
    const auto theirs = peer_.connect(mine);
    if (!theirs) return;
    connect(qp.get(), mine.psn, *theirs);
    for (std::uint32_t rounds = 1 + draw(20); rounds > 0; --rounds) {
      const std::uint32_t bytes = 1 + draw(kEchoBytes - 1);
      fill(0, bytes);
      post_receive(qp.get(), kBytes, kEchoBytes);
      post(qp.get(), IBV_WR_SEND, 0, bytes, 0, 0);
      const ibv_wc first = complete();
      // A peer that dies after it has taken the message leaves the receive waiting: an error state flushes it.
      ibv_wc second{};
      if (!wait_for_echo(qp.get(), deaths, second) || first.status != IBV_WC_SUCCESS ||
          second.status != IBV_WC_SUCCESS) {
        if (peer_.deaths() == deaths) wrong("an echo failed though the peer lives");
        ++totals_.lost_peers;
        break;
      }
      if (std::memcmp(memory_.data(), memory_.data() + kBytes, bytes) != 0)
        wrong("other bytes came back than were sent");
      ++totals_.echoes;
    }
    qp.reset();
    nothing_more();
  }
  bool wait_for_echo(ibv_qp* qp, std::uint32_t deaths, ibv_wc& wc) {
    while (ibv_poll_cq(cq_.get(), 1, &wc) == 0) {
      if (peer_.deaths() == deaths) continue;
      ibv_qp_attr a{};
      a.qp_state = IBV_QPS_ERR;
      must(ibv_modify_qp(qp, &a, IBV_QP_STATE), "to ERR");
      wc = complete();
      return false;
    }
    return true;
  }

  ibv_pd* pd_;
  Peer& peer_;
  Totals& totals_;
  std::mt19937_64 random_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(3 * kBytes);
  Owned<ibv_cq> cq_;
  Owned<ibv_mr> mr_;
  ibv_gid gid_{};
  std::uint64_t posted_ = 0;
};

int open_descriptors() {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (folder != nullptr && readdir(folder) != nullptr) ++count;
  if (folder != nullptr) closedir(folder);
  return count;
}

struct Options {
  std::uint64_t seconds = 5, threads = 16, seed = 1;
};

void run(const char* program, const Options& options) {
  Totals totals;
  {
    Peer peer(program);
    Owned<ibv_context> context = open_device();
    Owned<ibv_pd> pd(must(ibv_alloc_pd(context.get()), "ibv_alloc_pd"));
    const auto until = Clock::now() + std::chrono::seconds(options.seconds);
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < options.threads; ++i) {
      threads.emplace_back(
          [&, i] { Worker(context.get(), pd.get(), peer, totals, options.seed * 1000 + i).run(until); });
    }
    // The other program lives until it has answered somebody, and no shorter than this.
    constexpr auto kLife = std::chrono::milliseconds(700);
    for (auto born = Clock::now(); born + kLife < until; born = Clock::now()) {
      const std::uint64_t before = totals.echoes;
      std::this_thread::sleep_for(kLife);
      while (totals.echoes == before && Clock::now() < until)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      peer.kill_and_restart();
    }
    for (std::thread& t : threads) t.join();
  }
  std::printf("pairs %lu, messages %lu, bytes %lu, broken %lu, echoes %lu, connections that lost their peer %lu\n",
              totals.pairs.load(), totals.messages.load(), totals.bytes.load(), totals.broken.load(),
              totals.echoes.load(), totals.lost_peers.load());
  if (totals.messages == 0 || totals.broken == 0 || totals.echoes == 0) wrong("not everything was tried");
}

}  // namespace
}  // namespace stress

int main(int argc, char** argv) {
  stress::Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const std::uint64_t value = std::stoull(argv[i + 1]);
    if (name == "--serve") return stress::serve(static_cast<int>(value));
    if (name == "--seconds") options.seconds = value;
    if (name == "--threads") options.threads = value;
    if (name == "--seed") options.seed = value;
  }
  stress::start_broker_early();
  const int before = stress::open_descriptors();
  stress::run(argv[0], options);
  const int after = stress::open_descriptors();
  if (after > before) {
    std::fprintf(stderr, "stress: %d descriptors were left open\n", after - before);
    return 1;
  }
  return 0;
}
