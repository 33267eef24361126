// weft bytecode FILE...: whether object files would be taken as kernels, before anybody deploys them.
#include <fstream>
#include <iterator>
#include <memory>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bytecode/program.h"
#include "cli/commands.h"

namespace weft::cli {
namespace {

struct BytecodeOptions {
  std::vector<std::string> files;
  std::string section;
  std::uint32_t state_bytes = 1024;
  bool json = false;
};

bytecode::MadeKernel try_out(const BytecodeOptions& options, const std::string& object) {
  return bytecode::make_kernel({.object = std::as_bytes(std::span(object)),
                                .section = options.section,
                                .opcode = 1,
                                .name = "tried out",
                                .state_bytes = options.state_bytes,
                                .most_steps = 1,
                                .instances = 1});
}

int check_bytecode(const BytecodeOptions& options) {
  nlohmann::json all = nlohmann::json::array();
  bool fine = true;
  for (const std::string& name : options.files) {
    std::ifstream file(name, std::ios::binary);
    const std::string object((std::istreambuf_iterator<char>(file)), {});
    if (!file) return usage_error(fmt::format("cannot read {}", name));
    const bytecode::MadeKernel made = try_out(options, object);
    const bytecode::FaultText& text = bytecode::text_of(made.verdict.fault);
    const bool is_fine = made.program != nullptr;
    fine = fine && is_fine;
    if (options.json) {
      all.push_back({{"file", name}, {"fault", text.name}, {"at", made.verdict.at}, {"meaning", text.meaning}});
    } else if (is_fine) {
      fmt::print("{}: {} instructions, {}\n", name, made.program->instructions(),
                 made.program->is_compiled() ? "compiled" : "interpreted");
    } else {
      fmt::print("{}: {} at instruction {}: {}\n", name, text.name, made.verdict.at, text.meaning);
    }
  }
  if (options.json) fmt::print("{}\n", all.dump(2));
  return fine ? kOk : kFailed;
}

}  // namespace

Command add_bytecode(CLI::App& weft, const Behind&) {
  CLI::App& app =
      *weft.add_subcommand("bytecode", "Whether kernels that were compiled for eBPF would be taken, or why not");
  auto options = std::make_shared<BytecodeOptions>();
  app.add_option("FILE", options->files, "Object files")->required();
  app.add_option("--section", options->section, "weft/NAME, if an object has several kernels");
  app.add_option("--state", options->state_bytes, "Bytes of state that it would have")->type_name("N");
  app.add_flag("--json", options->json, "Print as JSON");
  return {.app = &app, .run = [options] { return check_bytecode(*options); }};
}

}  // namespace weft::cli
