#include "cli/bench/connections/reading.h"

#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weft::cli {
namespace {

constexpr std::string_view kSays = "weft-connections: ";

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) out.push_back(line);
  return out;
}

nlohmann::json findings_in(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    if (!line.starts_with('{')) continue;
    nlohmann::json j = nlohmann::json::parse(line, nullptr, false);
    if (j.is_object() && j.contains("points")) return j;
  }
  return nullptr;
}

// A counter of a process, from the report that begins with "weft: counters of NAME (pid N)"; those that are 0 are not
// there. Nothing: there is no such report.
class Counters {
 public:
  Counters(const std::vector<std::string>& lines, std::int64_t process) {
    const std::string mine = fmt::format("(pid {})", process);
    bool in_mine = false;
    for (const std::string& line : lines) {
      if (line.starts_with("weft: counters of ")) {
        in_mine = line.ends_with(mine);
        found_ = found_ || in_mine;
      } else if (in_mine) {
        lines_.push_back(line);
      }
    }
  }
  [[nodiscard]] bool found() const { return found_; }
  [[nodiscard]] std::uint64_t operator[](std::string_view name) const {
    for (const std::string& line : lines_) {
      std::istringstream words(line);
      std::string first;
      std::uint64_t value = 0;
      if (words >> first >> value && first == name) return value;
    }
    return 0;
  }

 private:
  bool found_ = false;
  std::vector<std::string> lines_;
};

std::optional<double> number_in(const nlohmann::json& j, const char* name) {
  const auto at = j.find(name);
  return at != j.end() && at->is_number() ? std::optional(at->get<double>()) : std::nullopt;
}

}  // namespace

tl::expected<LoadReading, std::string> read_load(std::string_view text) {
  const std::vector<std::string> lines = lines_of(text);
  const nlohmann::json findings = findings_in(lines);
  if (!findings.is_object()) return tl::unexpected<std::string>("it printed no findings");
  const nlohmann::json& points = findings["points"];
  if (!points.is_array() || points.size() != 1) return tl::unexpected<std::string>("it printed not one point");
  const nlohmann::json& point = points.front();
  const auto rate = number_in(point, "messages_per_second"), median = number_in(point, "median_us"),
             p99 = number_in(point, "p99_us"), process = number_in(findings, "process");
  if (!rate || !median || !p99 || !process)
    return tl::unexpected<std::string>("its findings lack a rate, a time or its process");
  const Counters counters(lines, static_cast<std::int64_t>(*process));
  if (!counters.found() || counters["sent_pkts"] == 0)
    return tl::unexpected<std::string>("it printed no counters of the sender");
  return LoadReading{.messages_per_second = *rate,
                     .median_us = *median,
                     .p99_us = *p99,
                     .steady = point.value("steady", false),
                     .least_share = number_in(point, "least_share"),
                     .most_share = number_in(point, "most_share"),
                     .sent_packets = counters["sent_pkts"],
                     .again = counters["retransmitted_pkts"] + counters["read_responses_resent"]};
}

std::string reason_in(std::string_view text) {
  std::string last;
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with(kSays)) return line.substr(kSays.size());
    if (!line.empty()) last = line;
  }
  return last.empty() ? "it said nothing" : last;
}

}  // namespace weft::cli
