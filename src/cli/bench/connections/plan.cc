#include "cli/bench/connections/plan.h"

#include <algorithm>

namespace weft::cli {
namespace {

constexpr unsigned kUsualRounds = 3, kMilliseconds = 1000, kQuickMilliseconds = 200;
constexpr std::uint32_t kLossyDepth = 128, kLossyQps = 64;

// As the user chose, each once; else all of them.
template <class T>
std::vector<T> chosen(const std::vector<T>& wanted, std::vector<T> all) {
  if (wanted.empty()) return all;
  std::vector<T> out;
  for (const T& w : wanted) {
    if (std::find(out.begin(), out.end(), w) == out.end()) out.push_back(w);
  }
  return out;
}

// A few points that tell whether a row is flat: deep connections up to 1024 of them, and 10 000 shallower ones.
bool is_quick(std::uint32_t depth, std::uint32_t qps) {
  return depth == 128 ? qps == 1 || qps == 128 || qps == 1024 : depth == 16 && (qps == 128 || qps == 10000);
}

template <class T>
bool has(const std::vector<T>& values, const T& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

LoadPlan plan_of(const LoadBench& bench) {
  using Names = std::vector<std::string>;
  using Numbers = std::vector<std::uint32_t>;
  const bool thinned = bench.quick && bench.depths.empty() && bench.qps.empty();
  const auto wires = chosen(bench.wires, Names{"shm", "udp"});
  const auto verbs = chosen(bench.verbs, bench.quick ? Names{"send"} : Names{"send", "write"});
  const auto transports = chosen(bench.transports, bench.quick ? Names{"srnic"} : Names{"srnic", "roce"});
  const auto depths = chosen(bench.depths, Numbers{1, 16, 128});
  const auto qps = chosen(bench.qps, Numbers{1, 16, 128, 1024, 10000});
  LoadPlan plan;
  plan.rounds = bench.rounds != 0 ? bench.rounds : bench.quick ? 1 : kUsualRounds;
  plan.table.milliseconds = bench.milliseconds != 0 ? bench.milliseconds
                            : bench.quick           ? kQuickMilliseconds
                                                    : kMilliseconds;
  const auto add = [&](const LoadPoint& point) {
    if (!thinned || is_quick(point.depth, point.qps)) plan.table.cells.emplace_back().point = point;
  };
  for (const auto& wire : wires) {
    for (const auto& verb : verbs) {
      for (const auto depth : depths) {
        for (const auto n : qps) {
          for (const auto& transport : transports) add({wire, transport, verb, depth, n});
        }
      }
    }
  }
  const bool lossy = !bench.quick && has(wires, std::string("udp")) && has(transports, std::string("srnic")) &&
                     has(depths, kLossyDepth);
  for (std::size_t i = 0; lossy && i < verbs.size(); ++i) {
    LoadTable::Lossy& l = plan.table.losses.emplace_back();
    l.lossless.point = l.lossy.point = {"udp", "srnic", verbs[i], kLossyDepth, kLossyQps};
  }
  return plan;
}

std::vector<std::string> words_of(const LoadPoint& p, const std::string& loss, unsigned round,
                                  std::uint32_t milliseconds) {
  std::vector<std::string> words{"run", "--stats", "--wire", p.wire, "--transport", p.transport};
  if (loss != "0") words.insert(words.end(), {"--loss", loss, "--seed", std::to_string(round + 1)});
  words.insert(words.end(), {"--", "weft-connections", "--qps", std::to_string(p.qps), "--depth",
                             std::to_string(p.depth), "--verb", p.verb, "--bytes", std::to_string(bytes_of(p.verb)),
                             "--rounds", "1", "--milliseconds", std::to_string(milliseconds), "--no-idle", "--json"});
  return words;
}

}  // namespace weft::cli
