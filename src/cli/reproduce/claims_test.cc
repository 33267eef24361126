// The claims that the program carries, and what it says about files that make no sense.
#include "cli/reproduce/claims.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/reproduce/experiments.h"
#include "cli/reproduce/measure.h"

namespace weft::cli {
namespace {

using testing::HasSubstr;

TEST(Claims, EveryFileCanBeReadAndEveryRowCanBeMeasured) {
  std::set<std::string> ids;
  for (const std::string_view file : kExperiments) {
    const auto claims = parse_claims(file);
    ASSERT_TRUE(claims) << claims.error();
    for (const Claim& claim : *claims) {
      EXPECT_TRUE(ids.insert(claim.id).second) << claim.id << " stands there twice";
      for (const ClaimRow& row : claim.rows)
        EXPECT_TRUE(can_measure(claim.id, row.name)) << claim.id << ": " << row.name;
    }
  }
  EXPECT_THAT(ids,
              testing::IsSupersetOf({"srnic-table1", "srnic-table2", "srnic-header", "srnic-schedq", "srnic-18x"}));
}

TEST(Claims, ARowsOwnUnitAndBandWinOverItsClaims) {
  const auto claims = parse_claims(R"(
    [[claim]]
    id = "a"
    what = "b"
    source = "c"
    unit = "MB"
    band = "5%"
    row = [{ name = "x", claimed = "1" }, { name = "y", claimed = "2", unit = "GB", band = "exact" }])");
  ASSERT_TRUE(claims) << claims.error();
  const auto& rows = claims->at(0).rows;
  EXPECT_EQ(rows[0].unit + rows[0].band_text, "MB5%");
  EXPECT_EQ(rows[1].unit + rows[1].band_text, "GBexact");
}

TEST(Claims, WhatMakesNoSenseIsSaid) {
  const auto says = [](const char* toml, const char* what) {
    const auto claims = parse_claims(toml);
    ASSERT_FALSE(claims) << toml;
    EXPECT_THAT(claims.error(), HasSubstr(what));
  };
  says("[[claim]]\nid = ", "line 2");
  says("x = 1", "no [[claim]]");
  says("claim = [1]", "a claim is a table");
  says("[[claim]]\nid = 'a'\nwhat = 'b'", "claim 'a': id, what, source and row are needed");
  const std::string head = "[[claim]]\nid='a'\nwhat='b'\nsource='c'\nrow=[";
  says((head + "1]").c_str(), "a row is a table");
  says((head + "{claimed='1',band='exact'}]").c_str(), "a row without a name");
  says((head + "{name='n',claimed='much',band='exact'}]").c_str(), "n: 'much' is no number");
  says((head + "{name='n',claimed='1',band='near'}]").c_str(), "n: 'near' is no band");
}

}  // namespace
}  // namespace weft::cli
