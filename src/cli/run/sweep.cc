#include "cli/run/sweep.h"

#include <chrono>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

// In which one who has touched a folder becomes the program that uses it.
constexpr auto kMoment = std::chrono::seconds(10);
// Folders that one start of `weft run` removes. Each start makes one at most, and nobody shall wait while those of
// years are removed.
constexpr std::size_t kAtOnce = 16;

std::optional<std::string> text_in(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in.is_open()) return std::nullopt;
  return std::string{std::istreambuf_iterator<char>(in), {}};
}

// What WEFT_SYSFS is in the environment that a program was started with, and so were all that it has started.
std::string_view sysfs_in(std::string_view environment) {
  constexpr std::string_view kName = "WEFT_SYSFS=";
  for (std::size_t at = 0; at < environment.size();) {
    const std::size_t end = std::min(environment.find('\0', at), environment.size());
    const std::string_view one = environment.substr(at, end - at);
    if (one.starts_with(kName)) return one.substr(kName.size());
    at = end + 1;
  }
  return {};
}

// By all programs whose environment we may see, as we may that of our own. Nothing: nobody's can be seen.
std::optional<std::set<std::string>> folders_in_use() {
  std::set<std::string> out;
  if (!text_in("/proc/self/environ")) return std::nullopt;
  std::error_code error;
  for (fs::directory_iterator one("/proc", error), end; one != end && !error; one.increment(error)) {
    if (one->path().filename().string().find_first_not_of("0123456789") != std::string::npos) continue;
    if (const auto environment = text_in(one->path() / "environ")) out.emplace(sysfs_in(*environment));
  }
  return out;
}

bool is_new(const fs::path& folder) {
  std::error_code error;
  const auto touched = fs::last_write_time(folder, error);
  return error || fs::file_time_type::clock::now() - touched < kMoment;
}

}  // namespace

void touch(const fs::path& folder) { (void)::utimensat(AT_FDCWD, folder.c_str(), nullptr, 0); }

void remove_unused(const fs::path& home, const fs::path& kept) {
  std::error_code error;
  std::vector<fs::path> old;
  for (fs::directory_iterator one(home, error), end; one != end && !error; one.increment(error)) {
    const bool plays = one->path().filename().string().starts_with("sysfs-");
    if (plays && one->path() != kept && !is_new(one->path())) old.push_back(one->path());
  }
  if (old.empty()) return;
  const auto used = folders_in_use();
  if (!used) return;
  std::erase_if(old, [&](const fs::path& folder) { return used->contains(folder); });
  if (old.size() > kAtOnce) old.resize(kAtOnce);
  for (const fs::path& folder : old) fs::remove_all(folder, error);
}

}  // namespace weft::cli
