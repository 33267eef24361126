// Two cards back to back in one thread, with no kernel between them: what the card itself costs.
//
//   build/bench/back_to_back                 the table of docs/performance.md: medians of interleaved rounds
//   build/bench/back_to_back --only write64 --messages 200000 --rounds 1     one row, once: for callgrind
#include <algorithm>
#include <cstdint>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "world/direct/pair.h"

namespace {

using namespace weft;

// One thread that never waits: the processor time it took is the time it needs, on a busy machine too.
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Row {
  std::string name;
  nic::WorkKind kind;
  std::uint32_t bytes, qps;
  std::uint32_t burst;  // messages posted to a queue pair before the next one has its turn
  direct::Icrc icrc;
  nic::Dialect dialect = nic::Dialect::roce;
};

constexpr nic::Rights kAll = nic::Rights::local_write | nic::Rights::remote_write | nic::Rights::remote_read;

// Two connected devices with `qps` queue pairs on each.
class Workload {
 public:
  explicit Workload(const Row& row)
      : row_(row), pair_(config(row), row.icrc), source_(row.bytes * kBuffers), target_(row.bytes * kBuffers) {
    host::Device &a = pair_.a(), &b = pair_.b();
    const auto da = a.create_domain().value(), db = b.create_domain().value();
    cq_ = a.create_cq(4096).value();
    host::CompletionQueue* other = b.create_cq(4096).value();
    key_a_ = a.register_region(da, {source_.data(), source_.size(), kAddressA, kAll}).value();
    key_b_ = b.register_region(db, {target_.data(), target_.size(), kAddressB, kAll}).value();
    for (std::uint32_t i = 0; i < row.qps; ++i) {
      host::QueuePair* qa = a.create_qp(da, {.limits = kDepth, .send_cq = cq_, .receive_cq = cq_}).value();
      host::QueuePair* qb = b.create_qp(db, {.limits = kDepth, .send_cq = other, .receive_cq = other}).value();
      pair_.connect(*qa, *qb, kAll);
      posters_.push_back(qa->poster());
    }
    pair_.drive();
  }

  // Moves `messages`, round robin over the queue pairs; seconds it took.
  double run(std::uint64_t messages) {
    const double start = processor_seconds();
    std::uint64_t posted = 0, done = 0;
    std::array<nic::Completion, 32> completions;
    while (done < messages) {
      while (posted < messages && posted - done < kUnderWay) post(posted++);
      pair_.drive();
      for (std::uint32_t n = cq_->poll(completions); n > 0; n = cq_->poll(completions)) {
        for (std::uint32_t i = 0; i < n; ++i) {
          if (completions[i].status != nic::Status::success) throw std::runtime_error("a message failed");
        }
        done += n;
      }
    }
    if (pair_.lost() != 0) throw std::runtime_error("the wire was too short");
    return processor_seconds() - start;
  }
  [[nodiscard]] std::uint64_t packets() {
    return pair_.a().card().counters.get(nic::Counter::sent_pkts) +
           pair_.b().card().counters.get(nic::Counter::sent_pkts);
  }

 private:
  static constexpr std::uint32_t kUnderWay = 64, kBuffers = 64;
  static constexpr host::QpLimits kDepth{.send_entries = 4, .receive_entries = 4};
  static constexpr std::uint64_t kAddressA = 0x10'0000, kAddressB = 0x20'0000;

  static host::DeviceConfig config(const Row& row) {
    host::DeviceConfig c;
    c.card.max_qps = std::max(row.qps, 64U);
    c.dialect = row.dialect;
    return c;
  }
  void post(std::uint64_t i) {
    const std::uint64_t offset = i % kBuffers * row_.bytes;
    const nic::Sge sge{kAddressA + offset, row_.bytes, key_a_};
    const host::WorkRequest request{
        .id = i, .kind = row_.kind, .sges = {&sge, 1}, .remote_address = kAddressB + offset, .remote_key = key_b_};
    if (posters_[next_].post(request) != host::Error::none) throw std::runtime_error("send queue full");
    if ((i + 1) % row_.burst != 0) return;
    if (++next_ == posters_.size()) next_ = 0;
    host::Poster::prefetch(std::span(posters_).subspan(next_), row_.burst);
  }

  Row row_;
  direct::Pair pair_;
  std::vector<std::byte> source_, target_;
  host::CompletionQueue* cq_ = nullptr;
  wire::Key key_a_{}, key_b_{};
  std::vector<host::Poster> posters_;
  std::size_t next_ = 0;
};

const std::vector<Row>& rows() {
  using enum nic::WorkKind;
  static const std::vector<Row> all{
      {"write64", write, 64, 64, 4, direct::Icrc::none},
      {"write64_10kqps", write, 64, 10'000, 4, direct::Icrc::none},
      {"single64", write, 64, 64, 1, direct::Icrc::none},
      {"single64_srnic", write, 64, 64, 1, direct::Icrc::none, nic::Dialect::srnic},
      {"single64_10kqps", write, 64, 10'000, 1, direct::Icrc::none},
      {"write64_icrc", write, 64, 64, 4, direct::Icrc::both_ends},
      {"write4k", write, 4096, 64, 4, direct::Icrc::none},
      {"write4k_icrc", write, 4096, 64, 4, direct::Icrc::both_ends},
      {"read4k", read, 4096, 64, 4, direct::Icrc::none},
      {"write64_srnic", write, 64, 64, 4, direct::Icrc::none, nic::Dialect::srnic},
      {"write4k_srnic", write, 4096, 64, 4, direct::Icrc::none, nic::Dialect::srnic},
      {"write4k_icrc_srnic", write, 4096, 64, 4, direct::Icrc::both_ends, nic::Dialect::srnic},
  };
  return all;
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

void print(const Row& row, double per_second, double packets_per_message) {
  fmt::print("{:<18} {:>6} B {:>6} QPs  {:>7.2f} M messages/s {:>8.1f} Gb/s  {:.2f} packets a message\n", row.name,
             row.bytes, row.qps, per_second / 1e6, per_second * row.bytes * 8 / 1e9, packets_per_message);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Two cards back to back in one thread"};
  std::vector<std::string> only;
  std::uint64_t messages = 0;
  int rounds = 15;
  app.add_option("--only", only, "these rows only");
  app.add_option("--messages", messages, "messages of a row and round (default: about a twentieth of a second)");
  app.add_option("--rounds", rounds, "interleaved rounds; medians are printed")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);

  std::vector<Row> chosen;
  for (const Row& row : rows()) {
    if (only.empty() || std::find(only.begin(), only.end(), row.name) != only.end()) chosen.push_back(row);
  }
  if (chosen.empty()) {
    fmt::print(stderr, "no such row; there are:");
    for (const Row& row : rows()) fmt::print(stderr, " {}", row.name);
    fmt::print(stderr, "\n");
    return 2;
  }
  std::vector<std::unique_ptr<Workload>> workloads;
  std::vector<std::vector<double>> rates(chosen.size());
  std::vector<std::uint64_t> moved(chosen.size());
  workloads.reserve(chosen.size());
  for (const Row& row : chosen) workloads.push_back(std::make_unique<Workload>(row));
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const std::uint64_t n = messages != 0 ? messages : chosen[i].bytes > 1000 ? 100'000 : 300'000;
      rates[i].push_back(static_cast<double>(n) / workloads[i]->run(n));
      moved[i] += n;
    }
  }
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    print(chosen[i], median(rates[i]), static_cast<double>(workloads[i]->packets()) / static_cast<double>(moved[i]));
    if (i == 0 || chosen[i].qps <= chosen[i - 1].qps) continue;
    std::vector<double> ratios;  // round by round, because the machine is not the same from one to the next
    ratios.reserve(static_cast<std::size_t>(rounds));
    for (int r = 0; r < rounds; ++r) ratios.push_back(rates[i][r] / rates[i - 1][r]);
    fmt::print("{:<18} {:.2f} of {}\n", "", median(ratios), chosen[i - 1].name);
  }
}
