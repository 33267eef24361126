#include "world/real/settings/settings.h"

#include <atomic>
#include <cstdio>
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
  for (const SettingRow& one : all_settings()) all.append(all.empty() ? "" : ", ").append(one.key);
  return all;
}

Outcome apply(const std::vector<FileSetting>& file, const std::string& path, Settings& settings) {
  for (const FileSetting& one : file) {
    if (find_setting(one.key) == nullptr) {
      return tl::unexpected(
          at_line(path, one.line, "there is no setting called '" + one.key + "'; known are " + known_keys()));
    }
  }
  for (const SettingRow& setting : all_settings()) {
    for (const FileSetting& one : file) {
      if (one.key != setting.key) continue;
      const std::string error = setting.read(one.value, settings);
      if (!error.empty()) return tl::unexpected(at_line(path, one.line, one.key + ": " + error));
    }
  }
  return {};
}

// However often a program asks for its settings.
void say_once(const std::string& sentence) {
  static std::atomic_flag said;
  if (!said.test_and_set()) std::fprintf(stderr, "weft: %s\n", sentence.c_str());
}

// A file that is named must be there and be read; an empty name says that none is wanted. The usual one may be missing;
// and if it is somebody else's, who may have put it there for us, it is left alone.
Outcome apply_files(const char* named, Settings& settings) {
  if (named == nullptr && ::access(kUsualFile, F_OK) != 0) return {};
  const std::string path = named == nullptr ? kUsualFile : named;
  if (path.empty()) return {};
  const tl::expected<SettingsFile, std::string> file = read_settings_file(path);
  if (!file) return tl::unexpected(file.error());
  if (!file->distrusted.empty()) {
    const std::string sentence = path + " is not read: " + file->distrusted;
    if (named != nullptr) return tl::unexpected(sentence);
    say_once(sentence);
    return {};
  }
  settings.file = path;
  return apply(file->settings, path, settings);
}

// What no setting by itself can see.
std::string contradiction_in(const Settings& s) {
  const bool star = s.transport == TransportChoice::star, role = s.role != host::StarRole::none;
  if (star && !role) return "transport star needs a role (--role, WEFT_ROLE, role): stateless or stateful";
  if (role && !star) return "a role is for transport star only (--transport, WEFT_TRANSPORT, transport)";
  return {};
}

}  // namespace

tl::expected<Settings, std::string> Settings::from(const Lookup& variable) {
  Settings settings;
  const Outcome files = apply_files(variable("WEFT_CONFIG"), settings);
  if (!files) return tl::unexpected(files.error());
  for (const SettingRow& setting : all_settings()) {
    const char* value = variable(std::string(setting.variable).c_str());
    if (value == nullptr || *value == '\0') continue;  // set to nothing is not set, as everywhere
    const std::string error = setting.read(value, settings);
    if (!error.empty()) return tl::unexpected(std::string(setting.variable) + ": " + error);
  }
  if (const std::string error = contradiction_in(settings); !error.empty()) return tl::unexpected(error);
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
