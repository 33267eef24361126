// The demonstration's report, for programs. Times are in picoseconds; the digest is text: JSON's numbers end at 2^53.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/demo/report.h"

namespace weft::cli {
namespace {

using Json = nlohmann::ordered_json;

Json row(const RowText& text, const DemoTally& tally) {
  return {{"service", name_of(text.service)},
          {"verb", text.name},
          {"messages", tally.messages},
          {"bytes", tally.bytes},
          {"completed", tally.completed},
          {"arrived", tally.arrived},
          {"checked", tally.checked},
          {"wrong", tally.wrong},
          {"latency_mean_ps", tally.latency_mean().in_picoseconds()},
          {"latency_max_ps", tally.latency_max.in_picoseconds()}};
}

Json network(const NetworkCounters& n) {
  return {{"sent", n.sent},
          {"sent_bytes", n.sent_bytes},
          {"lost", n.lost},
          {"delivered", n.delivered},
          {"unroutable", n.unroutable}};
}

}  // namespace

void print_json(const DemoReport& report) {
  Json verbs = Json::array(), counters = Json::array();
  for (std::size_t i = 0; i < kRows; ++i) verbs.push_back(row(kRowTexts[i], report.board.rows[i]));
  for (const Counter& counter : report.counters) {
    counters.push_back({{"name", counter.name}, {"meaning", counter.meaning}, {"value", counter.value}});
  }
  const Json all{{"weft", WEFT_VERSION},
                 {"ok", report.ok()},
                 {"problems", report.board.problems},
                 {"seed", report.options.seed},
                 {"loss", report.options.loss},
                 {"hosts", report.hosts},
                 {"connections", report.connections},
                 {"queue_pairs", report.queue_pairs},
                 {"link_bits_per_second", report.bits_per_second},
                 {"link_delay_ps", report.link_delay.in_picoseconds()},
                 {"verbs", std::move(verbs)},
                 {"network", network(report.network)},
                 {"counters", std::move(counters)},
                 {"simulated_ps", report.simulated.in_picoseconds()},
                 {"digest", fmt::format("{:016x}", report.digest)}};
  fmt::print("{}\n", all.dump(2));
}

}  // namespace weft::cli
