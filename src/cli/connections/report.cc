#include "cli/connections/report.h"

#include <algorithm>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/bench/number_json.h"

namespace weft::connections {
namespace {

constexpr double kRingBytes = kIdleDepth * 64.0;

const char* name_of(LoadVerb verb) {
  return verb == LoadVerb::send ? "send" : verb == LoadVerb::write ? "write" : "read";
}

// This point's rate relative to that of the point with the highest rate, over the rounds in which both ran.
double of_best(const ConnectionsPoint& point, const std::vector<ConnectionsPoint>& points) {
  const auto best =
      std::max_element(points.begin(), points.end(), [](const ConnectionsPoint& a, const ConnectionsPoint& b) {
        return a.rate.median().value_or(0) < b.rate.median().value_or(0);
      });
  return cli::Samples::ratio(point.rate, best->rate).value_or(0);
}

std::string shares_text(const ConnectionsPoint& p) {
  if (!p.least.median()) return "-";
  return fmt::format("{:.2f}..{:.2f}", *p.least.median(), *p.most.median());
}

}  // namespace

void ConnectionsPoint::add(const Measured& round) {
  rate.add(round.messages_per_second);
  median_us.add(round.median_us);
  p99_us.add(round.p99_us);
  least.add(round.shares ? std::optional(round.shares->least) : std::nullopt);
  most.add(round.shares ? std::optional(round.shares->most) : std::nullopt);
  completed += round.completed;
  steady = steady && round.steady;
}

std::string text_of(const Options& o, const Findings& f) {
  const char* const what = o.verb == LoadVerb::send ? "SENDs" : o.verb == LoadVerb::write ? "WRITEs" : "READs";
  std::string out;
  if (f.clients != 0) {
    out = fmt::format("{} clients connected in {:.1f} s, each wrote once on each connection\n", f.clients,
                      f.connect_seconds.value_or(0));
  }
  out += fmt::format(
      "{} of {} bytes, {}{} under way {}; {} round{} of {} ms\n", what, o.bytes, f.clients != 0 ? "at most " : "",
      o.depth,
      f.clients != 0 ? "for a connection, 1024 in all, and all data right" : "for each connection all the time",
      o.rounds, o.rounds == 1 ? "" : "s", o.milliseconds);
  out += fmt::format("{:>11}  {:>12}  {:>7}  {:>7}  {:>10}  {:>11}  {:>11}\n", "connections", "messages/s", "Gb/s",
                     "of best", "shares", "median us", "p99 us");
  for (const ConnectionsPoint& p : f.points) {
    const double rate = p.rate.median().value_or(0);
    const auto time = [&](const cli::Samples& t) {
      return fmt::format("{}{:.1f}", p.steady ? "" : ">", t.median().value_or(0));
    };
    out +=
        fmt::format("{:>11}  {:>12.0f}  {:>7.2f}  {:>7.2f}  {:>10}  {:>11}  {:>11}\n", p.connections, rate,
                    rate * o.bytes * 8 / 1e9, of_best(p, f.points), shares_text(p), time(p.median_us), time(p.p99_us));
  }
  if (f.idle_bytes) {
    out += fmt::format("memory of an idle connection: {:.0f} bytes on one side, {:.0f} beyond the ring of {} entries\n",
                       *f.idle_bytes, *f.idle_bytes - kRingBytes, kIdleDepth);
  }
  return out;
}

std::string json_of(const Options& o, const Findings& f) {
  nlohmann::json points = nlohmann::json::array();
  for (const ConnectionsPoint& p : f.points) {
    const double rate = p.rate.median().value_or(0);
    points.push_back({{"queue_pairs", p.connections},
                      {"messages_per_second", rate},
                      {"gbits_per_second", rate * o.bytes * 8 / 1e9},
                      {"of_best", of_best(p, f.points)},
                      {"least_share", cli::number_or_null(p.least.median())},
                      {"most_share", cli::number_or_null(p.most.median())},
                      {"median_us", cli::number_or_null(p.median_us.median())},
                      {"p99_us", cli::number_or_null(p.p99_us.median())},
                      {"steady", p.steady},
                      {"completed", p.completed},
                      {"runs", p.rate.values()}});
  }
  const nlohmann::json out{{"verb", name_of(o.verb)},
                           {"bytes", o.bytes},
                           {"depth", o.depth},
                           {"rounds", o.rounds},
                           {"milliseconds", o.milliseconds},
                           {"process", getpid()},
                           {"buffers", f.buffers},
                           {"receive_entries", f.receives},
                           {"clients", f.clients},
                           {"connect_seconds", cli::number_or_null(f.connect_seconds)},
                           {"points", points},
                           {"idle_connection_bytes", cli::number_or_null(f.idle_bytes)},
                           {"idle_ring_bytes", kRingBytes}};
  return out.dump() + "\n";
}

}  // namespace weft::connections
