// What profiles and plans have in common as TOML: where in the file something stands, and values for fields.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "lab/field.h"
#include "world/toml.h"

namespace weft::lab {

using Problem = tl::unexpected<std::string>;

// Says where in which file something is wrong.
class FilePosition {
 public:
  explicit FilePosition(std::string file) : file_(std::move(file)) {}
  [[nodiscard]] Problem problem(const toml::source_position& at, std::string_view what) const;
  [[nodiscard]] Problem problem(const toml::node& at, std::string_view what) const {
    return problem(at.source().begin, what);
  }
  [[nodiscard]] const std::string& file() const { return file_; }

 private:
  std::string file_;
};

[[nodiscard]] tl::expected<toml::table, std::string> parse_toml(std::string_view text, const FilePosition& place);

// The value of a field, from a number, a text or a truth; `unit` may be empty. What it says about a wrong one is the
// reason alone.
[[nodiscard]] tl::expected<double, std::string> read_value(const FieldInfo& field, const toml::node& node,
                                                           std::string_view unit);

// A table of keys to nodes without the levels in between: [pcie] lanes = 16 is pcie.lanes. In the order of the file.
// Tables for which `is_leaf` holds are not looked into.
struct Leaf {
  std::string key;
  const toml::node* node;
  toml::source_position at;
};
[[nodiscard]] std::vector<Leaf> flatten(const toml::table& table, bool (*is_leaf)(const toml::table&));

// All keys of the table are among these, or which one is not.
[[nodiscard]] tl::expected<void, std::string> check_keys(const toml::table& table, const FilePosition& place,
                                                         std::span<const std::string_view> known);

// A text of a table; what is missing is empty, what is no text is a problem.
[[nodiscard]] tl::expected<std::string, std::string> read_text(const toml::table& table, std::string_view key,
                                                               const FilePosition& place);

// The same for true and false; what is missing is `usual`.
[[nodiscard]] tl::expected<bool, std::string> read_truth(const toml::table& table, std::string_view key, bool usual,
                                                         const FilePosition& place);

}  // namespace weft::lab
