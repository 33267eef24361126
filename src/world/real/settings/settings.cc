#include "world/real/settings/settings.h"

#include <cstdlib>
#include <span>

#include <sys/auxv.h>
#include <unistd.h>

#include "world/real/settings/addresses.h"
#include "world/real/settings/setting_table.h"
#include "world/real/settings/settings_file.h"

namespace weft::real {
namespace {

constexpr const char* kUsualFile = "weft.toml";

using Outcome = tl::expected<void, std::string>;

std::string known_keys() {
  std::string all;
  for (const Setting& one : all_settings()) all.append(all.empty() ? "" : ", ").append(one.key);
  return all;
}

Outcome apply_file(const std::string& path, Settings& settings) {
  const tl::expected<std::vector<FileSetting>, std::string> file = read_settings_file(path);
  if (!file) return tl::unexpected(file.error());
  for (const FileSetting& one : *file) {
    if (find_setting(one.key) == nullptr) {
      return tl::unexpected(path + ", line " + std::to_string(one.line) + ": there is no setting called '" + one.key +
                            "'; known are " + known_keys());
    }
  }
  for (const Setting& setting : all_settings()) {
    for (const FileSetting& one : *file) {
      if (one.key != setting.key) continue;
      const std::string error = setting.read(one.value, settings);
      if (error.empty()) continue;
      return tl::unexpected(path + ", line " + std::to_string(one.line) + ": " + one.key + ": " + error);
    }
  }
  return {};
}

// A file that is named must be there; an empty name says that none is wanted; the usual one may be missing.
Outcome apply_files(const char* named, Settings& settings) {
  if (named == nullptr && ::access(kUsualFile, F_OK) != 0) return {};
  const std::string path = named == nullptr ? kUsualFile : named;
  return path.empty() ? Outcome() : apply_file(path, settings);
}

}  // namespace

tl::expected<Settings, std::string> Settings::from(const Lookup& variable) {
  Settings settings;
  const Outcome files = apply_files(variable("WEFT_CONFIG"), settings);
  if (!files) return tl::unexpected(files.error());
  for (const Setting& setting : all_settings()) {
    const char* value = variable(std::string(setting.variable).c_str());
    if (value == nullptr || *value == '\0') continue;  // set to nothing is not set, as everywhere
    const std::string error = setting.read(value, settings);
    if (!error.empty()) return tl::unexpected(std::string(setting.variable) + ": " + error);
  }
  return settings;
}

tl::expected<Settings, std::string> Settings::from_environment() {
  // Otherwise WEFT_PCAP could overwrite what only the program's owner may.
  if (::getauxval(AT_SECURE) != 0) return Settings{};
  return from([](const char* name) -> const char* { return std::getenv(name); });
}

std::vector<wire::Address> Settings::port_addresses() const {
  return addresses.empty() ? machine_addresses() : addresses;
}

}  // namespace weft::real
