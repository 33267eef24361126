// weft run: starts a program that was written for RDMA hardware, so that it meets the card in software instead.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/run/environment.h"
#include "cli/run/program.h"
#include "cli/run/sysfs_tree.h"
#include "world/real/settings/addresses.h"
#include "world/real/settings/setting_table.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

struct RunOptions {
  std::map<std::string, std::string> variables;  // what flags set
  bool no_sysfs = false;
};

std::string flag_of(const real::SettingRow& setting) {
  std::string flag = fmt::format("--{}", setting.key);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

// A flag for each setting, read as the setting is read everywhere.
void add_flag(CLI::App& run, const real::SettingRow& setting, RunOptions& options) {
  const std::string flag = flag_of(setting);
  if (setting.key == "stats") {
    const auto on = [&options, &setting](std::int64_t) { options.variables[std::string(setting.variable)] = "1"; };
    run.add_flag_function(flag, on, std::string(setting.meaning));
    return;
  }
  const auto read = [&options, &setting, flag](const std::string& value) {
    real::Settings ignored;
    const std::string error = setting.read(value, ignored);
    if (!error.empty()) throw CLI::ValidationError(flag, error);
    options.variables[std::string(setting.variable)] = value;
  };
  run.add_option_function<std::string>(flag, read, std::string(setting.meaning))->type_name(std::string(setting.type));
}

// The program may change its folder before it opens the device.
void set_path(const char* variable, const std::string& name) {
  std::error_code error;
  const fs::path path = name.empty() ? fs::path() : fs::absolute(name, error);
  if (!error) (void)::setenv(variable, path.c_str(), 1);
}

tl::expected<real::Settings, std::string> settle(const RunOptions& options) {
  for (const auto& [variable, value] : options.variables) (void)::setenv(variable.c_str(), value.c_str(), 1);
  tl::expected<real::Settings, std::string> settings = real::Settings::from_environment();
  if (!settings) return settings;
  // The program reads the settings file that was read here. It does not look at a file that is not trusted here.
  std::error_code error;
  if (std::getenv("WEFT_CONFIG") != nullptr || fs::exists("weft.toml", error)) set_path("WEFT_CONFIG", settings->file);
  if (settings->pcap.empty()) return settings;
  set_path("WEFT_PCAP", settings->pcap);
  const fs::path folder = fs::absolute(settings->pcap, error).parent_path();
  if (!fs::is_directory(folder, error)) {
    return tl::unexpected(
        fmt::format("cannot capture to '{}': there is no folder {}", settings->pcap, folder.string()));
  }
  return settings;
}

int failed(std::string_view why, int code = kFailed) {
  fmt::print(stderr, "weft run: {}\n", why);
  return code;
}

tl::expected<void, std::string> prepare(const RunOptions& options, const real::Settings& settings) {
  const tl::expected<Installation, std::string> installation = find_installation();
  if (!installation) return tl::unexpected(installation.error());
  if (const auto offered = offer_libraries(*installation); !offered) return offered;
  std::string folder;
  if (!options.no_sysfs) {
    const std::vector<wire::Address> addresses = settings.port_addresses();
    const std::size_t processors = std::max(1U, std::thread::hardware_concurrency());
    tl::expected<std::string, std::string> published =
        publish(sysfs_tree(addresses, real::machine_interfaces(), processors));
    if (!published) return tl::unexpected(published.error());
    folder = *published;
  }
  offer_sysfs(*installation, folder);
  return {};
}

int run_program(const RunOptions& options, const std::vector<std::string>& command) {
  if (command.empty()) return usage_error("run: which program? weft run [OPTIONS] -- PROGRAM ARGS...");
  const tl::expected<real::Settings, std::string> settings = settle(options);
  if (!settings) return usage_error(settings.error());
  const tl::expected<std::string, NotStarted> file = find_program(command.front());
  if (!file) return failed(file.error().why, file.error().exit_code);
  if (const std::string why = why_untouched(*file); !why.empty()) {
    fmt::print(stderr, "weft run: warning: '{}' will not see Weft: {}\n", command.front(), why);
  }
  if (const auto prepared = prepare(options, *settings); !prepared) return failed(prepared.error());
  const NotStarted outcome = become(command);
  return failed(outcome.why, outcome.exit_code);
}

}  // namespace

Command add_run(CLI::App& weft, const Behind& behind) {
  CLI::App& app = *weft.add_subcommand(
      "run", "Run a program written for RDMA hardware on this card instead: run [OPTIONS] -- PROGRAM ARGS...");
  app.prefix_command();  // without --, the program is the first word that is no option of ours
  app.footer(
      "Every option is also a variable (--drop-nth 3: WEFT_DROP_NTH=3) and a line in weft.toml (drop_nth = 3).\n"
      "Options win over variables, and variables over the file. The exit code is the program's.");
  auto options = std::make_shared<RunOptions>();
  for (const real::SettingRow& setting : real::all_settings()) add_flag(app, setting, *options);
  app.add_flag("--no-sysfs", options->no_sysfs, "Do not show the device in /sys/class/infiniband");
  const auto run_it = [options, &app, &behind] {
    std::vector<std::string> command = app.remaining();
    if (!command.empty() && command.front().starts_with('-')) {
      return usage_error(fmt::format("run: there is no option '{}'", command.front()));
    }
    if (behind) {
      if (!command.empty()) command.emplace_back("--");  // the program's own
      command.insert(command.end(), behind->begin(), behind->end());
    }
    return run_program(*options, command);
  };
  return {.app = &app, .run = run_it, .takes_behind = true};
}

}  // namespace weft::cli
