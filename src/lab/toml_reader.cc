#include "lab/toml_reader.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace weft::lab {

Problem FilePosition::problem(const toml::source_position& at, std::string_view what) const {
  return Problem(fmt::format("{}:{}:{}: {}", file_, at.line, at.column, what));
}

tl::expected<toml::table, std::string> parse_toml(std::string_view text, const FilePosition& place) {
  toml::parse_result parsed = toml::parse(text, place.file());
  if (!parsed) return place.problem(parsed.error().source().begin, parsed.error().description());
  return std::move(parsed).table();
}

namespace {

tl::expected<double, std::string> read_choice(const FieldInfo& field, const toml::node& node) {
  const std::string all = in_a_row(field.choices);
  const auto* text = node.as_string();
  if (text == nullptr) return Problem(fmt::format("{} is one of {}", field.key, all));
  const auto found = std::find(field.choices.begin(), field.choices.end(), text->get());
  if (found == field.choices.end()) {
    return Problem(fmt::format("{} is one of {}, not '{}'", field.key, all, text->get()));
  }
  return static_cast<double>(found - field.choices.begin());
}

// A number as such, or as a text with its unit behind.
tl::expected<NumberAndUnit, std::string> read_number(const FieldInfo& field, const toml::node& node,
                                                     std::string_view unit) {
  if (const auto whole = node.value_exact<std::int64_t>()) return NumberAndUnit{static_cast<double>(*whole), unit};
  if (const auto number = node.value_exact<double>()) return NumberAndUnit{*number, unit};
  if (const auto* text = node.as_string()) {
    const auto split = split_unit(text->get());
    if (!split) return Problem(fmt::format("{}: '{}' is no number", field.key, text->get()));
    if (!split->unit.empty() && !unit.empty()) return Problem(fmt::format("{} has two units", field.key));
    return split->unit.empty() ? NumberAndUnit{split->number, unit} : *split;
  }
  return Problem(
      fmt::format("{} is a number{}", field.key, has_units(field.kind) ? " in " + units_of(field.kind) : ""));
}

}  // namespace

tl::expected<double, std::string> read_value(const FieldInfo& field, const toml::node& node, std::string_view unit) {
  if (field.kind == Kind::choice) return read_choice(field, node);
  if (field.kind == Kind::truth) {
    const auto truth = node.value_exact<bool>();
    if (!truth) return Problem(fmt::format("{} is true or false", field.key));
    return *truth ? 1 : 0;
  }
  const auto number = read_number(field, node, unit);
  if (!number) return Problem(number.error());
  const auto value = in_base_unit(field.kind, number->number, number->unit);
  if (!value && !has_units(field.kind)) {
    return Problem(fmt::format("{} is a number without a unit, not of '{}'", field.key, number->unit));
  }
  if (!value) {
    return Problem(
        fmt::format("{} is in {}, {}", field.key, units_of(field.kind),
                    number->unit.empty() ? "and has no unit here" : fmt::format("not in '{}'", number->unit)));
  }
  const bool whole = field.kind != Kind::fraction && field.kind != Kind::frequency;
  if (!std::isfinite(*value) || *value < field.least || *value > field.most) {
    return Problem(fmt::format("{} is from {} to {}, not {}", field.key, quantity_text(field.kind, field.least),
                               quantity_text(field.kind, field.most), quantity_text(field.kind, *value)));
  }
  if (whole && *value != std::floor(*value)) return Problem(fmt::format("{} is a whole number", field.key));
  return *value;
}

namespace {

void flatten_into(std::vector<Leaf>& leaves, const std::string& prefix, const toml::table& table,
                  bool (*is_leaf)(const toml::table&)) {
  for (const auto& [key, node] : table) {
    const std::string whole = prefix + std::string(key.str());
    const toml::table* inner = node.as_table();
    if (inner != nullptr && !is_leaf(*inner)) {
      flatten_into(leaves, whole + ".", *inner, is_leaf);
    } else {
      leaves.push_back({whole, &node, key.source().begin});
    }
  }
}

}  // namespace

std::vector<Leaf> flatten(const toml::table& table, bool (*is_leaf)(const toml::table&)) {
  std::vector<Leaf> leaves;
  flatten_into(leaves, "", table, is_leaf);
  std::stable_sort(leaves.begin(), leaves.end(), [](const Leaf& a, const Leaf& b) {
    return std::pair(a.at.line, a.at.column) < std::pair(b.at.line, b.at.column);
  });
  return leaves;
}

tl::expected<void, std::string> check_keys(const toml::table& table, const FilePosition& place,
                                           std::span<const std::string_view> known) {
  for (const auto& [key, node] : table) {
    if (std::find(known.begin(), known.end(), key.str()) == known.end()) {
      return place.problem(key.source().begin,
                           fmt::format("there is no '{}' here.{}", key.str(), did_you_mean(key.str(), known)));
    }
  }
  return {};
}

tl::expected<std::string, std::string> read_text(const toml::table& table, std::string_view key,
                                                 const FilePosition& place) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return std::string();
  const auto* text = node->as_string();
  if (text == nullptr) return place.problem(*node, fmt::format("{} is a text", key));
  return text->get();
}

tl::expected<bool, std::string> read_truth(const toml::table& table, std::string_view key, bool usual,
                                           const FilePosition& place) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return usual;
  const auto truth = node->value_exact<bool>();
  if (!truth) return place.problem(*node, fmt::format("{} is true or false", key));
  return *truth;
}

}  // namespace weft::lab
