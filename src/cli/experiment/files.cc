#include "cli/experiment/files.h"

#include <cstdio>
#include <fstream>

#include <fmt/format.h>

namespace weft::cli {

bool write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file) return true;
  fmt::print(stderr, "weft: cannot write {}\n", path.string());
  return false;
}

}  // namespace weft::cli
