#include "bench_statistics.h"

#include <algorithm>
#include <iterator>

namespace lockstep {
namespace {

double distance(double a, double b) {
  const double smaller = std::min(a, b);
  return smaller > 0 ? (std::max(a, b) - smaller) / smaller : 1.0;
}

MeasuredRun steadiest(const std::function<MeasuredRun()>& measure, int& discarded) {
  MeasuredRun best = measure();
  for (int repeat = 0; repeat < kMostRepeats && !is_steady(best); ++repeat) {
    const MeasuredRun next = measure();
    if (is_steady(next) || drift(next) < drift(best)) best = next;
    ++discarded;
  }
  return best;
}

double median_of(std::span<const MeasuredRun> runs, const std::function<double(const MeasuredRun&)>& figure) {
  std::vector<double> values;
  std::ranges::transform(runs, std::back_inserter(values), figure);
  return median(std::move(values));
}

}  // namespace

double drift(const MeasuredRun& run) {
  return std::max(distance(run.before.read_gbps, run.after.read_gbps),
                  distance(run.before.clock_ghz, run.after.clock_ghz));
}

bool is_steady(const MeasuredRun& run) {
  return drift(run) <= kSteadyDrift && run.foreign_cpus <= kSteadyForeignCpus;
}

CollectedRuns collect_runs(int n_runs, const std::function<MeasuredRun()>& measure) {
  CollectedRuns result = {{}, true, 0};
  for (int i = 0; i < n_runs; ++i) result.runs.push_back(steadiest(measure, result.discarded));
  const auto n_steady = std::ranges::count_if(result.runs, is_steady);
  result.steady = n_steady > 0;
  if (result.steady) {
    result.discarded += static_cast<int>(static_cast<std::ptrdiff_t>(result.runs.size()) - n_steady);
    std::erase_if(result.runs, [](const MeasuredRun& run) { return !is_steady(run); });
  }
  return result;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Spread spread_of(const std::vector<double>& values) {
  const auto [lowest, highest] = std::ranges::minmax(values);
  return {median(values), lowest, highest};
}

Figures figures_of(std::span<const MeasuredRun> runs, int threads) {
  std::vector<double> rates;
  for (const MeasuredRun& run : runs) rates.push_back(run.tokens / run.seconds);
  const auto gbps = [](const MeasuredRun& run) { return run.bytes / run.seconds * 1e-9; };
  return {spread_of(rates),
          median_of(runs, gbps),
          median_of(runs, [&](const MeasuredRun& run) { return gbps(run) / run.read_gbps(); }),
          median_of(runs,
                    [&](const MeasuredRun& run) { return run.macs / run.seconds / threads / (run.clock_ghz() * 1e9); }),
          median_of(runs, [](const MeasuredRun& run) { return run.read_gbps(); }),
          median_of(runs, [](const MeasuredRun& run) { return run.clock_ghz(); }),
          median_of(runs, [](const MeasuredRun& run) { return run.foreign_cpus; })};
}

}  // namespace lockstep
