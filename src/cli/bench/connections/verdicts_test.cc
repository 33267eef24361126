#include "cli/bench/connections/verdicts.h"

#include <gtest/gtest.h>

namespace weft::cli {
namespace {

LoadReading reading(double rate, std::uint64_t again = 0) {
  return {.messages_per_second = rate,
          .median_us = 1,
          .p99_us = 2,
          .steady = true,
          .least_share = std::nullopt,
          .most_share = std::nullopt,
          .sent_packets = 100'000,
          .again = again};
}

class Table {
 public:
  Table() { table.milliseconds = 1000; }
  LoadCell& cell(const char* transport, std::uint32_t depth, std::uint32_t qps) {
    table.cells.emplace_back().point = {"udp", transport, "send", depth, qps};
    return table.cells.back();
  }
  Table& with(const char* transport, std::uint32_t depth, std::uint32_t qps, std::vector<double> rates) {
    LoadCell& c = cell(transport, depth, qps);
    for (const double rate : rates) c.add(reading(rate));
    return *this;
  }
  [[nodiscard]] std::optional<LoadVerdict> verdict(const std::string& begins) const {
    for (const LoadVerdict& v : verdicts_of(table)) {
      if (v.what.starts_with(begins)) return v;
    }
    return std::nullopt;
  }
  LoadTable table;
};

TEST(LoadTable, RatiosAreOfTheSameRounds) {
  Table t;
  t.with("srnic", 16, 1, {10, 20, 10}).with("srnic", 16, 128, {20, 40, 20}).with("roce", 16, 128, {20, 20, 20});
  EXPECT_EQ(of_best(t.table, t.table.cells[0]), 0.5);
  EXPECT_EQ(of_best(t.table, t.table.cells[1]), 1);
  EXPECT_EQ(of_best(t.table, t.table.cells[2]), std::nullopt);  // alone in its row
  EXPECT_EQ(of_roce(t.table, t.table.cells[1]), 1);
  EXPECT_EQ(of_roce(t.table, t.table.cells[0]), std::nullopt);  // roce was not measured there
  EXPECT_EQ(of_roce(t.table, t.table.cells[2]), std::nullopt);
}

TEST(LoadTable, WhatWasSentAgainIsOfAllRounds) {
  LoadCell c;
  c.add(reading(1, 0));
  c.add(reading(1, 30));
  c.add(tl::unexpected(std::string("broke")));
  EXPECT_EQ(c.again_share(), 0.00015);
  EXPECT_EQ(c.rate.failed(), 1U);
  EXPECT_EQ(c.failure, "broke");
  EXPECT_EQ(LoadCell().again_share(), std::nullopt);
}

TEST(LoadVerdict, AnEmptyTableHasNone) { EXPECT_TRUE(verdicts_of(LoadTable()).empty()); }

TEST(LoadVerdict, ManyConnectionsAreBesideTheBestOfTheirRow) {
  Table t;
  t.with("srnic", 128, 1, {10}).with("srnic", 128, 1024, {8}).with("roce", 128, 16, {10}).with("roce", 128, 1024, {7});
  const auto v = t.verdict("1024 connections at depth 128");
  ASSERT_TRUE(v);
  EXPECT_FALSE(v->met());
  EXPECT_EQ(v->judged, 2U);
  EXPECT_EQ(v->held, 1U);
  EXPECT_EQ(v->worst, 0.7);
  EXPECT_EQ(v->where, "udp roce send, depth 128, 1024 queue pairs");
  EXPECT_FALSE(t.verdict("10000 connections"));
}

TEST(LoadVerdict, ExactlyTheLimitIsMet) {
  Table t;
  t.with("srnic", 16, 1, {10}).with("srnic", 16, 10000, {8});
  EXPECT_TRUE(t.verdict("10000 connections at depth 16")->met());
}

TEST(LoadVerdict, APointThatDidNotRunIsTheWorst) {
  Table t;
  t.with("srnic", 128, 1, {10});
  t.cell("srnic", 128, 1024).add(tl::unexpected(std::string("broke")));
  t.with("roce", 128, 1, {10}).with("roce", 128, 1024, {1});
  const auto v = t.verdict("1024 connections");
  EXPECT_FALSE(v->met());
  EXPECT_EQ(v->worst, std::nullopt);
  EXPECT_EQ(v->where, "udp srnic send, depth 128, 1024 queue pairs");
  EXPECT_FALSE(t.verdict("sent again")->met());
  // srnic did not run where roce did; where roce does not run, there is nothing to be behind of.
  EXPECT_EQ(t.verdict("srnic beside roce")->worst, std::nullopt);
  Table other;
  other.with("srnic", 128, 1, {10});
  other.cell("roce", 128, 1).add(tl::unexpected(std::string("broke")));
  EXPECT_FALSE(other.verdict("srnic beside roce"));
}

TEST(LoadVerdict, LittleIsSentAgain) {
  Table t;
  t.cell("srnic", 1, 1).add(reading(1, 10));  // 0.01 %
  EXPECT_TRUE(t.verdict("sent again")->met());
  t.cell("roce", 1, 1).add(reading(1, 11));
  const auto v = t.verdict("sent again");
  EXPECT_FALSE(v->met());
  EXPECT_TRUE(v->at_most);
  EXPECT_EQ(v->worst, 0.00011);
  EXPECT_EQ(v->where, "udp roce send, depth 1, 1 queue pair");
}

TEST(LoadVerdict, SrnicIsNearRoce) {
  Table t;
  t.with("srnic", 1, 1, {96}).with("roce", 1, 1, {100});
  EXPECT_TRUE(t.verdict("srnic beside roce")->met());
  t.with("srnic", 1, 16, {94}).with("roce", 1, 16, {100});
  const auto v = t.verdict("srnic beside roce");
  EXPECT_FALSE(v->met());
  EXPECT_EQ(v->worst, 0.94);
  EXPECT_EQ(v->judged, 2U);
}

TEST(LoadVerdict, SharesAreJudgedWhereTheyWereMeasuredForASecond) {
  Table t;
  LoadReading r = reading(1);
  t.cell("srnic", 1, 1).add(r);
  EXPECT_FALSE(t.verdict("shares"));  // not measured
  r.least_share = 0.95;
  r.most_share = 1.09;
  t.cell("srnic", 1, 16).add(r);
  EXPECT_TRUE(t.verdict("shares")->met());
  EXPECT_EQ(t.verdict("shares")->judged, 1U);
  r.least_share = 0.85;
  t.cell("srnic", 1, 128).add(r);
  EXPECT_FALSE(t.verdict("shares")->met());
  EXPECT_NEAR(*t.verdict("shares")->worst, 0.15, 1e-9);
  t.table.milliseconds = 999;
  EXPECT_FALSE(t.verdict("shares"));
}

TEST(LoadVerdict, LossIsBesideTheSameLoadWithoutLoss) {
  Table t;
  LoadTable::Lossy& l = t.table.losses.emplace_back();
  l.lossless.add(reading(100));
  l.lossy.add(reading(76));
  EXPECT_TRUE(t.verdict("kept")->met());
  t.table.losses.push_back(t.table.losses.front());
  t.table.losses.back().lossy = {};
  t.table.losses.back().lossy.add(tl::unexpected(std::string("broke")));
  EXPECT_FALSE(t.verdict("kept")->met());
}

}  // namespace
}  // namespace weft::cli
