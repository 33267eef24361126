// The weft command. Exit codes: 0 all is well, 1 what was asked for did not succeed, 2 it was asked wrongly; `weft run`
// answers with its program's.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.h"

namespace weft::cli {

int usage_error(std::string_view what) {
  fmt::print(stderr, "weft: {}\nSee weft --help.\n", what);
  return kUsage;
}

namespace {

int run_command(int argc, char** argv) {
  CLI::App app{"Weft: an RDMA network card written in software", "weft"};
  app.set_version_flag("--version", "weft " WEFT_VERSION, "Print the version and exit");
  app.set_help_all_flag("--help-all", "Print the help of all commands and exit");
  app.require_subcommand(1);
  Behind behind;
  std::vector<Command> commands;
  for (AddCommand* add : kCommands) commands.push_back(add(app, behind));

  // What stands behind `--` is another program's command line, and not ours to read.
  char** const end = argv + argc;
  char** const dashes = std::find(argv, end, std::string_view("--"));
  if (dashes != end) behind.emplace(dashes + 1, end);
  try {
    app.parse(static_cast<int>(dashes - argv), argv);
  } catch (const CLI::RequiredError&) {  // whatever else is required names itself: here a command is missing
    return usage_error(argc > 1 ? fmt::format("there is no command '{}'", argv[1]) : "which command?");
  } catch (const CLI::ParseError& error) {
    return error.get_exit_code() == 0 ? app.exit(error) : usage_error(error.what());
  }
  const auto named = std::find_if(commands.begin(), commands.end(), [](const Command& c) { return c.app->parsed(); });
  if (behind && !named->takes_behind) {
    return usage_error(fmt::format("nothing may stand behind -- in weft {}", named->app->get_name()));
  }
  return named->run();
}

}  // namespace
}  // namespace weft::cli

int main(int argc, char** argv) { return weft::cli::run_command(argc, argv); }
