// The file that a tap writes: which files it may be, and writing to it so that nothing worse comes of it than a short
// capture.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <tl/expected.hpp>

#include "world/real/os/descriptor.h"

namespace weft::real {

class CaptureFile {
 public:
  // A file that is new, or empty, or that Weft has captured into before, and then it is emptied; or a pipe or a
  // character device. Of this user or root. Or a sentence that says why not.
  // `taken`: another program is writing it, and nothing was opened.
  [[nodiscard]] static tl::expected<CaptureFile, std::string> open(const std::string& path, bool& taken);

  // Writes all of it, whatever signals that would raise. 0 or errno.
  [[nodiscard]] int write(std::span<const std::byte> bytes) const;

 private:
  explicit CaptureFile(Descriptor file) : file_(std::move(file)) {}

  Descriptor file_;  // of a regular file: locked
};

}  // namespace weft::real
