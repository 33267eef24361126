#include "cli/bench/connections/output.h"
#include "cli/bench/connections/plan.h"
#include "cli/bench/number_json.h"

namespace weft::cli {
namespace {

nlohmann::json row_json(const LoadTable& table, const LoadCell& c, const std::string& loss) {
  std::string command = "weft";
  for (const std::string& w : words_of(c.point, loss, 0, table.milliseconds)) command += " " + w;
  return {{"wire", c.point.wire},
          {"transport", c.point.transport},
          {"verb", c.point.verb},
          {"bytes", bytes_of(c.point.verb)},
          {"depth", c.point.depth},
          {"queue_pairs", c.point.qps},
          {"loss", loss},
          {"messages_per_second", number_or_null(c.rate.median())},
          {"gbits_per_second", number_or_null(c.gbits())},
          {"sent_packets", c.sent_packets},
          {"sent_again", number_or_null(c.again_share())},
          {"least_share", number_or_null(c.least.median())},
          {"most_share", number_or_null(c.most.median())},
          {"median_us", number_or_null(c.median_us.median())},
          {"p99_us", number_or_null(c.p99_us.median())},
          {"steady", c.steady},
          {"runs", c.rate.values()},
          {"failed", c.rate.failed()},
          {"failure", c.failure},
          {"command", command}};
}

}  // namespace

std::string load_json(const LoadTable& table) {
  nlohmann::json rows = nlohmann::json::array(), losses = nlohmann::json::array(), verdicts = nlohmann::json::array();
  for (const LoadCell& c : table.cells) {
    rows.push_back(row_json(table, c, "0"));
    rows.back()["of_best"] = number_or_null(of_best(table, c));
    rows.back()["of_roce"] = number_or_null(of_roce(table, c));
  }
  for (const LoadTable::Lossy& l : table.losses) {
    losses.push_back(row_json(table, l.lossless, "0"));
    losses.push_back(row_json(table, l.lossy, "1%"));
    losses.back()["of_lossless"] = number_or_null(Samples::ratio(l.lossy.rate, l.lossless.rate));
  }
  for (const LoadVerdict& v : verdicts_of(table)) {
    verdicts.push_back({{"what", v.what},
                        {"worst", number_or_null(v.worst)},
                        {"where", v.where},
                        {v.at_most ? "at_most" : "at_least", v.limit},
                        {"judged", v.judged},
                        {"held", v.held},
                        {"met", v.met()}});
  }
  return nlohmann::json{{"rows", rows}, {"losses", losses}, {"verdicts", verdicts}}.dump(2) + "\n";
}

}  // namespace weft::cli
