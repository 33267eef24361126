// Plans: what they say, and what is said about those that make no sense.
#include "lab/plan_file.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/library.h"

namespace weft::lab {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kHeadText = "[experiment]\nid = 'e'\ntitle = 't'\n";
const std::string kSeriesText = kHeadText + "[[series]]\nname = 'A'\nprofile = 'srnic'\n";
const std::string kSweep = kSeriesText + "[[sweep]]\nkey = 'qps'\nvalues = [1, 2]\n";

tl::expected<Plan, std::string> read(const std::string& text) { return read_plan(text, "x.toml", ProfileShelf()); }

void refused(const std::string& text, int line, const std::string& why) {
  const auto plan = read(text);
  ASSERT_FALSE(plan) << text;
  EXPECT_THAT(plan.error(), StartsWith("x.toml:" + std::to_string(line) + ":")) << text;
  EXPECT_THAT(plan.error(), HasSubstr(why)) << text;
}

TEST(Plan, EachThatWeCarryCanBeReadAndNamesAreUnique) {
  std::set<std::string> experiments, claims;
  for (const LibraryFile& file : kExperiments) {
    const auto plan = read_plan(file.text, std::string(file.name), ProfileShelf());
    ASSERT_TRUE(plan) << plan.error();
    EXPECT_EQ(plan->id, file.name) << "the file is called after the experiment";
    EXPECT_TRUE(experiments.insert(plan->id).second);
    for (const Claim& claim : plan->claims) EXPECT_TRUE(claims.insert(claim.id).second) << claim.id;
  }
  EXPECT_THAT(claims, testing::IsSupersetOf({"srnic-table1", "srnic-table2", "srnic-header", "srnic-schedq",
                                             "srnic-18x", "srnic-fig2", "srnic-fig9", "srnic-fig10a", "srnic-fig10b",
                                             "srnic-fig11", "srnic-ctrl", "star-fig1"}));
}

TEST(Plan, EveryCalibratedNumberNamesAClaim) {
  const ProfileShelf shelf;
  const auto plans = library_plans(shelf);
  ASSERT_TRUE(plans) << plans.error();
  std::set<std::string> claims;
  for (const Plan& plan : *plans) {
    for (const Claim& claim : plan.claims) claims.insert(claim.id);
  }
  for (const std::string& name : shelf.names()) {
    const auto profile = shelf.find(name);
    ASSERT_TRUE(profile) << profile.error();
    for (const Parameter& p : profile->parameters) {
      EXPECT_TRUE(p.calibrated_on.empty() || claims.contains(p.calibrated_on)) << name << ": " << p.key;
    }
  }
}

TEST(Plan, LaterWordsWinOverEarlierOnes) {
  const auto plan = read(kHeadText + R"(
[base]
bytes = "4 KB"
time_limit = "1 ms"
contexts.entries = 7
[quick]
time_limit = "10 us"
[[series]]
name = "A"
profile = "connectx6"
set = { bytes = 64 }
[[sweep]]
key = "qps"
values = [1, 2, 4]
quick = [4]
[[sweep]]
key = "loss"
values = [0, "1%"])");
  ASSERT_TRUE(plan) << plan.error();
  const auto points = points_of(*plan, Extent::full);
  ASSERT_EQ(points.size(), 6U);
  EXPECT_EQ(points[3].setting.bytes, 64U);
  EXPECT_EQ(points[3].setting.qps, 2U);
  EXPECT_EQ(points[3].setting.loss, 0.01);
  EXPECT_EQ(points[3].at, (std::vector<double>{2, 1}));
  EXPECT_EQ(points[3].setting.time_limit, milliseconds(1));
  EXPECT_EQ(points[3].setting.profile.chip.contexts.entries, 7U);
  const auto quick = points_of(*plan, Extent::quick, 9);
  ASSERT_EQ(quick.size(), 2U);
  EXPECT_EQ(quick[0].setting.qps, 4U);
  EXPECT_EQ(quick[0].setting.time_limit, microseconds(10));
  EXPECT_EQ(quick[0].setting.seed, 9U);
}

TEST(Plan, SettingsThatChangeTogetherAreOneAxis) {
  const auto plan = read(kSeriesText + R"(
[[sweep]]
key = "share"
at = [{ x = 10, set = { contexts.entries = 5, mtt_cache_bytes = 80 } }, { x = 20, set = { contexts.entries = 6 } }])");
  ASSERT_TRUE(plan) << plan.error();
  const auto points = points_of(*plan, Extent::full);
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].at[0], 10);
  EXPECT_EQ(points[0].setting.profile.chip.contexts.entries, 5U);
  EXPECT_EQ(points[0].setting.profile.device.card.mtt_cache_bytes, 80U);
}

TEST(Plan, WhatMakesNoSenseIsRefusedWithLineAndReason) {
  refused("[[series]]\nname = 'A'", 1, "[experiment] with id and title is missing");
  refused("[experiment]\nid = 'e'", 1, "an id and a title");
  refused("[experiment]\nid = 'a b'\ntitle = 't'", 2, "letters, digits, - and _, not 'a b'");
  refused(kHeadText, 1, "nothing to run");
  refused(kHeadText + "[bse]\n", 4, "there is no 'bse' here. Did you mean 'base'?");
  refused(kHeadText + "[base]\nbites = 512", 5, "there is no setting 'bites'. Did you mean 'bytes'?");
  refused(kHeadText + "[base]\ntime_limit = 200", 5, "time_limit is in ps, ns, us, ms or s, and has no unit here");
  refused(kHeadText + "[base]\nloss = '200%'", 5, "loss is from 0 % to 100 %");
  refused(kHeadText + "[base]\noperation = 'sned'", 5, "one of send, write, read");
  refused(kHeadText + "[[series]]\nname = 'A B'\nprofile = 'srnic'", 4, "letters, digits and _, not 'A B'");
  refused(kHeadText + "[[series]]\nname = 'A'", 4, "series 'A' has no profile");
  refused(kHeadText + "[[series]]\nname = 'A'\nprofile = 'srnick'", 6, "Did you mean 'srnic'?");
  refused(kHeadText + "[[series]]\nname = 'A'\nprofile = 'no.toml'", 6, "cannot read no.toml");
  refused(kSeriesText + "[[series]]\nname = 'A'\nprofile = 'srnic'", 7, "two series 'A'");
  refused(kSeriesText + "[[sweep]]\nkey = 'qpz'\nvalues = [1]", 8, "there is no setting 'qpz'. Did you mean 'qps'?");
  refused(kSeriesText + "[[sweep]]\nkey = 'qps'\nvalues = [1,\n0]", 10, "qps is from 1");
  refused(kSeriesText + "[[sweep]]\nkey = 'qps'\nvalues = []", 7, "no points");
  refused(kSweep + "quick = [3]", 10, "no value of 'qps'");
  refused(kSweep + "[[sweep]]\nkey = 'qps'\nvalues = [1]", 10, "'qps' is swept twice");
  refused(kSweep + "[[plot]]\nmetric = 'mac'\n", 11, "there is no metric 'mac'");
  refused(kSweep + "[[plot]]\nmetric = 'mac_gbps'\nx = 'loss'\n", 12, "'loss' is not swept");
  refused(kSweep + "[[plot]]\nmetric = 'mac_gbps'\nx_scale = 'cubic'\n", 12, "linear, log2, log or steps");
  refused(kSweep + "[[plot]]\nmetric = 'mac_gbps'\nseries = ['B']\n", 12, "there is no series 'B'");
  refused(kSweep + "[[plot]]\nmetric = 'mac_gbps'\nclaimed = [{ x = 1 }]\n", 12, "a claimed point is { x = ");
  refused(kSweep + "[[plot]]\nmetric = 'mac_gbps'\nclaimed = [{ x = 1, y = 1, with = 5 }]\n", 12, "'within'?");
  refused(kSweep + "[[plot]]\nmetric = 'mac_gbps'\nband = [{ x = [2, 1] }]\n", 12, "a range is [least, most]");
  refused("[experiment\n", 1, "");
}

TEST(Plan, AChipThatIsTooSmallForAPointIsRefused) {
  refused(kSeriesText + "[[sweep]]\nkey = 'mtt_cache_bytes'\nvalues = ['1 MB', '3 MB']", 4,
          "A at mtt_cache_bytes 3 MB: 5");
}

TEST(Plan, SettingsThatDoNotGoTogetherAreRefused) {
  const std::string base = kHeadText + "[base]\n";
  const std::string series = "\n[[series]]\nname = 'A'\nprofile = 'srnic'\n";
  refused(base + "mtu = 1000" + series, 6, "A: mtu is 256, 512, 1024, 2048 or 4096, not 1000");
  refused(base + "mtu = 4096\nport_mtu = 1024" + series, 7, "the card's port_mtu is 1024");
  refused(base + "page_bytes = 5000" + series, 6, "page_bytes is a power of two");
  refused(base + "bytes = 8192\nregion_bytes = '4 KB'" + series, 7, "region_bytes is 4096, and a message has 8192");
  refused(base + "clients = 4\nqps = 3" + series, 7, "3 queue pairs for 4 clients");
  refused(base + "qps = 10000\ndepth = 32768" + series, 7, "16777216 under way are allowed");
  refused(base + "qps = 10000\nreceive_depth = 32768" + series, 7, "16777216 are allowed");
  refused(base + "switch_buffer = '12 MB'" + series, 6, "one client has a cable");
  refused(base + "pause = true\nreceive_buffer_bytes = '8 KB'" + series, 7,
          "come in while a neighbour is told to pause");
  refused(base + "clients = 4\nswitch_alpha = 0.5" + series, 7, "which is 0");
  refused(base + "depth = 8\nsignal_every = 9" + series, 7, "signal_every is 9, and only 8 are under way (depth)");
  refused(base + "inline_bytes = 1024\nmax_inline = 512" + series, 7, "the card's max_inline is");
  refused(base + "dialect = 'roce'\ncongestion = 'dctcp'" + series, 7, "roce has no congestion control here");
  refused(base + "pattern = 'ping_pong'\noperation = 'read'" + series, 7,
          "ping_pong is for SENDs, or WRITEs, between two hosts");
  refused(base + "qps = 10001" + series, 6, "10001 queue pairs, and the card has room for 10000 (max_qps)");
  refused(base + "qps = 8" + series + "[quick]\nclients = 9", 6, "8 queue pairs for 9 clients");
}

TEST(Plan, TooManyRunsAreRefused) {
  refused(
      kSweep + "[[sweep]]\nkey = 'seed'\nvalues = [" +
          [] {
            std::string all;
            for (int i = 0; i < 2049; ++i) all += std::to_string(i) + ",";
            return all;
          }() +
          "]",
      7, "4098 runs, 4096 are allowed");
}

TEST(Plan, AClaimThatCannotBeEvaluatedIsRefused) {
  const std::string claim = kSweep + "[[claim]]\nid='a'\nwhat='b'\nsource='c'\nrow=[\n";
  refused(claim + "1]", 15, "a row is a table");
  refused(claim + "{claimed='1',band='exact',value='1'}]", 15, "a row has a name");
  refused(claim + "{name='n',claimed='much',band='exact',value='1'}]", 15, "not 'much'");
  refused(claim + "{name='n',claimed='1',band='near',value='1'}]", 15, "not 'near'");
  refused(claim + "{name='n',claimed='1',band='exact',value='max(A.mac)'}]", 15, "there is no metric 'mac'");
  refused(claim + "{name='n',claimed='1',band='exact',value='A.mac_gbps[3]'}]", 15, "no point at 3");
  refused(claim + "{name='n',claimed='1',band='exact',value='1',quick=1}]", 15, "quick is true or false");
  refused(claim + "{name='n',claimed='1',band='exact',value='1',wy='x'}]", 15, "Did you mean 'why'?");
  refused(kSweep + "quick = [1]\n[[claim]]\nid='a'\nwhat='b'\nsource='c'\nrow=[\n" +
              "{name='n',claimed='1',band='exact',value='A.mac_gbps[2]'}]",
          16, "in the quick set: A.mac_gbps has no point at 2");
  refused(kHeadText + "[[claim]]\nid = 'a'\nwhat = 'b'", 4, "claim 'a': id, what, source and row are needed");
}

TEST(Plan, ARowsOwnUnitAndBandWinOverItsClaims) {
  const auto plan = read(kHeadText + R"([[claim]]
    id = "a"
    what = "b"
    source = "c"
    unit = "MB"
    band = "5%"
    row = [{ name = "x", claimed = "1", value = "1" },
           { name = "y", claimed = "2", value = "1", unit = "GB", band = "exact" }])");
  ASSERT_TRUE(plan) << plan.error();
  const auto& rows = plan->claims.at(0).rows;
  EXPECT_EQ(rows[0].unit + rows[0].band_text, "MB5%");
  EXPECT_EQ(rows[1].unit + rows[1].band_text, "GBexact");
}

}  // namespace
}  // namespace weft::lab
