#include <fmt/format.h>

#include "cli/bench/connections/output.h"
#include "cli/bench/connections/plan.h"
#include "cli/bench/number_text.h"

namespace weft::cli {
namespace {

std::string share_text(double share) {
  return share > 0 && share < 0.00001 ? std::string("<0.001 %") : fmt::format("{:.3f} %", share * 100);
}

std::string time_text(const LoadCell& cell, const Samples& times) {
  const auto us = times.median();
  if (!us) return "-";
  const char* least = cell.steady ? "" : ">";
  if (*us < 1e3) return fmt::format("{}{:.1f} us", least, *us);
  return *us < 1e6 ? fmt::format("{}{:.1f} ms", least, *us / 1e3) : fmt::format("{}{:.1f} s", least, *us / 1e6);
}

std::string remark(const LoadCell& cell) {
  const std::size_t failed = cell.rate.failed();
  if (failed == 0) return {};
  const std::size_t runs = failed + cell.rate.values().size();
  return failed == runs ? fmt::format("failed: {}", cell.failure)
                        : fmt::format("{} of {} failed: {}", failed, runs, cell.failure);
}

// The command of the first row, for whoever wants to see one by itself.
std::string command_text(const LoadTable& table) {
  std::string out = "weft";
  for (const std::string& w : words_of(table.cells.front().point, "0", 0, table.milliseconds)) out += " " + w;
  return out;
}

}  // namespace

LoadRowTexts row_texts(const LoadTable& table, const LoadCell& c) {
  const auto rate = c.rate.median(), least = c.least.median(), most = c.most.median(), again = c.again_share();
  return {.wire = c.point.wire,
          .transport = c.point.transport,
          .verb = c.point.verb,
          .depth = std::to_string(c.point.depth),
          .qps = std::to_string(c.point.qps),
          .rate = rate ? fmt::format("{:.0f}", *rate) : "-",
          .gbits = number_text(c.gbits()),
          .of_best = number_text(of_best(table, c)),
          .of_roce = number_text(of_roce(table, c)),
          .again = again ? share_text(*again) : "-",
          .shares = least && most ? fmt::format("{:.2f}..{:.2f}", *least, *most) : "-",
          .median = time_text(c, c.median_us),
          .p99 = time_text(c, c.p99_us),
          .remark = remark(c)};
}

std::string value_text(const LoadVerdict& verdict, const std::optional<double>& value) {
  if (!value) return "-";
  return verdict.at_most ? share_text(*value) : fmt::format("{:.2f}", *value);
}

std::string load_text(const LoadTable& table) {
  constexpr auto kRow = "{:<4} {:<9} {:<5} {:>5} {:>6} {:>9} {:>7} {:>7} {:>7} {:>9} {:>10} {:>9} {:>9}{}{}\n";
  std::string out = command_text(table) + "\n\n";
  out += fmt::format(kRow, "wire", "transport", "verb", "depth", "qps", "msgs/s", "Gb/s", "of best", "of roce", "again",
                     "shares", "median", "p99", "", "");
  for (const LoadCell& cell : table.cells) {
    const LoadRowTexts t = row_texts(table, cell);
    out += fmt::format(kRow, t.wire, t.transport, t.verb, t.depth, t.qps, t.rate, t.gbits, t.of_best, t.of_roce,
                       t.again, t.shares, t.median, t.p99, t.remark.empty() ? "" : "  ", t.remark);
  }
  for (const LoadTable::Lossy& l : table.losses) {
    out += fmt::format("{}: {} messages/s at 1 % loss, {} of lossless\n", text_of(l.lossy.point),
                       l.lossy.rate.median() ? fmt::format("{:.0f}", *l.lossy.rate.median()) : "-",
                       number_text(Samples::ratio(l.lossy.rate, l.lossless.rate)));
  }
  out += "\n";
  for (const LoadVerdict& v : verdicts_of(table)) {
    out += fmt::format("{:>9}  {}: {} at {} of {} ({} {})\n{:>9}  worst: {}\n", value_text(v, v.worst), v.what,
                       v.met() ? "met" : "MISSED", v.met() ? v.held : v.judged - v.held, v.judged,
                       v.at_most ? "at most" : "at least", value_text(v, v.limit), "", v.where);
  }
  return out;
}

}  // namespace weft::cli
