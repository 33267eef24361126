// Every setting, in one place: its name in weft.toml and as a flag, its variable, what it accepts, and how its text is
// read. Text comes from all three alike, so all three accept and refuse the same.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "world/real/settings/settings.h"

namespace weft::real {

struct SettingRow {
  std::string_view key;       // drop_nth: in weft.toml; --drop-nth: of weft run
  std::string_view variable;  // WEFT_DROP_NTH
  std::string_view type;      // of its value, for people: "N[,N...]"
  std::string_view meaning;   // one line
  // The answer is what is wrong and what is accepted, or empty.
  std::string (*read)(std::string_view value, Settings& settings);
};

// In the order in which they are read: a whole fault plan comes before what changes a part of it.
[[nodiscard]] std::span<const SettingRow> all_settings();
[[nodiscard]] const SettingRow* find_setting(std::string_view key);

}  // namespace weft::real
