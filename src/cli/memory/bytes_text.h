// Amounts of memory as papers print them: K is 1024, one digit behind the point, and 0.6 MB rather than 614.4 KB.
#pragma once

#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace weft::cli {

inline std::string bytes_text(std::uint64_t bytes) {
  const auto amount = static_cast<double>(bytes);
  if (bytes < 1024) return bytes == 0 ? "0" : fmt::format("{} B", bytes);
  if (bytes < 512 * 1024) return fmt::format("{:.1f} KB", amount / 1024);
  if (bytes < 1024 * 1024 * 1024) return fmt::format("{:.1f} MB", amount / (1024 * 1024));
  return fmt::format("{:.1f} GB", amount / (1024 * 1024 * 1024));
}

}  // namespace weft::cli
