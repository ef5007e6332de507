#include "bench_statistics.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

// A run of 100 tokens in one second between two probes.
MeasuredRun run_between(double gbps_before, double gbps_after, double clock_before = 4.0, double clock_after = 4.0) {
  return {1.0, 100, 20e9, 64e9, {gbps_before, clock_before}, {gbps_after, clock_after}, 0.0};
}

// Gives the runs one after another.
std::function<MeasuredRun()> script(std::vector<MeasuredRun> runs, int& used) {
  return [runs = std::move(runs), &used] { return runs.at(static_cast<size_t>(used++)); };
}

TEST(Median, IsTheMiddleOneOrBetweenTheTwoInTheMiddle) {
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(median({8, 2, 4, 100}), 6);
}

TEST(SteadyRule, LooksAtBothProbesAndAtOthersWhoUseTheProcessors) {
  EXPECT_TRUE(is_steady(run_between(40, 41.9)));
  EXPECT_TRUE(is_steady(run_between(41.9, 40)));
  EXPECT_FALSE(is_steady(run_between(40, 42.1)));
  EXPECT_FALSE(is_steady(run_between(42.1, 40)));
  EXPECT_FALSE(is_steady(run_between(40, 40, 4.0, 3.7)));
  EXPECT_FALSE(is_steady(run_between(0, 0)));
  MeasuredRun disturbed = run_between(40, 40);
  disturbed.foreign_cpus = 0.11;
  EXPECT_FALSE(is_steady(disturbed));
  EXPECT_DOUBLE_EQ(drift(run_between(40, 50, 4.0, 4.4)), 0.25);
}

TEST(CollectRuns, TakesSteadyRunsAsTheyCome) {
  int used = 0;
  const CollectedRuns runs =
      collect_runs(3, script({run_between(40, 40), run_between(41, 41), run_between(42, 42)}, used));
  EXPECT_EQ(used, 3);
  EXPECT_EQ(runs.runs.size(), 3u);
  EXPECT_TRUE(runs.steady);
  EXPECT_EQ(runs.discarded, 0);
}

TEST(CollectRuns, RepeatsAnUnsteadyRunUntilItIsSteady) {
  int used = 0;
  const CollectedRuns runs =
      collect_runs(1, script({run_between(40, 60), run_between(40, 50), run_between(40, 40)}, used));
  EXPECT_EQ(used, 3);
  ASSERT_EQ(runs.runs.size(), 1u);
  EXPECT_EQ(runs.runs[0].after.read_gbps, 40);
  EXPECT_TRUE(runs.steady);
  EXPECT_EQ(runs.discarded, 2);
}

TEST(CollectRuns, GivesTheLeastUnsteadyWhenNoneIsSteady) {
  int used = 0;
  const CollectedRuns runs = collect_runs(
      1, script({run_between(40, 60), run_between(40, 44), run_between(40, 70), run_between(40, 50)}, used));
  EXPECT_EQ(used, 1 + kMostRepeats);
  ASSERT_EQ(runs.runs.size(), 1u);
  EXPECT_EQ(runs.runs[0].after.read_gbps, 44);
  EXPECT_FALSE(runs.steady);
  EXPECT_EQ(runs.discarded, 3);
}

TEST(CollectRuns, LeavesOutARunThatNeverWasSteadyWhenAnotherWas) {
  const MeasuredRun bad = run_between(40, 60);
  int used = 0;
  const CollectedRuns runs = collect_runs(2, script({bad, bad, bad, bad, run_between(41, 41)}, used));
  EXPECT_EQ(used, 5);
  ASSERT_EQ(runs.runs.size(), 1u);
  EXPECT_EQ(runs.runs[0].before.read_gbps, 41);
  EXPECT_TRUE(runs.steady);
  EXPECT_EQ(runs.discarded, 4);
}

TEST(Figures, AreRatesSharesAndMultiplyAddsOfEachThread) {
  std::vector<MeasuredRun> runs = {run_between(40, 40), run_between(50, 50), run_between(40, 40)};
  runs[1].seconds = 0.5;
  runs[2].seconds = 2.0;
  const Figures figures = figures_of(runs, 2);
  EXPECT_DOUBLE_EQ(figures.tokens_per_second.median, 100);
  EXPECT_DOUBLE_EQ(figures.tokens_per_second.min, 50);
  EXPECT_DOUBLE_EQ(figures.tokens_per_second.max, 200);
  EXPECT_DOUBLE_EQ(figures.gbps, 20);
  // 20/40, 40/50, 10/40: each run against its own probes.
  EXPECT_DOUBLE_EQ(figures.bandwidth_share, 0.5);
  // 64e9 multiply-adds in a second, by two threads at 4e9 cycles.
  EXPECT_DOUBLE_EQ(figures.mac_per_cycle, 8);
  EXPECT_DOUBLE_EQ(figures.read_gbps, 40);
  EXPECT_DOUBLE_EQ(figures.clock_ghz, 4);
}

}  // namespace
}  // namespace lockstep
