#include "lab/field.h"

#include <algorithm>
#include <vector>

namespace weft::lab {
namespace {

// How many letters have to be changed, added or removed.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string value_text(const FieldInfo& field, double value) {
  if (field.kind != Kind::choice) return quantity_text(field.kind, value);
  const auto index = static_cast<std::size_t>(value);
  return index < field.choices.size() ? std::string(field.choices[index]) : number_text(value);
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
  std::string_view best;
  std::size_t least = word.size() / 3 + 2;  // farther away is another word
  for (const std::string_view k : known) {
    const std::size_t d = distance(word, k);
    if (d < least) {
      least = d;
      best = k;
    }
  }
  // A key's last part alone is easily taken for the whole: `generation` for `pcie.generation`.
  for (const std::string_view k : known) {
    if (best.empty() && k.ends_with(word) && k.size() > word.size()) best = k;
  }
  return best.empty() ? "" : " Did you mean '" + std::string(best) + "'?";
}

std::string in_a_row(std::span<const std::string_view> words) {
  std::string all;
  for (const std::string_view word : words) all.append(all.empty() ? "" : ", ").append(word);
  return all;
}

}  // namespace weft::lab
