// weft.toml as keys and texts: what a value means is setting_table.h's business.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tl/expected.hpp>

namespace weft::real {

struct FileSetting {
  std::string key, value;  // an array is its elements with commas between
  std::uint32_t line = 0;
};

// In the order of their lines; or a sentence that names the file and the line.
[[nodiscard]] tl::expected<std::vector<FileSetting>, std::string> read_settings_file(const std::string& path);

}  // namespace weft::real
