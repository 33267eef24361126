// The weft command. Exit codes: 0 all is well, 1 what was asked for did not succeed, 2 it was asked wrongly.
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "cli/demo/report.h"
#include "cli/numbers.h"

namespace weft::cli {
namespace {

constexpr int kOk = 0, kFailed = 1, kUsage = 2;

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

class DemoCommand {
 public:
  explicit DemoCommand(CLI::App& app) {
    CLI::App& demo = *app.add_subcommand(
        "demo", "Move data by every verb between simulated hosts that lose packets, and say what happened");
    add_value(demo, "--seed", options_.seed, parse_whole, "NUMBER", "1", "a whole number below 2^64",
              "All that happens follows from this number");
    add_value(demo, "--loss", options_.loss, parse_probability, "PART", "1%",
              "a percentage from 0% to 100%, or a fraction from 0 to 1", "Packets lost: a percentage or a fraction");
    demo.add_flag("--json", json_, "Print the report as JSON");
    demo.add_flag("--trace", trace_, "Write a line for each packet, completion and event to stderr");
  }

  int run() {
    options_.trace = trace_ ? &std::cerr : nullptr;
    const DemoReport report = run_demo(options_);
    json_ ? print_json(report) : print_text(report, style_of_stdout());
    return report.ok() ? kOk : kFailed;
  }

 private:
  DemoOptions options_{};
  bool json_ = false, trace_ = false;
};

int usage_error(std::string_view what) {
  fmt::print(stderr, "weft: {}\nSee weft --help.\n", what);
  return kUsage;
}

int run(int argc, char** argv) {
  CLI::App app{"Weft: an RDMA network card written in software", "weft"};
  app.set_version_flag("--version", "weft " WEFT_VERSION, "Print the version and exit");
  app.set_help_all_flag("--help-all", "Print the help of all commands and exit");
  app.require_subcommand(1);
  DemoCommand demo(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::RequiredError&) {  // whatever else is required names itself: here a command is missing
    return usage_error(argc > 1 ? fmt::format("there is no command '{}'", argv[1]) : "which command?");
  } catch (const CLI::ParseError& error) {
    return error.get_exit_code() == 0 ? app.exit(error) : usage_error(error.what());
  }
  return demo.run();
}

}  // namespace
}  // namespace weft::cli

int main(int argc, char** argv) { return weft::cli::run(argc, argv); }
