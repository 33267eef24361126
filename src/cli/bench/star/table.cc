#include "cli/bench/star/table.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/bench/number_json.h"
#include "cli/bench/number_text.h"

namespace weft::cli {
namespace {

constexpr std::uint32_t kStarFew = 100, kStarMany = 100'000;
constexpr std::uint32_t kStarRoom = 131'072;  // queue pairs that each device has room for, in every row

std::string star_command(const std::vector<std::string>& words) {
  std::string out = "weft";
  for (const std::string& w : words) out += " " + w;
  return out;
}

std::optional<double> star_ratio(const StarCell* one, const StarCell* other) {
  return one != nullptr && other != nullptr ? Samples::ratio(one->rate, other->rate) : std::nullopt;
}

}  // namespace

const StarCell* StarTable::at(std::uint32_t connections, StarWay way) const {
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.connections == connections; });
  return row == rows.end() ? nullptr : &row->ways[static_cast<std::size_t>(way)];
}

std::vector<StarVerdict> verdicts_of(const StarTable& table) {
  std::vector<StarVerdict> out;
  if (const StarCell* many = table.at(kStarMany, StarWay::star); many != nullptr) {
    out.push_back({fmt::format("star with {} connections beside {}", kStarMany, kStarFew),
                   star_ratio(many, table.at(kStarFew, StarWay::star)), kStarKeeps});
  }
  for (const StarTable::Row& row : table.rows) {
    out.push_back({fmt::format("star beside star that trusts its peers, {} connection{}", row.connections,
                               row.connections == 1 ? "" : "s"),
                   star_ratio(table.at(row.connections, StarWay::star), table.at(row.connections, StarWay::trusting)),
                   kCheckKeeps});
  }
  return out;
}

std::vector<std::string> words_of(const StarBench& bench, std::uint32_t connections, StarWay way) {
  const bool star = way == StarWay::star || way == StarWay::trusting;
  std::vector<std::string> words{"run", "--stats", "--wire", bench.wire, "--max-qps", std::to_string(kStarRoom)};
  words.insert(words.end(), {"--transport", star ? "star" : kStarWays[static_cast<std::size_t>(way)]});
  if (star) words.insert(words.end(), {"--role", "stateless"});
  if (way == StarWay::trusting) words.insert(words.end(), {"--capabilities", "off"});
  words.insert(words.end(), {"--", "weft-connections", "--clients", std::to_string(bench.clients)});
  if (star) words.insert(words.end(), {"--client-variable", "WEFT_ROLE=stateful"});
  words.insert(words.end(), {"--qps", std::to_string(connections), "--depth", "1", "--verb", bench.verb, "--bytes",
                             "32", "--rounds", "1", "--milliseconds", std::to_string(bench.milliseconds), "--json"});
  return words;
}

std::string star_text(const StarBench& bench, const StarTable& table) {
  std::string out = star_command(words_of(bench, kStarFew, StarWay::star)) + "\n\n";
  out += fmt::format("{:>11}  {:<14}  {:>10}  {:>9}  {:>9}  {:>7}\n", "connections", "server", "messages/s",
                     "median us", "p99 us", "of roce");
  for (const StarTable::Row& row : table.rows) {
    for (std::size_t w = 0; w < row.ways.size(); ++w) {
      const StarCell& cell = row.ways[w];
      const auto rate = cell.rate.median();
      out += fmt::format("{:>11}  {:<14}  {:>10}  {:>9}  {:>9}  {:>7}", row.connections, kStarWays[w],
                         rate ? fmt::format("{:.0f}", *rate) : "-", number_text(cell.median_us.median()),
                         number_text(cell.p99_us.median()), number_text(Samples::ratio(cell.rate, row.ways[0].rate)));
      out += cell.rate.failed() == 0 ? "\n" : fmt::format("  {} failed: {}\n", cell.rate.failed(), cell.failure);
    }
  }
  out += "\n";
  for (const StarVerdict& v : verdicts_of(table)) {
    out += fmt::format("{:>6} {:<58} {} (at least {})\n", number_text(v.ratio), v.what, v.met() ? "met" : "MISSED",
                       v.floor);
  }
  return out;
}

std::string star_json(const StarBench& bench, const StarTable& table) {
  nlohmann::json rows = nlohmann::json::array(), verdicts = nlohmann::json::array();
  for (const StarTable::Row& row : table.rows) {
    for (std::size_t w = 0; w < row.ways.size(); ++w) {
      const StarCell& cell = row.ways[w];
      rows.push_back({{"connections", row.connections},
                      {"server", kStarWays[w]},
                      {"messages_per_second", number_or_null(cell.rate.median())},
                      {"median_us", number_or_null(cell.median_us.median())},
                      {"p99_us", number_or_null(cell.p99_us.median())},
                      {"runs", cell.rate.values()},
                      {"failed", cell.rate.failed()},
                      {"failure", cell.failure},
                      {"command", star_command(words_of(bench, row.connections, static_cast<StarWay>(w)))}});
    }
  }
  for (const StarVerdict& v : verdicts_of(table)) {
    verdicts.push_back({{"what", v.what}, {"ratio", number_or_null(v.ratio)}, {"at_least", v.floor}, {"met", v.met()}});
  }
  return nlohmann::json{{"rows", rows}, {"verdicts", verdicts}}.dump(2) + "\n";
}

}  // namespace weft::cli
