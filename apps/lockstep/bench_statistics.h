// From single measured runs to the figures of a report: which runs count, and their median and spread. Pure functions.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace lockstep {

// What the machine could do just before and just after a run.
struct MachineState {
  double read_gbps;
  double clock_ghz;
};

struct MeasuredRun {
  double seconds;
  double tokens;
  double bytes;  // of weights and, at depth, of the KV cache
  double macs;
  MachineState before;
  MachineState after;
  double foreign_cpus;  // see interference.h

  [[nodiscard]] double read_gbps() const { return (before.read_gbps + after.read_gbps) / 2; }
  [[nodiscard]] double clock_ghz() const { return (before.clock_ghz + after.clock_ghz) / 2; }
};

// How far the probes before and after were apart, as a share of the smaller; and the bound up to which a run is steady.
inline constexpr double kSteadyDrift = 0.05;
inline constexpr double kSteadyForeignCpus = 0.10;
[[nodiscard]] double drift(const MeasuredRun& run);
[[nodiscard]] bool is_steady(const MeasuredRun& run);

struct CollectedRuns {
  std::vector<MeasuredRun> runs;  // never empty
  bool steady;                    // all of them are
  int discarded;                  // unsteady ones that were measured besides
};

// n_runs (at least 1) times: measures until a run is steady, at most kMostRepeats times more; of unsteady ones the one
// with the least drift is kept. When any was steady, only steady ones stay.
inline constexpr int kMostRepeats = 3;
[[nodiscard]] CollectedRuns collect_runs(int n_runs, const std::function<MeasuredRun()>& measure);

// The middle one, or the mean of the two in the middle. `values` is not empty.
[[nodiscard]] double median(std::vector<double> values);

struct Spread {
  double median;
  double min;
  double max;
};
[[nodiscard]] Spread spread_of(const std::vector<double>& values);

// The figures of some runs.
struct Figures {
  Spread tokens_per_second;
  double gbps;
  double bandwidth_share;
  double mac_per_cycle;  // of each thread
  double read_gbps;
  double clock_ghz;
  double foreign_cpus;
};
[[nodiscard]] Figures figures_of(std::span<const MeasuredRun> runs, int threads);

}  // namespace lockstep
