// The tables of the page: claims with their verdicts, the cards of an experiment, profiles with their numbers.
#pragma once

#include <string>
#include <vector>

#include "lab/judge.h"
#include "lab/study.h"

namespace weft::lab {

[[nodiscard]] std::string claims_table(const std::vector<JudgedClaim>& claims);
// The series of a plan: their profiles, and what the plan changes in them.
[[nodiscard]] std::string series_table(const Study& study);
[[nodiscard]] std::string profile_section(const Profile& profile);
[[nodiscard]] std::string metrics_table();

}  // namespace weft::lab
