// Every number that a plan can set: those of a setting, and those of its profile.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lab/field.h"
#include "lab/setting.h"

namespace weft::lab {

class SettingField {
 public:
  explicit SettingField(const Field<Setting>& own) : own_(&own) {}
  explicit SettingField(const Field<Profile>& profile) : profile_(&profile) {}

  [[nodiscard]] const FieldInfo& info() const {
    return own_ != nullptr ? *own_ : static_cast<const FieldInfo&>(*profile_);
  }
  [[nodiscard]] bool is_of_profile() const { return profile_ != nullptr; }
  void set(Setting& s, double value) const { own_ != nullptr ? own_->set(s, value) : profile_->set(s.profile, value); }
  [[nodiscard]] double get(const Setting& s) const { return own_ != nullptr ? own_->get(s) : profile_->get(s.profile); }

 private:
  const Field<Setting>* own_ = nullptr;
  const Field<Profile>* profile_ = nullptr;
};

// A setting's own first: `link_rate` is the setting's, which stands before the profile's.
[[nodiscard]] std::optional<SettingField> find_setting_field(std::string_view key);
[[nodiscard]] std::vector<SettingField> all_setting_fields();
[[nodiscard]] std::vector<std::string_view> all_setting_keys();

// What tells two settings apart: equal texts are equal runs.
[[nodiscard]] std::string fingerprint(const Setting& setting);

}  // namespace weft::lab
