// weft demo
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/demo/report.h"
#include "cli/numbers.h"

namespace weft::cli {
namespace {

struct DemoFlags {
  DemoOptions demo{};
  bool json = false, trace = false;
};

// Color is for people at a terminal who have not said no (https://no-color.org).
Style style_of_stdout() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool unwanted = no_color != nullptr && *no_color != '\0';
  const bool dumb = term == nullptr || std::string_view(term) == "dumb";
  return {.color = !unwanted && !dumb && isatty(STDOUT_FILENO) == 1};
}

// An option whose value `parse` reads; what it cannot read is refused with `wanted`.
template <class Parse, class Value>
void add_value(CLI::App& command, const std::string& name, Value& value, Parse parse, const std::string& type,
               const std::string& usual, const std::string& wanted, const std::string& description) {
  const auto read = [=, &value](const std::string& text) {
    const auto parsed = parse(text);
    if (!parsed) throw CLI::ValidationError(name, fmt::format("'{}' is not {}", text, wanted));
    value = *parsed;
  };
  command.add_option_function<std::string>(name, read, description)->type_name(type)->default_str(usual);
}

int show_demo(DemoFlags& options) {
  options.demo.trace = options.trace ? &std::cerr : nullptr;
  const DemoReport report = run_demo(options.demo);
  options.json ? print_json(report) : print_text(report, style_of_stdout());
  return report.ok() ? kOk : kFailed;
}

}  // namespace

Command add_demo(CLI::App& weft, const Behind&) {
  CLI::App& demo = *weft.add_subcommand(
      "demo", "Move data by every verb between simulated hosts that lose packets, and say what happened");
  auto options = std::make_shared<DemoFlags>();
  add_value(demo, "--seed", options->demo.seed, parse_whole, "NUMBER", "1", "a whole number below 2^64",
            "All that happens follows from this number");
  add_value(demo, "--loss", options->demo.loss, parse_probability, "PART", "1%",
            "a percentage from 0% to 100%, or a fraction from 0 to 1", "Packets lost: a percentage or a fraction");
  demo.add_flag("--json", options->json, "Print the report as JSON");
  demo.add_flag("--trace", options->trace, "Write a line for each packet, completion and event to stderr");
  return {.app = &demo, .run = [options] { return show_demo(*options); }};
}

}  // namespace weft::cli
