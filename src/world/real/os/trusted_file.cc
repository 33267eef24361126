#include "world/real/os/trusted_file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace weft::real {
namespace {

std::string why_not_owner(const struct stat& facts) {
  if (facts.st_uid == ::geteuid() || facts.st_uid == 0) return {};
  return "it belongs to user " + std::to_string(facts.st_uid) + ", who is neither you nor root";
}

tl::expected<FoundFile, std::string> look(const std::string& path, int flags) {
  FoundFile found{.path = path};
  if (::fstatat(AT_FDCWD, path.c_str(), &found.facts, flags) != 0) return tl::unexpected(std::strerror(errno));
  found.distrusted = why_not_owner(found.facts);
  return found;
}

}  // namespace

tl::expected<FoundFile, std::string> find_file(const std::string& path) {
  tl::expected<FoundFile, std::string> found = look(path, AT_SYMLINK_NOFOLLOW);
  if (!found || !S_ISLNK(found->facts.st_mode)) return found;
  if (found->distrusted.empty()) return look(path, 0);
  found->distrusted = "it is a symbolic link, and " + found->distrusted;
  return found;
}

// By its name: /proc/self/fd is closed to programs that have given up rights.
Descriptor open_found(const FoundFile& file, int flags) {
  Descriptor opened(::open(file.path.c_str(), flags | O_CLOEXEC | O_NOCTTY));
  struct stat facts {};
  if (!opened || ::fstat(opened.get(), &facts) != 0) return Descriptor();
  if (facts.st_dev == file.facts.st_dev && facts.st_ino == file.facts.st_ino) return opened;
  opened.reset();
  errno = ESTALE;
  return opened;
}

std::string why_not_alone(const struct stat& facts) {
  if ((facts.st_mode & S_IWOTH) != 0) return "everybody may write it";
  if ((facts.st_mode & S_IWGRP) == 0 || facts.st_gid == ::getegid()) return {};
  return "group " + std::to_string(facts.st_gid) + ", which is not yours, may write it";
}

}  // namespace weft::real
