#include "world/real/settings/settings_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

// Header-only, so that programs that load Weft's libraries need no other; and only the parser.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace weft::real {
namespace {

// The shortest digits that read back as the same number.
std::string number_text(double value) {
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}

std::optional<std::string> text_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return **text;
  if (const auto* whole = node.as_integer()) return std::to_string(**whole);
  if (const auto* number = node.as_floating_point()) return number_text(**number);
  if (const auto* truth = node.as_boolean()) return **truth ? "true" : "false";
  const toml::array* array = node.as_array();
  if (array == nullptr) return std::nullopt;
  std::string all;
  for (const toml::node& element : *array) {
    const std::optional<std::string> text = element.is_array() ? std::nullopt : text_of(element);
    if (!text) return std::nullopt;
    all.append(&element == &array->front() ? "" : ",").append(*text);
  }
  return all;
}

std::string at_line(const std::string& path, std::uint32_t line) { return path + ", line " + std::to_string(line); }

}  // namespace

tl::expected<std::vector<FileSetting>, std::string> read_settings_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) return tl::unexpected("cannot read " + path + ": " + std::strerror(errno));
  const toml::parse_result parsed = toml::parse(content, path);
  if (!parsed) {
    return tl::unexpected(at_line(path, parsed.error().source().begin.line) + ": " +
                          std::string(parsed.error().description()));
  }
  std::vector<FileSetting> all;
  for (const auto& [key, node] : parsed.table()) {
    const std::uint32_t line = key.source().begin.line;
    const std::optional<std::string> text = text_of(node);
    if (!text) {
      return tl::unexpected(at_line(path, line) + ": " + std::string(key.str()) +
                            " wants a text, a number, true or false, or a list of these");
    }
    all.push_back({std::string(key.str()), *text, line});
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.line < b.line; });
  return all;
}

}  // namespace weft::real
