#include "lab/profile_shelf.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "lab/field.h"
#include "lab/library.h"
#include "lab/profile_file.h"

namespace weft::lab {
namespace {

using Problem = tl::unexpected<std::string>;
constexpr int kDeepest = 8;  // profiles that extend each other

bool is_path(const std::string& name) { return name.find('/') != std::string::npos || name.ends_with(".toml"); }

}  // namespace

tl::expected<std::string, std::string> read_file(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return Problem(fmt::format("{} is a folder", path.string()));
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad())
    return Problem(fmt::format("cannot read {}: {}", path.string(), std::strerror(errno)));
  return text;
}

ProfileShelf::ProfileShelf() {
  for (const LibraryFile& file : kProfiles) {
    books_.push_back({std::string(file.name), fmt::format("profiles/{}.toml", file.name), std::string(file.text)});
  }
}

tl::expected<void, std::string> ProfileShelf::add(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
      if (entry.path().extension() == ".toml") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    if (files.empty()) return Problem(fmt::format("there is no profile (*.toml) in {}", path.string()));
  } else {
    files.push_back(path);
  }
  for (const auto& file : files) {
    auto text = read_file(file);
    if (!text) return Problem(text.error());
    books_.push_back({file.stem().string(), file.string(), std::move(*text)});
  }
  return {};
}

tl::expected<Profile, std::string> ProfileShelf::find(const std::string& name,
                                                      const std::filesystem::path& folder) const {
  return find(name, folder, 0);
}

tl::expected<Profile, std::string> ProfileShelf::find(const std::string& name, const std::filesystem::path& folder,
                                                      int depth) const {
  if (depth > kDeepest) return Problem(fmt::format("'{}' extends itself, or more than {} others", name, kDeepest));
  if (is_path(name)) {
    const std::filesystem::path path = folder / name;
    const auto text = read_file(path);
    if (!text) return Problem(text.error());
    return read_profile(*text, path.string(), path.stem().string(),
                        [&](const std::string& n) { return find(n, path.parent_path(), depth + 1); });
  }
  const auto found = std::find_if(books_.rbegin(), books_.rend(), [&](const Book& b) { return b.name == name; });
  if (found == books_.rend()) {
    const std::vector<std::string> known = names();
    const std::vector<std::string_view> words(known.begin(), known.end());
    return Problem(
        fmt::format("there is no profile '{}'.{} Known are {}", name, did_you_mean(name, words), in_a_row(words)));
  }
  return read_profile(found->text, found->file, found->name,
                      [&](const std::string& n) { return find(n, folder, depth + 1); });
}

std::vector<std::string> ProfileShelf::names() const {
  std::set<std::string> names;
  for (const Book& book : books_) names.insert(book.name);
  return {names.begin(), names.end()};
}

}  // namespace weft::lab
