// Many runs on several threads.
#include "lab/sweep.h"

#include <atomic>
#include <stdexcept>

#include <gtest/gtest.h>

namespace weft::lab {
namespace {

std::vector<Setting> settings(std::uint32_t count) {
  std::vector<Setting> all(count);
  for (std::uint32_t i = 0; i < count; ++i) all[i].qps = i + 1;
  return all;
}
std::vector<const Setting*> pointers(const std::vector<Setting>& settings) {
  std::vector<const Setting*> all;
  for (const Setting& s : settings) all.push_back(&s);
  return all;
}
Outcome square(const Setting& s) { return {{"y", static_cast<double>(s.qps) * s.qps + static_cast<double>(s.seed)}}; }

TEST(Sweep, TheNumberOfThreadsChangesNothing) {
  const auto all = settings(50);
  for (const unsigned jobs : {0U, 1U, 2U, 7U, 64U}) {
    SweepOptions options;
    options.jobs = jobs;
    options.run = square;
    const auto results = run_all(pointers(all), options);
    ASSERT_EQ(results.size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i)
      EXPECT_EQ(metric_of(results[i], "y"), square(all[i])[0].second) << jobs;
  }
}

TEST(Sweep, EqualSettingsRunOnce) {
  auto all = settings(3);
  all.push_back(all[1]);
  all.push_back(all[1]);
  all.back().seed = 2;  // not equal
  std::atomic<int> runs = 0;
  SweepOptions options;
  options.run = [&](const Setting& s) { return ++runs, square(s); };
  const auto results = run_all(pointers(all), options);
  EXPECT_EQ(runs, 4);
  EXPECT_EQ(metric_of(results[3], "y"), metric_of(results[1], "y"));
  EXPECT_NE(metric_of(results[4], "y"), metric_of(results[1], "y"));
}

TEST(Sweep, AFailedRunLosesNoOther) {
  const auto all = settings(5);
  SweepOptions options;
  options.run = [](const Setting& s) { return s.qps == 3 ? throw std::runtime_error("no room") : square(s); };
  const auto results = run_all(pointers(all), options);
  EXPECT_EQ(results[2].failure, "no room");
  EXPECT_FALSE(metric_of(results[2], "y"));
  EXPECT_EQ(metric_of(results[4], "y"), 26);
}

TEST(Sweep, ProgressCountsToTheEnd) {
  const auto all = settings(9);
  std::vector<std::size_t> done;
  SweepOptions options;
  options.run = square;
  options.on_progress = [&](const Progress& p) {
    EXPECT_EQ(p.total, 9U);
    done.push_back(p.done);
  };
  (void)run_all(pointers(all), options);
  ASSERT_EQ(done.size(), 10U);
  for (std::size_t i = 0; i < done.size(); ++i) EXPECT_EQ(done[i], i);
}

TEST(Sweep, NothingToRunIsNoProblem) { EXPECT_TRUE(run_all({}, {}).empty()); }

}  // namespace
}  // namespace weft::lab
