#include "cli/run/program.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace weft::cli {
namespace {

NotStarted not_started(const std::string& name, int error) {
  if (error == ENOENT) return {kNotFound, fmt::format("there is no program '{}'", name)};
  return {kNotExecutable, fmt::format("cannot start '{}': {}", name, std::strerror(error))};
}

// 0, or why this file cannot be started.
int startable(const std::string& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0) return errno == ENOTDIR ? ENOENT : errno;
  if (S_ISDIR(found.st_mode)) return EISDIR;
  return ::access(file.c_str(), X_OK) == 0 ? 0 : errno;
}

template <class Header>
bool read_at(std::ifstream& file, std::uint64_t offset, Header& out) {
  std::array<char, sizeof out> bytes{};
  file.seekg(static_cast<std::streamoff>(offset));
  if (!file.read(bytes.data(), bytes.size())) return false;
  std::memcpy(&out, bytes.data(), bytes.size());
  return true;
}

// What the dynamic loader will not load anything into.
std::string why_not_loaded_into(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  Elf64_Ehdr elf{};
  if (!read_at(in, 0, elf) || std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0) return {};  // a script, say
  if (elf.e_ident[EI_CLASS] != ELFCLASS64) return "it is a 32-bit program, and Weft's libraries are of 64 bits";
  for (unsigned i = 0; i < elf.e_phnum; ++i) {
    Elf64_Phdr part{};
    if (!read_at(in, elf.e_phoff + std::uint64_t{i} * elf.e_phentsize, part)) return {};
    if (part.p_type == PT_INTERP) return {};
  }
  return "it is linked statically, and loads no libraries";
}

}  // namespace

tl::expected<std::string, NotStarted> find_program(const std::string& name) {
  if (name.empty()) return tl::unexpected(not_started(name, ENOENT));
  if (name.find('/') != std::string::npos) {
    const int error = startable(name);
    if (error != 0) return tl::unexpected(not_started(name, error));
    return name;
  }
  const char* named = std::getenv("PATH");
  const std::string_view path = named != nullptr ? named : "/bin:/usr/bin";
  int worst = ENOENT;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t colon = std::min(path.find(':', at), path.size());
    const std::string_view folder = path.substr(at, colon - at);
    const std::string file = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    const int error = startable(file);
    if (error == 0) return file;
    if (error == EACCES) worst = EACCES;
    at = colon + 1;
  }
  return tl::unexpected(not_started(name, worst));
}

std::string why_untouched(const std::string& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0) return {};
  const bool other_user = (found.st_mode & S_ISUID) != 0 && found.st_uid != ::getuid();
  const bool other_group = (found.st_mode & S_ISGID) != 0 && found.st_gid != ::getgid();
  const bool capable = ::getuid() != 0 && ::getxattr(file.c_str(), "security.capability", nullptr, 0) > 0;
  if (other_user || other_group || capable) {
    return "it runs with rights that you do not have, and the loader then ignores LD_LIBRARY_PATH";
  }
  return why_not_loaded_into(file);
}

NotStarted become(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  return not_started(command.front(), errno);
}

}  // namespace weft::cli
