// weft.toml as keys and texts: what a value means is setting_table.h's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <tl/expected.hpp>

namespace weft::real {

inline constexpr std::size_t kMaxSettingsFileBytes = 1U << 20;

struct FileSetting {
  std::string key = {}, value = {};  // an array is its elements with commas between; neither has a NUL
  std::uint32_t line = 0;
};

struct SettingsFile {
  std::vector<FileSetting> settings;  // in the order of their lines
  // Why nothing was read: it is another user's than this one's or root's, or others may write it. A sentence's end.
  std::string distrusted = {};
};

// Or a sentence that names the file and the line.
[[nodiscard]] tl::expected<SettingsFile, std::string> read_settings_file(const std::string& path);

// "weft.toml:3: what", as compilers say where something is.
[[nodiscard]] std::string at_line(const std::string& path, std::uint32_t line, const std::string& what);

}  // namespace weft::real
