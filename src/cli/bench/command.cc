// weft bench: this card beside what one would use instead, in one run: interleaved, medians, ratios first.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>

#include "cli/bench/connections/bench.h"
#include "cli/bench/loss.h"
#include "cli/bench/machines/bench.h"
#include "cli/bench/measure.h"
#include "cli/bench/rows.h"
#include "cli/bench/star/bench.h"
#include "cli/bench/strom/bench.h"
#include "cli/commands.h"

namespace weft::cli {
namespace {

struct BenchOptions {
  bool peers = false, json = false;
  unsigned rounds = 5;
  std::string address = "127.0.0.1", only;
};

std::string own_path() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

int run_bench(const BenchOptions& options) {
  const BenchPlace place = BenchPlace::here(own_path(), options.address);
  std::vector<Measure> measures = own_measures(place);
  if (options.peers) std::ranges::move(peer_measures(place), std::back_inserter(measures));
  return measure_and_print(std::move(measures), {options.only, options.rounds, options.json});
}

}  // namespace

Command add_bench(CLI::App& weft, const Behind&) {
  CLI::App& app = *weft.add_subcommand("bench", "Measure this card, and with --peers what one would use instead");
  auto options = std::make_shared<BenchOptions>();
  app.add_flag("--peers", options->peers,
               "Also iperf3, sockperf, UCX, libfabric and a bare UDP stream, in turn with ours");
  app.add_flag("--json", options->json, "Rows of name, value, unit, beside, ratio");
  app.add_option("--rounds", options->rounds, "Every row is measured so often; medians are shown")
      ->type_name("N")
      ->default_str("5")
      ->check(CLI::Range(1U, 1000U));
  app.add_option("--addr", options->address, "Where the programs meet")->type_name("ADDRESS")->default_str("127.0.0.1");
  auto loss = std::make_shared<LossBench>();
  CLI::App& lossy = *app.add_subcommand("loss", "Goodput at 0 to 5 % packet loss, srnic beside go-back-N, over UDP");
  lossy.add_flag("--json", loss->json, "Rows of loss, transport, value, of_lossless; and verdicts");
  lossy.add_option("--rounds", loss->rounds, "Every cell is measured so often; medians are shown")
      ->type_name("N")
      ->default_str("5")
      ->check(CLI::Range(1U, 1000U));
  app.add_option("--only", options->only, "Only rows whose name contains this")->type_name("TEXT");
  auto machines = std::make_shared<MachinesBench>();
  const CLI::App& apart = add_machines_bench(app, *machines);
  auto load = std::make_shared<LoadBench>();
  const CLI::App& loaded = add_load_bench(app, *load);
  auto star = std::make_shared<StarBench>();
  const CLI::App& stateless = add_star_bench(app, *star);
  auto strom = std::make_shared<StromBench>();
  const CLI::App& kernels = add_strom_bench(app, *strom);
  // What all of them are told.
  const auto prepared = [options](auto& bench) -> auto& {
    bench.weft = own_path();
    if constexpr (requires { bench.address; }) bench.address = options->address;
    bench.json = bench.json || options->json;
    return bench;
  };
  const auto chosen = [=, &lossy, &apart, &loaded, &stateless, &kernels] {
    if (kernels.parsed()) return run_strom_bench(prepared(*strom));
    if (stateless.parsed()) return run_star_bench(prepared(*star));
    if (apart.parsed()) return run_machines_bench(prepared(*machines));
    if (loaded.parsed()) return run_load_bench(prepared(*load));
    return lossy.parsed() ? run_loss_bench(prepared(*loss)) : run_bench(*options);
  };
  return {.app = &app, .run = chosen};
}

}  // namespace weft::cli
