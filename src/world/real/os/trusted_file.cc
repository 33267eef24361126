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

// With the file's own facts, whatever happens to its name meanwhile.
tl::expected<FoundFile, std::string> look(const std::string& path, int more) {
  FoundFile found{.place = Descriptor(::open(path.c_str(), O_PATH | O_CLOEXEC | more))};
  if (!found.place || ::fstat(found.place.get(), &found.facts) != 0) return tl::unexpected(std::strerror(errno));
  found.distrusted = why_not_owner(found.facts);
  return found;
}

}  // namespace

tl::expected<FoundFile, std::string> find_file(const std::string& path) {
  tl::expected<FoundFile, std::string> found = look(path, O_NOFOLLOW);
  if (!found || !S_ISLNK(found->facts.st_mode)) return found;
  if (found->distrusted.empty()) return look(path, 0);
  found->distrusted = "it is a symbolic link, and " + found->distrusted;
  return found;
}

Descriptor reopen(const FoundFile& file, int flags) {
  const std::string same = "/proc/self/fd/" + std::to_string(file.place.get());
  return Descriptor(::open(same.c_str(), flags | O_CLOEXEC | O_NOCTTY));
}

std::string why_not_alone(const struct stat& facts) {
  if ((facts.st_mode & S_IWOTH) != 0) return "everybody may write it";
  if ((facts.st_mode & S_IWGRP) == 0 || facts.st_gid == ::getegid()) return {};
  return "group " + std::to_string(facts.st_gid) + ", which is not yours, may write it";
}

}  // namespace weft::real
