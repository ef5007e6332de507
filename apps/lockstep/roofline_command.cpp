#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "bandwidth_probe.h"
#include "base/cpu.h"
#include "base/error.h"
#include "commands.h"
#include "exit_status.h"
#include "interrupt.h"
#include "kernels/select.h"
#include "number_text.h"
#include "output_file.h"
#include "progress_line.h"
#include "quant/format.h"
#include "roofline_report.h"
#include "usage.h"

namespace lockstep {
namespace {

struct RooflineOptions {
  std::string threads = "0";
  std::string isa = "all";
  std::string formats = "all";
  std::string csv;
  bool json = false;
};

std::vector<const kernels::KernelTable*> chosen_tables(const std::string& isa) {
  if (isa != "all") return {&kernels::select_table(isa)};
  return {kernels::available_tables().begin(), kernels::available_tables().end()};
}

// The types that every kernel set has.
std::vector<quant::TensorType> all_types() {
  std::vector<quant::TensorType> types;
  for (const quant::FormatInfo& format : quant::all_formats()) {
    if (format.supported) types.push_back(format.type);
  }
  return types;
}

std::vector<quant::TensorType> chosen_types(std::string_view names) {
  if (names == "all") return all_types();
  std::vector<quant::TensorType> types;
  for (size_t begin = 0; begin <= names.size();) {
    const size_t comma = std::min(names.find(',', begin), names.size());
    const std::string_view name = names.substr(begin, comma - begin);
    const quant::FormatInfo* format = quant::find_format_by_name(name);
    if (format == nullptr || !format->supported) {
      fail(ErrorCode::kBadRequest,
           "option format: \"{}\" is no type that is computed with, expected names like Q4_0,Q8_0", printable(name));
    }
    types.push_back(format->type);
    begin = comma + 1;
  }
  return types;
}

// 1, 2, ... up to 8, then doubled, and at the end all of them.
std::vector<int> thread_counts(int most) {
  std::vector<int> counts;
  for (int n = 1; n < most; n = n < 8 ? n + 1 : n * 2) counts.push_back(n);
  counts.push_back(most);
  return counts;
}

Roofline measure(const FormatPlan& formats, int most_threads) {
  BandwidthProbe probe;
  ProgressLine progress("measuring", "products", 1);
  Roofline roofline;
  std::vector<std::unique_ptr<exec::Team>> teams;
  for (const int n : thread_counts(most_threads)) {
    stop_if_interrupted();
    exec::Team& team = *teams.emplace_back(std::make_unique<exec::Team>(n));
    roofline.machine.push_back({n, probe.measure(team), clock_ghz(team), int8_rates(team), fp32_rates(team)});
  }
  FormatPlan plan = formats;
  plan.teams.push_back(teams.front().get());
  if (teams.size() > 1) plan.teams.push_back(teams.back().get());
  roofline.formats = measure_formats(plan, probe, [&](size_t done, size_t total) {
    stop_if_interrupted();
    progress.update(done, total);
  });
  return roofline;
}

int run_roofline(RooflineOptions& options, Output& output) {
  int threads = 0;
  const FormatPlan plan = as_usage([&] {
    threads = static_cast<int>(parse_integer("threads", options.threads, {0, exec::Team::kMaxMembers}));
    return FormatPlan{chosen_types(options.formats), chosen_tables(options.isa), {}};
  });
  std::optional<OutputFile> csv;
  if (!options.csv.empty()) csv.emplace(options.csv);
  const Roofline roofline = measure(plan, threads == 0 ? usable_cpus() : threads);
  if (csv) {
    csv->write(roofline_csv(roofline));
    csv->commit();
  }
  stop_if_interrupted();  // what follows may wait for a reader
  if (options.json) {
    output.write_line(roofline_json(roofline));
  } else {
    output.write(roofline_chart(roofline));
  }
  return kExitDone;
}

}  // namespace

void add_roofline_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<RooflineOptions>();
  CLI::App& command =
      add_command(program, chosen, "roofline", "measures what this machine can do", options, run_roofline);
  command.add_option("-t,--threads", options->threads, "most threads; 0: one per usable CPU")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--isa", options->isa, "one kernel set, or all")->type_name("NAME")->capture_default_str();
  command.add_option("--format", options->formats, "weight formats, or all")
      ->type_name("TYPE,...")
      ->capture_default_str();
  command.add_option("--csv", options->csv, "writes the figures to a file too")->type_name("FILE");
  command.add_flag("--json", options->json, "one JSON object");
}

}  // namespace lockstep
