// Numbers that are changed one at a time, and what becomes of claims.
#include "lab/sensitivity.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "lab/plan_file.h"

namespace weft::lab {
namespace {

class Sensitive : public testing::Test {
 protected:
  Sensitive() {
    auto plan = read_plan(R"(
[experiment]
id = "e"
title = "t"
[[series]]
name = "A"
profile = "srnic"
set = { works_per_turn = 8 }
[[claim]]
id = "c"
what = "w"
source = "s"
row = [{ name = "n", claimed = "10", value = "A.mac_gbps", band = "5%" },
       { name = "computed", claimed = "58", value = "card.roce_header", band = "exact" }])",
                          "p.toml", ProfileShelf());
    EXPECT_TRUE(plan) << plan.error();
    plan_ = std::move(*plan);
  }
  [[nodiscard]] const Perturbation& first_of(const Sensitivity& s) const {
    return s.perturbations[s.rows[0].effects[0].perturbation];
  }
  Plan plan_;
};

TEST_F(Sensitive, EveryNumberGoesUpAndDown) {
  const auto all = perturbations_of(plan_, 0.2, {});
  const auto of = [&](std::string_view key) {
    std::vector<double> values;
    for (const Perturbation& p : all) {
      if (p.field.info().key == key) values.push_back(p.value / p.usual);
    }
    return values;
  };
  EXPECT_GT(all.size(), 50U);
  const auto clock = of("clock");
  ASSERT_EQ(clock.size(), 2U);
  EXPECT_DOUBLE_EQ(clock[0], 0.8);
  EXPECT_DOUBLE_EQ(clock[1], 1.2);
  EXPECT_EQ(of("under_way").size(), 1U) << "a choice becomes the other one,";
  EXPECT_EQ(of("policy").size(), 2U) << "or each of the others";
  EXPECT_EQ(of("dialect").size(), 0U) << "but with another dialect it were no such card";
  EXPECT_EQ(of("depth").size(), 2U) << "what a paper leaves open of a workload";
  EXPECT_EQ(of("bytes").size(), 0U) << "what it says is the claim itself";
  // A small count changes by one at least.
  for (const double part : of("work_cycles")) EXPECT_NE(part, 1);
}

// A run whose outcome is a number of the profile: that number, and no other, flips the verdict.
TEST_F(Sensitive, WhatFlipsAVerdictStandsFirst) {
  SensitivityOptions options;
  options.sweep.run = [](const Setting& s) {
    return Outcome{{"mac_gbps", 10 * s.profile.chip.clock_mhz / 300.0 + 0.1 * s.profile.chip.pcie.lanes / 16.0 - 0.1}};
  };
  const double clock = plan_.series[0].setting.profile.chip.clock_mhz;
  ASSERT_NEAR(clock, 300, 1e-9);
  const Sensitivity s = sensitivity_of(plan_, options);
  ASSERT_EQ(s.rows.size(), 1U) << "computed rows do not depend on profiles";
  EXPECT_EQ(s.rows[0].verdict, Verdict::met);
  EXPECT_EQ(first_of(s).field.info().key, "clock");
  const auto flips = std::count_if(s.rows[0].effects.begin(), s.rows[0].effects.end(),
                                   [&](const RowEffect& e) { return s.rows[0].flips(e); });
  EXPECT_EQ(flips, 2);
  EXPECT_EQ(s.perturbations[s.rows[0].effects[2].perturbation].field.info().key, "pcie.lanes");
}

// One seed of ten that leaves the band does not flip a verdict, as it does not without sensitivity.
TEST_F(Sensitive, VerdictsAreOverAllSeeds) {
  SensitivityOptions options;
  options.sweep.run = [](const Setting& s) {
    const bool other = s.profile.chip.pcie.lanes != 16;
    return Outcome{{"mac_gbps", other && s.seed == 1 ? 11.0 : 10.0}};
  };
  const auto flips = [&](std::size_t seeds) {
    options.seeds = seeds;
    const Sensitivity s = sensitivity_of(plan_, options);
    EXPECT_EQ(s.rows[0].met, seeds);
    EXPECT_EQ(s.rows[0].measured->count, seeds);
    return s.rows[0].flips(s.rows[0].effects[0]);
  };
  EXPECT_TRUE(flips(1));
  EXPECT_FALSE(flips(10));
}

TEST_F(Sensitive, CardsThatNoClaimIsAboutStayAsTheyAre) {
  Series other = plan_.series[0];
  other.name = "B";
  other.setting.profile.name = "another";
  plan_.series.push_back(other);
  SensitivityOptions options;
  options.sweep.run = [](const Setting&) { return Outcome{{"mac_gbps", 10}}; };
  for (const Perturbation& p : sensitivity_of(plan_, options).perturbations) EXPECT_EQ(p.profile, "srnic");
}

TEST_F(Sensitive, WhatThePlanSetsStays) {
  SensitivityOptions options;
  options.sweep.run = [](const Setting& s) {
    return Outcome{{"mac_gbps", 10.0 * s.profile.device.card.works_per_turn / 8}};
  };
  const Sensitivity s = sensitivity_of(plan_, options);
  for (const RowEffect& e : s.rows[0].effects) EXPECT_FALSE(s.rows[0].flips(e));
}

TEST_F(Sensitive, OnlyWhatIsAskedFor) {
  SensitivityOptions options;
  options.only = {"link_rate", "depth"};
  options.sweep.run = [](const Setting&) { return Outcome{{"mac_gbps", 10}}; };
  std::vector<std::string_view> keys;
  for (const Perturbation& p : sensitivity_of(plan_, options).perturbations) keys.push_back(p.field.info().key);
  EXPECT_EQ(keys, (std::vector<std::string_view>{"depth", "depth", "link_rate", "link_rate"}));
}

TEST_F(Sensitive, ARangeOfOnesOwn) {
  const auto field = find_setting_field("pcie.lanes");
  ASSERT_TRUE(field);
  std::vector<double> values;
  for (const Perturbation& p : perturbations_of(plan_, 0.2, {{*field, 4, 32}})) {
    if (p.field.info().key == "pcie.lanes") values.push_back(p.value);
  }
  EXPECT_EQ(values, (std::vector<double>{4, 32}));
}

}  // namespace
}  // namespace weft::lab
