// The report as text; tests/report looks at it in a browser.
#include "lab/report/page.h"

#include <cstdio>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/plan_file.h"
#include "lab/report/figure.h"

namespace weft::lab {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t times(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

class Page : public testing::Test {
 protected:
  Page() {
    auto plan = read_plan(R"(
[experiment]
id = "e"
title = "<script>alert('t')</script>"
[[sweep]]
key = "qps"
values = [1, 2, 4]
[[series]]
name = "A"
label = "a & b"
profile = "srnic"
[[plot]]
metric = "mac_gbps"
x_title = "queue pairs"
y_title = "throughput, Gb/s"
claimed = [{ x = 2, y = 50, label = "\"50\"", within = 10 }]
band = [{ x = [3, 900], y = [1, 2], label = "far to the right" }]
paper = [{ y = 37, label = "TCP <3>" }]
[[claim]]
id = "c"
what = "w"
source = "s"
row = [{ name = "n", claimed = "9", value = "A.mac_gbps[2]", band = "exact", why = "because" }])",
                          "p.toml", ProfileShelf());
    EXPECT_TRUE(plan) << plan.error();
    plan_ = std::move(*plan);
    study_ = {.plan = &plan_, .extent = Extent::full, .points = points_of(plan_, Extent::full, 5), .samples = {{}}};
    for (const double y : {10.0, 20.0, 30.0}) study_.samples[0].results.push_back({{{"mac_gbps", y}}, ""});
  }
  Plan plan_;
  Study study_;
};

TEST_F(Page, HasAMarkerForEachPoint) {
  const std::string page = html_page({study_});
  EXPECT_EQ(times(page, "class=\"pt\""), 3U);
  EXPECT_EQ(times(page, "class=\"reach\""), 1U);
}

TEST_F(Page, NamesAreTextAndNothingElse) {
  const std::string page = html_page({study_});
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;"));
  EXPECT_THAT(page, HasSubstr("a &amp; b"));
  EXPECT_THAT(page, HasSubstr("&quot;50&quot;"));
}

TEST_F(Page, ClipsBandsToTheFigure) {
  const std::string svg = figure_svg(study_, plan_.plots[0], "f");
  const std::size_t band = svg.find("<rect class=\"band\" x=");
  ASSERT_NE(band, std::string::npos);
  double x = 0, y = 0, width = 0;
  ASSERT_EQ(std::sscanf(svg.c_str() + band, "<rect class=\"band\" x=\"%lf\" y=\"%lf\" width=\"%lf\"", &x, &y, &width),
            3);
  EXPECT_LE(x + width, 480 - 15);
}

TEST_F(Page, HasBarsWhereXHasOneValue) {
  plan_.axes[0].points.resize(1);
  study_.points.resize(1);
  study_.samples[0].results.resize(1);
  const std::string page = html_page({study_});
  EXPECT_EQ(times(page, "class=\"pt bar\""), 1U);
  EXPECT_EQ(times(page, "class=\"line\" d=\"M1 7H25\""), 1U) << "the key's";
  EXPECT_EQ(times(page, "<path class=\"claim bars\" d=\"M62.0"), 1U) << "a line across all bars";
}

TEST_F(Page, EachFigureIsAFileOfItsOwn) {
  EXPECT_THAT(html_page({study_}), HasSubstr("href=\"figures/e-1.svg\""));
  EXPECT_EQ(figure_id(plan_, 0), "e-1");
  const std::string svg = figure_svg(study_, plan_.plots[0], "e-1");
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_EQ(times(svg, "class=\"pt\""), 3U);
  EXPECT_THAT(svg, HasSubstr("TCP &lt;3&gt;"));
  EXPECT_EQ(figure_csv(study_, plan_.plots[0]),
            "line,queue pairs,\"throughput, Gb/s\",interval\na & b,1,10,0\na & b,2,20,0\na & b,4,30,0\n"
            "\"claimed: \"\"50\"\"\",2,50,\npaper: TCP <3>,,37,\n");
}

TEST_F(Page, TellsHowToRunItAgainAndWhyAClaimIsMissed) {
  const std::string page = html_page({study_});
  EXPECT_THAT(page, HasSubstr("weft sim p.toml --seed 5 --seeds 1"));
  EXPECT_THAT(page, HasSubstr("because"));
  EXPECT_THAT(page, HasSubstr("data-verdict=\"missed\""));
}

TEST_F(Page, AFailedRunIsSaidAndHasNoMarker) {
  study_.samples[0].results[1] = {{}, "no <room>"};
  const std::string page = html_page({study_});
  EXPECT_EQ(times(page, "class=\"pt\""), 2U);
  EXPECT_THAT(page, HasSubstr("a &amp; b at qps 2 failed, seed 5: no &lt;room&gt;"));
}

TEST_F(Page, TheSameResultsGiveTheSamePage) { EXPECT_EQ(html_page({study_}), html_page({study_})); }

}  // namespace
}  // namespace weft::lab
