// Whose files a program may be led by. Folders may be everybody's, and then anybody may have put a file, a link or a
// pipe there: what belongs to neither this user nor root is not read as settings, and not captured into.
#pragma once

#include <string>

#include <sys/stat.h>
#include <tl/expected.hpp>

#include "world/real/os/descriptor.h"

namespace weft::real {

struct FoundFile {
  std::string path;
  struct stat facts {};
  // Why it is none to be led by, as the end of a sentence: neither this user's nor root's, or a symbolic link that is
  // not, which then was not followed. Empty: it is.
  std::string distrusted = {};
};

// What is at `path`; or what errno says.
[[nodiscard]] tl::expected<FoundFile, std::string> find_file(const std::string& path);

// Opens what was found, as open(2) does. If something else is there meanwhile, that is ESTALE. `flags` may neither make
// nor empty a file.
[[nodiscard]] Descriptor open_found(const FoundFile& file, int flags);

// Why others may have written it; empty: they cannot. A group may if it is the user's own.
[[nodiscard]] std::string why_not_alone(const struct stat& facts);

}  // namespace weft::real
