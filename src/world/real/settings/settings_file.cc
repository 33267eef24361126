#include "world/real/settings/settings_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "world/real/os/trusted_file.h"
#include "world/toml.h"

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

// The whole file; or nothing, and why in `distrusted`; or a sentence.
tl::expected<std::string, std::string> load(const std::string& path, std::string& distrusted) {
  const auto cannot = [&path](const std::string& why) { return tl::unexpected("cannot read " + path + ": " + why); };
  const tl::expected<FoundFile, std::string> found = find_file(path);
  if (!found) return cannot(found.error());
  distrusted = found->distrusted;
  if (distrusted.empty() && !S_ISREG(found->facts.st_mode)) return cannot("it is no regular file");
  if (distrusted.empty()) distrusted = why_not_alone(found->facts);
  if (!distrusted.empty()) return std::string();
  const Descriptor file = open_found(*found, O_RDONLY | O_NONBLOCK);
  if (!file) return cannot(std::strerror(errno));
  std::string content(kMaxSettingsFileBytes + 1, '\0');
  std::size_t filled = 0;
  while (filled < content.size()) {
    const ssize_t got = ::read(file.get(), content.data() + filled, content.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot(std::strerror(errno));
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  if (filled > kMaxSettingsFileBytes) return cannot("it is longer than 1 MiB");
  content.resize(filled);
  return content;
}

bool has_nul(const std::string& text) { return text.find('\0') != std::string::npos; }

}  // namespace

std::string at_line(const std::string& path, std::uint32_t line, const std::string& what) {
  return path + ":" + std::to_string(line) + ": " + what;
}

tl::expected<SettingsFile, std::string> read_settings_file(const std::string& path) {
  SettingsFile file;
  const tl::expected<std::string, std::string> content = load(path, file.distrusted);
  if (!content) return tl::unexpected(content.error());
  if (const std::uint32_t line = line_of_stray(*content); line != 0) {
    return tl::unexpected(at_line(path, line, "a character that may only stand in a text or a comment"));
  }
  const toml::parse_result parsed = toml::parse(*content, path);
  if (!parsed) {
    return tl::unexpected(at_line(path, parsed.error().source().begin.line, std::string(parsed.error().description())));
  }
  for (const auto& [key, node] : parsed.table()) {
    FileSetting one{.key = std::string(key.str()), .line = key.source().begin.line};
    if (has_nul(one.key)) return tl::unexpected(at_line(path, one.line, "there is a NUL in the name of a setting"));
    const std::optional<std::string> text = text_of(node);
    if (!text) {
      return tl::unexpected(
          at_line(path, one.line, one.key + " wants a text, a number, true or false, or a list of these"));
    }
    one.value = *text;
    if (has_nul(one.value)) return tl::unexpected(at_line(path, one.line, one.key + ": there is a NUL in it"));
    file.settings.push_back(std::move(one));
  }
  std::stable_sort(file.settings.begin(), file.settings.end(),
                   [](const auto& a, const auto& b) { return a.line < b.line; });
  return file;
}

}  // namespace weft::real
