// Met, missed, calibrated.
#include "lab/judge.h"

#include <gtest/gtest.h>

namespace weft::lab {
namespace {

ClaimRow row(const char* value, bool calibrated = false, const char* why = "") {
  return {.name = "n",
          .claimed = "10",
          .unit = "",
          .band_text = "10%",
          .band = *parse_band("10%"),
          .value = value,
          .calibrated = calibrated,
          .quick = true,
          .why = why};
}

TEST(Judge, AVerdictForEachRow) {
  Plan plan;
  plan.claims.push_back({.id = "c",
                         .what = "",
                         .source = "",
                         .rows = {row("10.5"), row("12"), row("10", true), row("12", true), row("12", false, "known"),
                                  row("A.mac_gbps")}});
  const Study study{.plan = &plan, .extent = Extent::full, .points = {}, .results = {}};
  const auto judged = judge(study);
  ASSERT_EQ(judged.size(), 1U);
  const auto& rows = judged[0].rows;
  EXPECT_EQ(rows[0].verdict, Verdict::met);
  EXPECT_EQ(rows[1].verdict, Verdict::missed);
  EXPECT_EQ(rows[2].verdict, Verdict::calibrated);
  EXPECT_EQ(rows[3].verdict, Verdict::missed);  // what was calibrated and is not as claimed is missed all the same
  EXPECT_EQ(rows[4].verdict, Verdict::missed);
  EXPECT_EQ(rows[4].recorded(), Verdict::missed);
  EXPECT_EQ(rows[1].recorded(), Verdict::met);
  EXPECT_EQ(rows[5].verdict, Verdict::missed);  // and what cannot be measured
  EXPECT_FALSE(rows[5].measured);
  EXPECT_FALSE(rows[5].failure.empty());
  EXPECT_EQ(judged[0].count(Verdict::missed), 4U);
}

TEST(Judge, TheQuickSetLeavesOutWhatItCannotJudge) {
  Plan plan;
  plan.claims.push_back({.id = "c", .what = "", .source = "", .rows = {row("10"), row("10")}});
  plan.claims[0].rows[1].quick = false;
  Study study{.plan = &plan, .extent = Extent::full, .points = {}, .results = {}};
  EXPECT_EQ(judge(study)[0].rows.size(), 2U);
  study.extent = Extent::quick;
  EXPECT_EQ(judge(study)[0].rows.size(), 1U);
}

}  // namespace
}  // namespace weft::lab
