#include "world/real/settings/settings_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

// Header-only, so that programs that load Weft's libraries need no other; and only the parser.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
// It asserts some things that a file may get wrong, and then finds them itself: they are for it to tell.
#define TOML_ASSERT(expr) static_cast<void>(0)
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

// The line of the first character that is not ASCII and stands neither in a text nor in a comment; 0: there is none.
// TOML has no use for one there, and toml++ must not see it: it takes most of them for something that cannot be.
std::uint32_t line_of_stray(std::string_view content) {
  std::uint32_t line = 1;
  std::string_view quote;                                             // that ends the text we are in
  if (content.starts_with("\xEF\xBB\xBF")) content.remove_prefix(3);  // the mark of UTF-8
  for (std::size_t at = 0; at < content.size(); ++at) {
    const char c = content[at];
    const bool ends_line = c == '\n';
    line += ends_line ? 1 : 0;
    if (!quote.empty()) {
      if (c == '\\' && quote[0] == '"') {
        ++at;
        line += at < content.size() && content[at] == '\n' ? 1 : 0;
      } else if (content.substr(at).starts_with(quote)) {
        at += quote.size() - 1;
        quote = {};
      } else if (ends_line && quote.size() == 1) {
        quote = {};
      }
    } else if (c == '#') {
      at = std::min(content.find('\n', at), content.size()) - 1;
    } else if (c == '"' || c == '\'') {
      const std::string_view long_quote = c == '"' ? "\"\"\"" : "'''";
      const bool is_long = content.substr(at).starts_with(long_quote);
      quote = is_long ? long_quote : long_quote.substr(0, 1);
      at += quote.size() - 1;
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      return line;
    }
  }
  return 0;
}

std::string at_line(const std::string& path, std::uint32_t line) { return path + ", line " + std::to_string(line); }

}  // namespace

tl::expected<std::vector<FileSetting>, std::string> read_settings_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) return tl::unexpected("cannot read " + path + ": " + std::strerror(errno));
  if (const std::uint32_t line = line_of_stray(content); line != 0) {
    return tl::unexpected(at_line(path, line) + ": a character that may only stand in a text or a comment");
  }
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
