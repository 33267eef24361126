// The demonstration: hosts around a switch, everything between them that RDMA has, at once, on links that lose packets.
#include <deque>

#include <fmt/format.h>

#include "cli/demo/reliable.h"
#include "cli/demo/report.h"
#include "cli/demo/shared.h"
#include "cli/demo/unreliable.h"

namespace weft::cli {
namespace {

constexpr std::uint32_t kHosts = 4;
constexpr SimulationOptions kNetwork{};
constexpr Duration kDemoPatience = Duration::seconds(100);  // of simulated time; a run takes milliseconds

class Demo {
 public:
  explicit Demo(const DemoOptions& options)
      : options_(options), sim_({.seed = options.seed, .loss = options.loss}), stage_{sim_, board_, options.seed} {
    for (std::uint32_t i = 0; i < kHosts; ++i) stations_.emplace_back(sim_);
    sim_.connect();
    sim_.trace_to(options.trace);
    build();
  }

  DemoReport run() {
    spawn();
    const bool idle = sim_.run(kDemoPatience);
    if (!idle || !sim_.at_rest()) board_.problems.push_back("the network has not come to rest");
    judge();
    return report();
  }

 private:
  // A reliable pair between any two hosts; from each host to the next two a lane into a shared queue, and to the next
  // an unreliable one; datagrams from everyone to everyone.
  void build() {
    std::uint64_t number = 0;
    for (std::uint32_t a = 0; a < kHosts; ++a) {
      for (std::uint32_t b = a + 1; b < kHosts; ++b) pairs_.emplace_back(stage_, stations_[a], stations_[b], ++number);
    }
    for (DemoStation& station : stations_) inboxes_.emplace_back(stage_, station);
    for (std::uint32_t a = 0; a < kHosts; ++a) {
      for (const std::uint32_t b : {(a + 1) % kHosts, (a + 2) % kHosts}) {
        shared_.emplace_back(stage_, stations_[a], stations_[b], inboxes_[b], ++number);
      }
      lanes_.emplace_back(stage_, stations_[a], stations_[(a + 1) % kHosts], ++number);
      posts_.emplace_back(stage_, stations_[a]);
    }
    for (DatagramPost& post : posts_) all_posts_.push_back(&post);
  }

  void spawn() {
    for (ReliablePair& pair : pairs_) sim_.spawn(pair.run());
    for (SharedInbox& inbox : inboxes_) sim_.spawn(inbox.keep());
    for (SharedLane& lane : shared_) sim_.spawn(lane.run());
    for (UnreliableLane& lane : lanes_) {
      sim_.spawn(lane.receive());
      sim_.spawn(lane.send());
    }
    for (DatagramPost& post : posts_) {
      sim_.spawn(post.receive(all_posts_));
      sim_.spawn(post.send(all_posts_));
    }
  }

  // Reliable means all of it; and whatever arrived must be right.
  void judge() {
    for (std::size_t i = 0; i < kRows; ++i) {
      const RowText& text = kRowTexts[i];
      const DemoTally& tally = board_.rows[i];
      const bool reliable = text.service == Service::rc;
      if (tally.wrong != 0) {
        board_.problems.push_back(
            fmt::format("{} {}: {} messages were wrong", name_of(text.service), text.name, tally.wrong));
      }
      if (tally.messages == 0 || tally.completed != tally.messages || (reliable && tally.checked != tally.messages)) {
        board_.problems.push_back(fmt::format("{} {}: {} of {} completed", name_of(text.service), text.name,
                                              tally.completed, tally.messages));
      }
    }
  }

  DemoReport report() {
    DemoReport r;
    r.options = options_;
    r.hosts = kHosts;
    r.connections = static_cast<std::uint32_t>(pairs_.size() + shared_.size() + lanes_.size());
    r.queue_pairs = static_cast<std::uint32_t>(2 * r.connections + posts_.size());
    r.bits_per_second = kNetwork.bits_per_second;
    r.link_delay = kNetwork.delay;
    r.board = board_;
    r.network = sim_.network();
    r.counters = summed_counters();
    r.simulated = sim_.now();
    r.digest = sim_.digest();
    return r;
  }

  [[nodiscard]] std::vector<Counter> summed_counters() const {
    std::vector<Counter> sum = stations_.front().device.counters();
    for (std::size_t i = 1; i < stations_.size(); ++i) {
      const std::vector<Counter> more = stations_[i].device.counters();
      for (std::size_t j = 0; j < sum.size(); ++j) sum[j].value += more[j].value;
    }
    std::erase_if(sum, [](const Counter& counter) { return counter.value == 0; });
    return sum;
  }

  DemoOptions options_;
  Scoreboard board_;
  Simulation sim_;
  Stage stage_;
  std::deque<DemoStation> stations_;
  std::deque<ReliablePair> pairs_;
  std::deque<SharedInbox> inboxes_;
  std::deque<SharedLane> shared_;
  std::deque<UnreliableLane> lanes_;
  std::deque<DatagramPost> posts_;
  std::vector<DatagramPost*> all_posts_;
};

}  // namespace

DemoReport run_demo(const DemoOptions& options) { return Demo(options).run(); }

}  // namespace weft::cli
