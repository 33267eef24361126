// A number that a file can set: its key, what kind of number it is, how large it may be, and which member it becomes.
// One line of a table is all there is to say about it.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "lab/quantity.h"

namespace weft::lab {

struct FieldInfo {
  std::string_view key, meaning;
  Kind kind = Kind::count;
  double least = 0, most = 0;
  std::span<const std::string_view> choices;  // Kind::choice: the names of 0, 1, 2, ...
};

template <class Owner>
struct Field : FieldInfo {
  void (*set)(Owner&, double) = nullptr;
  double (*get)(const Owner&) = nullptr;
};

// What a member of this type holds, and a double exactly.
template <class Number>
constexpr double largest_of() {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if constexpr (std::is_floating_point_v<Number>) return kExact;
  if constexpr (std::is_same_v<Number, bool>) return 1;
  if constexpr (std::is_integral_v<Number>) {
    return sizeof(Number) < 8 ? static_cast<double>(std::numeric_limits<Number>::max()) : kExact;
  }
  return kExact;
}

// `Member` answers a reference to the member of an owner, const or not.
template <class Owner, class Member>
constexpr Field<Owner> make_field(std::string_view key, std::string_view meaning, Kind kind, Member, double least = 0,
                                  double most = 0) {
  using Number = std::remove_cvref_t<decltype(Member{}(std::declval<Owner&>()))>;
  Field<Owner> field;
  field.key = key;
  field.meaning = meaning;
  field.kind = kind;
  field.least = least;
  field.most = most != 0 ? most : largest_of<Number>();
  field.set = [](Owner& owner, double value) { Member{}(owner) = static_cast<Number>(value); };
  field.get = [](const Owner& owner) { return static_cast<double>(Member{}(owner)); };
  return field;
}
template <class Owner, class Member>
constexpr Field<Owner> make_field(std::string_view key, std::string_view meaning,
                                  std::span<const std::string_view> choices, Member member) {
  Field<Owner> field =
      make_field<Owner>(key, meaning, Kind::choice, member, 0, static_cast<double>(choices.size() - 1));
  field.choices = choices;
  return field;
}

// As people read it: a choice by its name, a number with its unit.
[[nodiscard]] std::string value_text(const FieldInfo& field, double value);

// The word of `known` that is most like `word`, in a sentence of its own (" Did you mean 'x'?"), or nothing.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);

// The words in a row: "a, b, c".
[[nodiscard]] std::string in_a_row(std::span<const std::string_view> words);

}  // namespace weft::lab
