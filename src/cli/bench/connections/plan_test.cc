#include "cli/bench/connections/plan.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace weft::cli {
namespace {

std::string one_line(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& w : words) out += (out.empty() ? "" : " ") + w;
  return out;
}

TEST(LoadPlan, IsAllOfItUnlessToldOtherwise) {
  const LoadPlan plan = plan_of({});
  EXPECT_EQ(plan.table.cells.size(), 2U * 2 * 2 * 3 * 5);
  EXPECT_EQ(plan.table.losses.size(), 2U);
  EXPECT_EQ(plan.table.milliseconds, 1000U);
  for (std::size_t i = 0; i < plan.table.cells.size(); i += 2) {  // in turn
    LoadPoint twin = plan.table.cells[i].point;
    EXPECT_EQ(twin.transport, "srnic");
    twin.transport = "roce";
    EXPECT_EQ(plan.table.cells[i + 1].point, twin);
  }
}

TEST(LoadPlan, IsWhatWasChosenEachOnce) {
  LoadBench bench;
  bench.wires = {"shm"};
  bench.transports = {"roce", "roce"};
  bench.verbs = {"write"};
  bench.depths = {4};
  bench.qps = {3, 2, 3};
  const LoadPlan plan = plan_of(bench);
  ASSERT_EQ(plan.table.cells.size(), 2U);
  EXPECT_EQ(plan.table.cells[0].point, (LoadPoint{"shm", "roce", "write", 4, 3}));
  EXPECT_TRUE(plan.table.losses.empty());
}

TEST(LoadPlan, TheQuickSetHasTheEndsOfBothCurves) {
  LoadBench bench;
  bench.quick = true;
  const LoadPlan plan = plan_of(bench);
  EXPECT_EQ(plan.rounds, 1U);
  EXPECT_LE(plan.table.cells.size(), 10U);
  for (const char* wire : {"shm", "udp"}) {
    EXPECT_NE(plan.table.find({wire, "srnic", "send", 128, 1024}), nullptr);
    EXPECT_NE(plan.table.find({wire, "srnic", "send", 16, 10000}), nullptr);
  }
  bench.qps = {7};
  EXPECT_NE(plan_of(bench).table.find({"udp", "srnic", "send", 1, 7}), nullptr);
}

TEST(LoadPlan, EachPointHasItsCommand) {
  EXPECT_EQ(one_line(words_of({"udp", "srnic", "write", 16, 128}, "0", 0, 200)),
            "run --stats --wire udp --transport srnic -- weft-connections --qps 128 --depth 16 --verb write --bytes "
            "65536 --rounds 1 --milliseconds 200 --no-idle --json");
  EXPECT_NE(one_line(words_of({"udp", "srnic", "send", 16, 128}, "1%", 4, 200)).find("--loss 1% --seed 5 --"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::cli
