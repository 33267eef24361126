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
                         .absent = "",
                         .rows = {row("10.5"), row("12"), row("10", true), row("12", true), row("12", false, "known"),
                                  row("A.mac_gbps")}});
  const Study study{.plan = &plan, .extent = Extent::full, .points = {}, .samples = {}};
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
  plan.claims.push_back({.id = "c", .what = "", .source = "", .absent = "", .rows = {row("10"), row("10")}});
  plan.claims[0].rows[1].quick = false;
  Study study{.plan = &plan, .extent = Extent::full, .points = {}, .samples = {}};
  EXPECT_EQ(judge(study)[0].rows.size(), 2U);
  study.extent = Extent::quick;
  EXPECT_EQ(judge(study)[0].rows.size(), 1U);
}

// Three of ten seeds outside of the band: the mean is within, and that is not enough.
TEST(Judge, ARowIsMetByNineOfTenSeeds) {
  Plan plan;
  plan.series.push_back({.name = "A", .label = "A", .setting = {}, .changes = {}});
  plan.claims.push_back({.id = "c", .what = "", .source = "", .absent = "", .rows = {row("A.mac_gbps")}});
  Study study{.plan = &plan, .extent = Extent::full, .points = {{.series = 0, .at = {}, .setting = {}}}, .samples = {}};
  const auto verdict_of = [&](unsigned outside) {
    study.samples.clear();
    for (unsigned i = 0; i < 10; ++i) {
      study.samples.push_back({.number = i, .results = {{{{"mac_gbps", i < outside ? 11.1 : 10.0}}, ""}}});
    }
    const JudgedRow judged = judge(study)[0].rows[0];
    EXPECT_EQ(judged.kind, RowKind::simulated);
    EXPECT_EQ(judged.met, 10 - outside);
    return judged.verdict;
  };
  EXPECT_EQ(verdict_of(0), Verdict::met);
  EXPECT_EQ(verdict_of(1), Verdict::met);
  EXPECT_EQ(verdict_of(3), Verdict::missed);
}

// Bug: a claim of calibrated rows alone was called met.
TEST(Judge, AClaimIsNoBetterThanItsWorstRow) {
  Plan plan;
  const auto claim = [](std::vector<ClaimRow> rows) {
    return Claim{.id = "c", .what = "", .source = "", .absent = "", .rows = std::move(rows)};
  };
  plan.claims = {claim({row("10")}), claim({row("10"), row("10", true)}), claim({row("10", true), row("10", true)}),
                 claim({row("10", true), row("12"), row("10")}), claim({})};
  plan.claims[4].absent = "there is no such workload yet";
  const Study study{.plan = &plan, .extent = Extent::full, .points = {}, .samples = {}};
  const auto judged = judge(study);
  EXPECT_EQ(judged[0].verdict(), Verdict::met);
  EXPECT_EQ(judged[1].verdict(), Verdict::calibrated);
  EXPECT_EQ(judged[2].verdict(), Verdict::calibrated);
  EXPECT_EQ(judged[3].verdict(), Verdict::missed);
  EXPECT_EQ(judged[4].verdict(), Verdict::absent);
  Tally tally;
  tally.add(judged);
  EXPECT_EQ(tally.computed_met, 3U);
  EXPECT_EQ(tally.computed_missed, 1U);
  EXPECT_EQ(tally.calibrated, 4U);
  EXPECT_EQ(tally.absent, 1U);
}

}  // namespace
}  // namespace weft::lab
