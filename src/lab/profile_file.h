// Reads a profile from TOML. Every number says where it comes from:
//
//   extends = "connectx6"
//   clock = { value = 300, unit = "MHz", source = "SRNIC, section 5" }
//   [pcie]
//   read_latency = { value = 1.1, unit = "us", calibrated = "srnic-fig10a" }
//   tags = { value = 64, assumed = "never all in use" }
//
// A number without a source, an unknown key, a wrong unit, and what does not fit on the chip are refused, with the
// place.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "lab/profile.h"

namespace weft::lab {

// Finds the profile that another one extends.
using FindProfile = std::function<tl::expected<Profile, std::string>(const std::string& name)>;

// `file` is what errors call it, `name` what the profile is called.
[[nodiscard]] tl::expected<Profile, std::string> read_profile(std::string_view text, const std::string& file,
                                                              const std::string& name, const FindProfile& find);

}  // namespace weft::lab
