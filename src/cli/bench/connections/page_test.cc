// The table as text, as JSON and as a page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/bench/connections/output.h"

namespace weft::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

LoadTable table() {
  LoadTable t;
  t.milliseconds = 1000;
  for (const char* transport : {"srnic", "roce"}) {
    for (const std::uint32_t qps : {1U, 1024U}) {
      LoadCell& c = t.cells.emplace_back();
      c.point = {"udp", transport, "write", 128, qps};
      c.add(LoadReading{.messages_per_second = 1000.0 * qps,
                        .median_us = 1500,
                        .p99_us = 2.5e6,
                        .steady = qps == 1,
                        .least_share = 0.5,
                        .most_share = 1.25,
                        .sent_packets = 1'000'000,
                        .again = 1});
    }
  }
  t.cells.back() = {};
  t.cells.back().point = {"udp", "roce", "write", 128, 1024};
  t.cells.back().add(tl::unexpected(std::string("no <room>")));
  return t;
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(LoadOutput, TextHasARowForEachPointAndTheVerdicts) {
  const std::string text = load_text(table());
  EXPECT_THAT(text, HasSubstr("failed: no <room>"));
  EXPECT_THAT(text, HasSubstr("0.50..1.25"));
  EXPECT_THAT(text, HasSubstr("<0.001 %"));
  EXPECT_THAT(text, HasSubstr("1.5 ms"));
  EXPECT_THAT(text, HasSubstr(">2.5 s"));
  EXPECT_THAT(text, HasSubstr("MISSED"));
  EXPECT_EQ(count(text, "\nudp "), 4U);
}

TEST(LoadOutput, JsonHasRowsAndVerdicts) {
  const nlohmann::json j = nlohmann::json::parse(load_json(table()));
  ASSERT_EQ(j["rows"].size(), 4U);
  EXPECT_NEAR(j["rows"][0]["of_best"].get<double>(), 1 / 1024.0, 1e-9);
  EXPECT_EQ(j["rows"][3]["messages_per_second"], nullptr);
  EXPECT_EQ(j["rows"][3]["failure"], "no <room>");
  EXPECT_EQ(j["verdicts"].size(), verdicts_of(table()).size());
  for (const auto& v : j["verdicts"]) EXPECT_TRUE(v["met"].is_boolean());
}

TEST(LoadOutput, PageHasAPictureWithAMarkerForEachPointThatRan) {
  const std::string page = load_page(table());
  EXPECT_EQ(count(page, "<svg class=\"plot\""), 1U);
  EXPECT_EQ(count(page, "class=\"pt\""), 3U);
  EXPECT_THAT(page, HasSubstr("64 KB WRITEs over UDP"));
  EXPECT_THAT(page, HasSubstr("srnic, depth 128"));
  EXPECT_THAT(page, HasSubstr("no &lt;room&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("<room>")));
  EXPECT_THAT(page, HasSubstr("class=\"verdict missed\""));
}

}  // namespace
}  // namespace weft::cli
