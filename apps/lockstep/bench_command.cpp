#include <fmt/format.h>

#include <algorithm>

#include "bandwidth_probe.h"
#include "bench_options.h"
#include "bench_report.h"
#include "bench_sequences.h"
#include "commands.h"
#include "core_probe.h"
#include "exit_status.h"
#include "interference.h"
#include "messages.h"
#include "progress_line.h"

namespace lockstep {
namespace {

// All tests of one loaded model, which has one number of threads. The probes use threads of their own, as many and of
// the same kind as the model's: the model's own team is not to be had from outside.
class Bench {
 public:
  Bench(engine::Engine& engine, const BenchPlan& plan, const std::string& kv_type, BandwidthProbe& probe,
        ProgressLine& progress)
      : engine_(engine),
        plan_(plan),
        kv_type_(kv_type),
        probe_(probe),
        progress_(progress),
        team_(engine.threads()),
        sequences_(engine, plan.largest_batch()) {}

  std::vector<BenchEntry> run() {
    warm_up();
    for (const int64_t depth : plan_.depths) {
      sequences_.fill(depth);
      for (const int64_t n : plan_.prompt_sizes) measure({BenchTest::kPrefill, n, depth, 1});
      for (const int64_t n : plan_.decode_sizes) {
        for (const int64_t batch : plan_.batches) measure({BenchTest::kDecode, n, depth, batch});
      }
    }
    return std::move(entries_);
  }

 private:
  struct Test {
    BenchTest test;
    int64_t n;
    int64_t depth;
    int64_t batch;
  };

  void warm_up() {
    constexpr int64_t kWarmUpTokens = 32;
    const int64_t n = std::min(kWarmUpTokens, engine_.ctx_size());
    if (!plan_.prompt_sizes.empty()) (void)sequences_.prefill(n);
    if (!plan_.decode_sizes.empty()) (void)sequences_.decode(std::min<int64_t>(n, 4), plan_.largest_batch());
  }

  MachineState machine_state() { return {probe_.measure(team_), clock_ghz(team_)}; }

  MeasuredRun run_once(const Test& test) {
    const MachineState before = machine_state();
    const InterferenceGuard guard;
    const BenchSequences::Measured m =
        test.test == BenchTest::kPrefill ? sequences_.prefill(test.n) : sequences_.decode(test.n, test.batch);
    const double foreign = guard.foreign_cpus();
    return {m.seconds, static_cast<double>(m.tokens), m.bytes, m.macs, before, machine_state(), foreign};
  }

  void measure(const Test& test) {
    progress_.update(n_measured_++, n_tests());
    const CollectedRuns runs = collect_runs(plan_.runs, [&] { return run_once(test); });
    entries_.push_back({test.test, test.n, test.depth, test.batch, engine_.threads(), engine_.model().kernels->isa,
                        kv_type_, figures_of(runs.runs, engine_.threads()), static_cast<int>(runs.runs.size()),
                        runs.discarded, runs.steady});
  }

  [[nodiscard]] uint64_t n_tests() const {
    return plan_.depths.size() * (plan_.prompt_sizes.size() + plan_.decode_sizes.size() * plan_.batches.size());
  }

  engine::Engine& engine_;
  const BenchPlan& plan_;
  const std::string& kv_type_;
  BandwidthProbe& probe_;
  ProgressLine& progress_;
  exec::Team team_;
  BenchSequences sequences_;
  std::vector<BenchEntry> entries_;
  uint64_t n_measured_ = 0;
};

void warn_of_unsteady(std::span<const BenchEntry> entries) {
  for (const BenchEntry& entry : entries) {
    if (!entry.steady) {
      print_warning(
          fmt::format("{} with {} threads: the machine was not steady in any run", test_name(entry), entry.threads));
    } else if (entry.discarded > 0) {
      print_note(fmt::format("{} with {} threads: {} unsteady runs discarded", test_name(entry), entry.threads,
                             entry.discarded));
    }
  }
}

void write(const std::vector<BenchEntry>& entries, ReportFormat format, Output& output) {
  switch (format) {
    case ReportFormat::kMarkdown:
      output.write(bench_markdown(entries));
      break;
    case ReportFormat::kCsv:
      output.write(bench_csv(entries));
      break;
    case ReportFormat::kJson:
      output.write_line(bench_json(entries));
      break;
  }
}

int run_bench(BenchFlags& flags, Output& output) {
  settle_model_argument(flags.model);
  const BenchPlan plan = bench_plan(flags);
  BandwidthProbe probe;
  std::vector<BenchEntry> entries;
  for (const int64_t threads : plan.threads) {
    ModelOptions with_threads = flags.model;
    with_threads.threads = std::to_string(threads);
    const LoadedModel loaded = load_model(with_threads);
    check_fits(plan, loaded.engine->ctx_size(), std::min(loaded.engine->max_logits(), loaded.engine->max_batch()));
    ProgressLine progress("measuring", "tests", 1);
    const std::vector<BenchEntry> some = Bench(*loaded.engine, plan, flags.model.kv_type, probe, progress).run();
    entries.insert(entries.end(), some.begin(), some.end());
  }
  // Measured depth by depth, so that a cache is filled once; told prefill first.
  std::ranges::stable_sort(entries, {}, &BenchEntry::test);
  warn_of_unsteady(entries);
  write(entries, plan.format, output);
  return kExitDone;
}

}  // namespace

void add_bench_command(CLI::App& program, Action& chosen) {
  const auto flags = std::make_shared<BenchFlags>();
  CLI::App& command = add_command(program, chosen, "bench", "measures prefill and decode against the machine's limits",
                                  flags, run_bench);
  add_bench_flags(command, *flags);
}

}  // namespace lockstep
