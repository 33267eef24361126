#include "cli/run/environment.h"

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSysfsLibrary = "libweft_sysfs.so";

void set(const char* variable, const std::string& value) { (void)::setenv(variable, value.c_str(), 1); }

// Before what is there already.
void prepend(const char* variable, const std::string& value) {
  const char* old = std::getenv(variable);
  set(variable, old == nullptr || *old == '\0' ? value : value + ":" + old);
}

}  // namespace

tl::expected<Installation, std::string> find_installation() {
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  if (error) return tl::unexpected("cannot find out where weft is: /proc/self/exe: " + error.message());
  const fs::path programs = executable.parent_path(), libraries = programs.parent_path() / "lib" / "weft";
  const fs::path broker = programs / "weft-broker";
  for (const fs::path& file :
       {libraries / "libibverbs.so.1", libraries / "librdmacm.so.1", libraries / kSysfsLibrary, broker}) {
    if (fs::exists(file, error)) continue;
    return tl::unexpected(fmt::format("{} is missing: build it, or install Weft again", file.string()));
  }
  return Installation{broker, libraries};
}

tl::expected<void, std::string> offer_libraries(const Installation& installation) {
  // The loader takes these for the end of a folder's name, and knows no way to say otherwise.
  if (installation.libraries.find_first_of(":;") != std::string::npos) {
    return tl::unexpected(
        fmt::format("the loader cannot be told of a folder with ':' or ';' in its name: {}", installation.libraries));
  }
  prepend("LD_LIBRARY_PATH", installation.libraries);
  set("WEFT_BROKER", installation.broker);
  return {};
}

void offer_sysfs(const Installation& installation, const std::string& folder) {
  if (folder.empty()) {
    (void)::unsetenv("WEFT_SYSFS");
    return;
  }
  set("WEFT_SYSFS", folder);
  // A name with a space would be two: then by its name alone, which is looked for in LD_LIBRARY_PATH.
  const std::string whole = fmt::format("{}/{}", installation.libraries, kSysfsLibrary);
  prepend("LD_PRELOAD", whole.find(' ') == std::string::npos ? whole : std::string(kSysfsLibrary));
}

}  // namespace weft::cli
