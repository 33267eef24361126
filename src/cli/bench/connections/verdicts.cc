#include "cli/bench/connections/verdicts.h"

#include <algorithm>

#include <fmt/format.h>

namespace weft::cli {
namespace {

constexpr double kOfBest = 0.8, kAgain = 0.0001, kOfRoce = 0.95, kShares = 0.1, kKeeps = 0.75;
constexpr std::uint32_t kShareMilliseconds = 1000;  // over which shares are promised

class Judging {
 public:
  Judging(std::string what, double limit, bool at_most) {
    verdict_.what = std::move(what);
    verdict_.limit = limit;
    verdict_.at_most = at_most;
  }
  void add(const LoadPoint& point, std::optional<double> value) {
    const bool at_most = verdict_.at_most;
    const bool first = verdict_.judged == 0;
    const bool worse = verdict_.worst && (!value || (at_most ? *value > *verdict_.worst : *value < *verdict_.worst));
    if (first || worse) {
      verdict_.worst = value;
      verdict_.where = text_of(point);
    }
    ++verdict_.judged;
    verdict_.held += value && (at_most ? *value <= verdict_.limit : *value >= verdict_.limit) ? 1 : 0;
  }
  void put(std::vector<LoadVerdict>& out) {
    if (verdict_.judged > 0) out.push_back(std::move(verdict_));
  }

 private:
  LoadVerdict verdict_;
};

// Whether there is a row to compare with: the same point with another number of queue pairs.
bool has_row(const LoadTable& table, const LoadPoint& point) {
  return std::any_of(table.cells.begin(), table.cells.end(), [&](const LoadCell& c) {
    LoadPoint as_ours = c.point;
    as_ours.qps = point.qps;
    return as_ours == point && c.point.qps != point.qps;
  });
}

void judge_curve(const LoadTable& table, std::uint32_t qps, std::uint32_t depth, std::vector<LoadVerdict>& out) {
  Judging j(fmt::format("{} connections at depth {}, of the best of their row", qps, depth), kOfBest, false);
  for (const LoadCell& c : table.cells) {
    if (c.point.qps == qps && c.point.depth == depth && has_row(table, c.point)) j.add(c.point, of_best(table, c));
  }
  j.put(out);
}

void judge_again(const LoadTable& table, std::vector<LoadVerdict>& out) {
  Judging j("sent again though nothing is lost, of packets sent", kAgain, true);
  for (const LoadCell& c : table.cells) j.add(c.point, c.again_share());
  j.put(out);
}

void judge_dialects(const LoadTable& table, std::vector<LoadVerdict>& out) {
  Judging j("srnic beside roce", kOfRoce, false);
  for (const LoadCell& c : table.cells) {
    LoadPoint twin = c.point;
    twin.transport = "roce";
    const LoadCell* other = table.find(twin);
    const bool compared = c.point.transport == "srnic" && other != nullptr && other->rate.median();
    if (compared) j.add(c.point, of_roce(table, c));
  }
  j.put(out);
}

// What one connection has more or less than the mean, at most.
void judge_shares(const LoadTable& table, std::vector<LoadVerdict>& out) {
  Judging j("shares of connections, beside their mean", kShares, true);
  for (const LoadCell& c : table.cells) {
    const auto least = c.least.median(), most = c.most.median();
    if (least && most) j.add(c.point, std::max(1 - *least, *most - 1));
  }
  if (table.milliseconds >= kShareMilliseconds) j.put(out);
}

void judge_loss(const LoadTable& table, std::vector<LoadVerdict>& out) {
  Judging j("kept of the lossless rate at 1 % loss", kKeeps, false);
  for (const LoadTable::Lossy& l : table.losses) {
    j.add(l.lossy.point, Samples::ratio(l.lossy.rate, l.lossless.rate));
  }
  j.put(out);
}

}  // namespace

std::vector<LoadVerdict> verdicts_of(const LoadTable& table) {
  std::vector<LoadVerdict> out;
  judge_curve(table, 1024, 128, out);
  judge_curve(table, 10000, 16, out);
  judge_again(table, out);
  judge_dialects(table, out);
  judge_shares(table, out);
  judge_loss(table, out);
  return out;
}

std::string text_of(const LoadPoint& p) {
  return fmt::format("{} {} {}, depth {}, {} queue pair{}", p.wire, p.transport, p.verb, p.depth, p.qps,
                     p.qps == 1 ? "" : "s");
}

}  // namespace weft::cli
