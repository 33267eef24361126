// The demonstration's report, for people.
#include <string>

#include <fmt/format.h>

#include "cli/demo/report.h"

namespace weft::cli {
namespace {

constexpr std::string_view kBold = "\033[1m", kGreen = "\033[1;32m", kRed = "\033[1;31m", kPlain = "\033[0m";

std::string in(std::string_view color, std::string_view words, Style style) {
  return style.color ? fmt::format("{}{}{}", color, words, kPlain) : std::string(words);
}

// 1 234 567
std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(digits.begin() + at, ' ');
  return digits;
}

std::string time_of(Duration duration) { return fmt::format("{:.2f} us", duration.in_microseconds()); }

std::string percent(double fraction) { return fmt::format("{:.3g} %", fraction * 100); }

void print_rows(const DemoReport& report, bool reliable, std::string_view title, Style style) {
  fmt::print("{}\n", in(kBold,
                        fmt::format("{:<28}{:>10}{:>12}{:>11}{:>9}{:>9}{:>13}{:>13}", title, "messages", "bytes",
                                    "completed", "arrived", "checked", "mean", "max"),
                        style));
  for (std::size_t i = 0; i < kRows; ++i) {
    const RowText& text = kRowTexts[i];
    const DemoTally& t = report.board.rows[i];
    if ((text.service == Service::rc) != reliable) continue;
    const std::string name = reliable ? std::string(text.name) : fmt::format("{} {}", name_of(text.service), text.name);
    fmt::print("  {:<26}{:>10}{:>12}{:>11}{:>9}{:>9}{:>13}{:>13}\n", name, grouped(t.messages), grouped(t.bytes),
               grouped(t.completed), grouped(t.arrived), grouped(t.checked), time_of(t.latency_mean()),
               time_of(t.latency_max));
  }
  fmt::print("\n");
}

void print_network(const DemoReport& report, Style style) {
  const NetworkCounters& n = report.network;
  const double lost = n.sent == 0 ? 0 : static_cast<double>(n.lost) / static_cast<double>(n.sent);
  fmt::print("{}\n", in(kBold, "The network", style));
  fmt::print("  {:>12}  packets sent, {} bytes on the wire\n", grouped(n.sent), grouped(n.sent_bytes));
  fmt::print("  {:>12}  of them lost ({})\n", grouped(n.lost), percent(lost));
  fmt::print("  {:>12}  delivered\n\n", grouped(n.delivered));
}

void print_counters(const DemoReport& report, Style style) {
  fmt::print(
      "{}\n",
      in(kBold, fmt::format("The cards counted, all {} together (what is not here is zero)", report.hosts), style));
  for (const Counter& counter : report.counters) {
    fmt::print("  {:>12}  {:<26}{}\n", grouped(counter.value), counter.name, counter.meaning);
  }
  fmt::print("\n");
}

void print_verdict(const DemoReport& report, Style style) {
  std::uint64_t messages = 0, checked = 0;
  for (const DemoTally& tally : report.board.rows) messages += tally.messages, checked += tally.checked;
  if (report.ok()) {
    fmt::print(
        "{} {} messages. Reliable connections delivered all of theirs, once and in order; every byte of the {} that\n"
        "arrived is right.\n",
        in(kGreen, "OK.", style), grouped(messages), grouped(checked));
    return;
  }
  for (const std::string& problem : report.board.problems) fmt::print("  {}\n", problem);
  fmt::print(
      "{} {} of {} messages arrived and are right.\n"
      "The same seed does the same again; --seed {} --trace shows every packet.\n",
      in(kRed, "FAILED.", style), grouped(checked), grouped(messages), report.options.seed);
}

}  // namespace

void print_text(const DemoReport& report, Style style) {
  fmt::print(
      "{} hosts around a switch, links of {} Gb/s and {}, {} of all packets lost; {} connections, {} queue pairs.\n",
      report.hosts, report.bits_per_second / 1'000'000'000, time_of(report.link_delay), percent(report.options.loss),
      report.connections, report.queue_pairs);
  fmt::print("Latency is from posting to completion; where there is no acknowledgement, to arrival.\n\n");
  print_rows(report, true, "Reliable connections (RC)", style);
  print_rows(report, false, "Unreliable (UC, UD)", style);
  print_network(report, style);
  print_counters(report, style);
  fmt::print("Seed {}: {:.3f} ms of simulated time, digest {:016x} in every run.\n", report.options.seed,
             report.simulated.in_microseconds() / 1000, report.digest);
  print_verdict(report, style);
}

}  // namespace weft::cli
