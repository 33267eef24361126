// What of the results a claim is about.
#include "lab/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::lab {
namespace {

using testing::HasSubstr;

class Expression : public testing::Test {
 protected:
  Expression() {
    for (const char* name : {"A", "B"})
      plan_.series.push_back({.name = name, .label = name, .setting = {}, .changes = {}});
    plan_.axes.push_back({.key = "qps", .title = "", .points = {}, .quick = {}});
    study_.plan = &plan_;
    study_.samples.resize(1);
    add(0, {1}, 10);
    add(0, {2}, 20);
    add(0, {4}, 16);
    add(1, {1}, 5);
    add(1, {2}, 4);
    add(1, {4}, 8);
  }
  void add(std::size_t series, std::vector<double> at, double y) {
    study_.points.push_back({.series = series, .at = std::move(at), .setting = {}});
    study_.samples[0].results.push_back({{{"mac_gbps", y}}, ""});
  }
  double value(std::string_view text) {
    const auto v = evaluate(text, study_, study_.samples[0]);
    EXPECT_TRUE(v) << text << ": " << v.error();
    return v.value_or(-1);
  }
  std::string problem(std::string_view text) {
    const auto v = evaluate(text, study_, study_.samples[0]);
    EXPECT_FALSE(v) << text;
    return v ? "" : v.error();
  }
  Plan plan_;
  Study study_;
};

TEST_F(Expression, Numbers) {
  EXPECT_EQ(value("1 + 2 * 3"), 7);
  EXPECT_EQ(value("(1 + 2) * 3"), 9);
  EXPECT_EQ(value("8 / 4 / 2"), 1);
  EXPECT_EQ(value("-2 - -3"), 1);
}

TEST_F(Expression, OfCurves) {
  EXPECT_EQ(value("min(A.mac_gbps)"), 10);
  EXPECT_EQ(value("max(A.mac_gbps) / min(A.mac_gbps)"), 2);
  EXPECT_EQ(value("first(A.mac_gbps) + last(A.mac_gbps)"), 26);
  EXPECT_NEAR(value("mean(A.mac_gbps)"), 15.333, 0.001);
  EXPECT_EQ(value("argmax(A.mac_gbps)"), 2);
  EXPECT_EQ(value("argmin(A.mac_gbps)"), 1);
  EXPECT_EQ(value("A.mac_gbps[4]"), 16);
  EXPECT_EQ(value("max(A.mac_gbps / B.mac_gbps)"), 5);
  EXPECT_EQ(value("max(100 * A.mac_gbps)"), 2000);
}

TEST_F(Expression, AKneeIsWhereItLastStoodHigh) {
  EXPECT_EQ(value("knee(A.mac_gbps, 0.5)"), 4);
  EXPECT_EQ(value("knee(A.mac_gbps, 0.9)"), 2) << "how it rose does not count";
  EXPECT_EQ(value("knee(B.mac_gbps, 0.9)"), 4);
}

TEST_F(Expression, RisesIsAboutEveryLaterPoint) {
  EXPECT_EQ(value("rises(A.mac_gbps, 1)"), 1);
  EXPECT_EQ(value("rises(A.mac_gbps, 2)"), 0);
  EXPECT_EQ(value("falls(A.mac_gbps, 2)"), 1);
  EXPECT_EQ(value("rises(A.mac_gbps, 4)"), 0);  // nothing is behind
}

TEST_F(Expression, TheCardItself) { EXPECT_EQ(value("card.roce_header"), 58); }

TEST_F(Expression, TwoAxesNeedOneToBeFixed) {
  plan_.axes.push_back({.key = "bytes", .title = "", .points = {}, .quick = {}});
  study_.points.clear();
  study_.samples[0].results.clear();
  add(0, {1, 64}, 3);
  add(0, {2, 64}, 4);
  add(0, {1, 512}, 5);
  add(0, {2, 512}, 6);
  EXPECT_EQ(value("A{bytes=512}.mac_gbps[1]"), 5);
  EXPECT_EQ(value("max(A{bytes=64}.mac_gbps)"), 4);
  EXPECT_EQ(value("A{qps=2}.mac_gbps[512]"), 6);
  EXPECT_EQ(value("A{qps=2, bytes=64}.mac_gbps"), 4);
  EXPECT_THAT(problem("max(A.mac_gbps)"), HasSubstr("bytes is swept too: say at which, A{bytes=...}"));
  EXPECT_THAT(problem("A{loss=1}.mac_gbps"), HasSubstr("'loss' is not swept"));
}

TEST_F(Expression, WhatMakesNoSenseIsSaid) {
  EXPECT_THAT(problem("A.mac_gbps"), HasSubstr("a curve of 3 points where a number is wanted"));
  EXPECT_THAT(problem("max(C.mac_gbps)"), HasSubstr("there is no series 'C'"));
  EXPECT_THAT(problem("max(A.mac_gbs)"), HasSubstr("Did you mean 'mac_gbps'?"));
  EXPECT_THAT(problem("maxi(A.mac_gbps)"), HasSubstr("Did you mean 'max'?"));
  EXPECT_THAT(problem("max(A.mac_gbps"), HasSubstr("')' is missing at the end"));
  EXPECT_THAT(problem("max(3)"), HasSubstr("is of a curve"));
  EXPECT_THAT(problem("knee(A.mac_gbps)"), HasSubstr("',' is missing"));
  EXPECT_THAT(problem("A.mac_gbps[3]"), HasSubstr("no point at 3"));
  EXPECT_THAT(problem("card.roce_heder"), HasSubstr("Did you mean 'roce_header'?"));
  EXPECT_THAT(problem("1 +"), HasSubstr("something is missing at the end"));
  EXPECT_THAT(problem("1 2"), HasSubstr("'2' is not understood"));
  EXPECT_THAT(problem(""), HasSubstr("something is missing"));
  EXPECT_THAT(problem("max(A.goodput_gbps)"), HasSubstr("no goodput_gbps was measured"));
}

TEST_F(Expression, AFailedPointIsNamed) {
  study_.samples[0].results[1] = {{}, "the world ended"};
  EXPECT_THAT(problem("max(A.mac_gbps)"), HasSubstr("A at qps 2: the world ended"));
  EXPECT_EQ(value("max(B.mac_gbps)"), 8);
}

}  // namespace
}  // namespace weft::lab
