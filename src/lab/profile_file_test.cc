// Profiles: what they say, and what is said about those that make no sense.
#include "lab/profile_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/on_chip_need.h"
#include "lab/profile_fields.h"
#include "lab/profile_shelf.h"

namespace weft::lab {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

tl::expected<Profile, std::string> profile_of(std::string_view text) {
  return read_profile(text, "x.toml", "x", [](const std::string& name) { return ProfileShelf().find(name); });
}
void profile_refused(std::string_view text, const std::string& place, const std::string& why) {
  const auto profile = profile_of(text);
  ASSERT_FALSE(profile) << text;
  EXPECT_THAT(profile.error(), StartsWith("x.toml:" + place + ": ")) << text;
  EXPECT_THAT(profile.error(), HasSubstr(why)) << text;
}

TEST(Profile, ANumberHasAUnitAndASource) {
  const auto profile = profile_of(R"(
title = "Mine"
clock = { value = 0.3, unit = "GHz", source = "a paper" }
dialect = { value = "srnic", source = "a paper" }
pause = { value = true, assumed = "no matter" }
[pcie]
read_latency = { value = 1.1, unit = "us", calibrated = "srnic-fig2" })");
  ASSERT_TRUE(profile) << profile.error();
  EXPECT_EQ(profile->title, "Mine");
  EXPECT_EQ(profile->chip.clock_mhz, 300);
  EXPECT_EQ(profile->device.dialect, nic::Dialect::srnic);
  EXPECT_TRUE(profile->chip.pause);
  EXPECT_EQ(profile->chip.pcie.read_latency, nanoseconds(1100));
  ASSERT_EQ(profile->parameters.size(), 4U);
  EXPECT_EQ(profile->parameters[0].value, "300 MHz");
  EXPECT_EQ(profile->parameters[0].source, "a paper");
  EXPECT_EQ(profile->parameters[2].assumed, "no matter");
  EXPECT_EQ(profile->parameters[3].key, "pcie.read_latency");
  EXPECT_EQ(profile->parameters[3].calibrated_on, "srnic-fig2");
}

TEST(Profile, WhatMakesNoSenseIsRefusedWithItsPlace) {
  profile_refused("clock = 300", "1:1", "every number has a source");
  profile_refused("clock = { value = 300, unit = 'MHz' }", "1:1", "clock has no source");
  profile_refused("clock = { value = 300, unit = 'MHz', source = '' }", "1:1", "clock has no source");
  profile_refused("clock = { value = 300, unit = 'MHz', source = 'a', assumed = 'b' }", "1:1", "more than one source");
  profile_refused("\nclok = { value = 300, unit = 'MHz', source = 'a' }", "2:1", "no 'clok'. Did you mean 'clock'?");
  profile_refused("lanes = { value = 16, source = 'a' }", "1:1", "Did you mean 'pcie.lanes'?");
  profile_refused("clock = { value = 300, unit = 'us', source = 'a' }", "1:19", "clock is in MHz or GHz, not in 'us'");
  profile_refused("clock = { value = 300, source = 'a' }", "1:19", "clock is in MHz or GHz, and has no unit here");
  profile_refused("works_per_turn = { value = 8, unit = 'B', source = 'a' }", "1:28", "without a unit");
  profile_refused("works_per_turn = { value = 0, source = 'a' }", "1:28", "from 1 to 4096, not 0");
  profile_refused("works_per_turn = { value = 1.5, source = 'a' }", "1:28", "whole number");
  profile_refused("works_per_turn = { value = 'x', source = 'a' }", "1:28", "'x' is no number");
  profile_refused("dialect = { value = 'tcp', source = 'a' }", "1:21", "one of roce, srnic, not 'tcp'");
  profile_refused("pause = { value = 1, source = 'a' }", "1:19", "true or false");
  profile_refused("pause = { value = true, sauce = 'a' }", "1:25", "there is no 'sauce' here. Did you mean 'source'?");
  profile_refused("extends = 'conectx6'", "1:11", "Did you mean 'connectx6'?");
  profile_refused("title = 5", "1:9", "title is a text");
  profile_refused("clock = ", "1:9", "end-of-file");
}

TEST(Profile, AnotherIsExtendedNumberByNumber) {
  const auto base = ProfileShelf().find("connectx6");
  const auto mine = profile_of("extends = 'connectx6'\nclock = { value = 2, unit = 'GHz', assumed = 'faster' }");
  ASSERT_TRUE(base && mine);
  EXPECT_EQ(mine->chip.clock_mhz, 2000);
  EXPECT_EQ(mine->chip.contexts.entries, base->chip.contexts.entries);
  EXPECT_EQ(mine->parameters.size(), base->parameters.size());
  for (const Parameter& p : mine->parameters) EXPECT_EQ(p.from, p.key == "clock" ? "x" : "connectx6");
}

TEST(Profile, WhatDoesNotFitOnTheChipIsRefused) {
  profile_refused("extends = 'srnic'\nsram_bytes = { value = 1, unit = 'MB', source = 'a' }", "2:1",
                  "and sram_bytes is 1 MB");
  profile_refused("extends = 'srnic'\nmtt_cache_bytes = { value = 8, unit = 'MB', source = 'a' }", "1:1",
                  "translations 8 MB");
}

TEST(Profile, EachThatWeCarryCanBeReadAndSaysWhereEachNumberComesFrom) {
  const ProfileShelf shelf;
  EXPECT_THAT(shelf.names(), testing::IsSupersetOf({"connectx3", "connectx5", "connectx6", "ideal", "irn", "srnic",
                                                    "star-fpga", "strom-100g", "strom-10g"}));
  for (const std::string& name : shelf.names()) {
    const auto profile = shelf.find(name);
    ASSERT_TRUE(profile) << profile.error();
    EXPECT_FALSE(profile->title.empty() || profile->what.empty()) << name;
    for (const Parameter& p : profile->parameters) {
      EXPECT_EQ(!p.source.empty() + !p.calibrated_on.empty() + !p.swept_by.empty() + !p.assumed.empty(), 1)
          << name << " " << p.key;
    }
  }
}

TEST(Profile, EveryFieldCanBeSetAndReadBack) {
  for (const auto& field : profile_fields()) {
    Profile profile;
    const double value = std::min(std::max(field.least, 1.0), field.most);
    field.set(profile, value);
    EXPECT_EQ(field.get(profile), value) << field.key;
    EXPECT_EQ(find_profile_field(field.key), &field) << field.key << " stands there twice";
  }
}

}  // namespace
}  // namespace weft::lab
