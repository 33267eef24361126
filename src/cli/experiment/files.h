// Files that experiments leave behind.
#pragma once

#include <filesystem>
#include <string>

namespace weft::cli {

// False: it could not be written, which has been said.
[[nodiscard]] bool write_file(const std::filesystem::path& path, const std::string& text);

}  // namespace weft::cli
