#include "bench_options.h"

#include <algorithm>

#include "base/error.h"
#include "engine/engine.h"
#include "number_text.h"
#include "usage.h"

namespace lockstep {
namespace {

constexpr int64_t kMostTokens = int64_t{1} << 30;
constexpr int64_t kMostSequences = 1024;
constexpr int64_t kMostRuns = 10000;

// "1,2,3", each once, in the order given.
std::vector<int64_t> parse_list(std::string_view option, std::string_view text, IntegerRange range) {
  std::vector<int64_t> values;
  while (true) {
    const size_t comma = std::min(text.find(','), text.size());
    const int64_t value = parse_integer(option, text.substr(0, comma), range);
    if (std::ranges::find(values, value) == values.end()) values.push_back(value);
    if (comma == text.size()) return values;
    text.remove_prefix(comma + 1);
  }
}

std::vector<int64_t> parse_sizes(std::string_view option, std::string_view text) {
  std::vector<int64_t> sizes = parse_list(option, text, {0, kMostTokens});
  std::erase(sizes, 0);
  return sizes;
}

ReportFormat parse_format(const BenchFlags& flags) {
  if (flags.json || flags.format == "json") return ReportFormat::kJson;
  if (flags.format == "csv") return ReportFormat::kCsv;
  if (flags.format == "md") return ReportFormat::kMarkdown;
  fail(ErrorCode::kBadRequest, "option output: unknown form \"{}\", expected md, csv or json", printable(flags.format));
}

BenchPlan parse(const BenchFlags& flags) {
  BenchPlan plan;
  plan.prompt_sizes = parse_sizes("n-prompt", flags.prompt_sizes);
  plan.decode_sizes = parse_sizes("n-gen", flags.decode_sizes);
  plan.depths = parse_list("n-depth", flags.depths, {0, kMostTokens});
  std::ranges::sort(plan.depths);
  plan.batches = parse_list("batch", flags.batches, {1, kMostSequences});
  plan.threads = parse_list("threads", flags.model.threads, {0, exec::Team::kMaxMembers});
  plan.runs = static_cast<int>(parse_integer("repetitions", flags.runs, {1, kMostRuns}));
  plan.format = parse_format(flags);
  return plan;
}

CLI::Option* add(CLI::App& command, const std::string& names, std::string& slot, const std::string& value,
                 const std::string& help) {
  return command.add_option(names, slot, help)
      ->type_name(value)
      ->capture_default_str()
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

}  // namespace

void add_bench_flags(CLI::App& command, BenchFlags& flags) {
  add_model_argument(command, flags.model);
  add(command, "-p,--n-prompt", flags.prompt_sizes, "N,...", "prefill tests of N tokens; 0: none");
  add(command, "-n,--n-gen", flags.decode_sizes, "N,...", "decode tests of N steps; 0: none");
  add(command, "-d,--n-depth", flags.depths, "N,...", "tokens in the cache before a test");
  add(command, "--batch", flags.batches, "N,...", "sequences decoded together");
  add(command, "-r,--repetitions", flags.runs, "N", "runs of each test");
  add(command, "-o,--output", flags.format, "FORM", "md, csv or json");
  command.add_flag("--json", flags.json, "the same as -o json");
  add_compute_options(command, flags.model);
  command.get_option("--threads")->type_name("N,...")->description("threads; 0: one per usable CPU");
}

int64_t BenchPlan::largest_batch() const {
  return decode_sizes.empty() ? 1 : *std::ranges::max_element(batches);
}

BenchPlan bench_plan(const BenchFlags& flags) {
  return as_usage([&] {
    BenchPlan plan = parse(flags);
    if (plan.prompt_sizes.empty() && plan.decode_sizes.empty()) {
      fail(ErrorCode::kBadRequest, "option n-prompt: both it and --n-gen are 0, so there is nothing to measure");
    }
    return plan;
  });
}

void check_fits(const BenchPlan& plan, int64_t ctx_size, int64_t most_sequences) {
  for (const std::vector<int64_t>& sizes : {plan.prompt_sizes, plan.decode_sizes}) {
    if (sizes.empty()) continue;
    const int64_t longest = *std::ranges::max_element(sizes);
    if (longest + plan.depths.back() > ctx_size) {
      fail(ErrorCode::kBadRequest, "a test of {} tokens at depth {} does not fit the context of {}", longest,
           plan.depths.back(), ctx_size);
    }
  }
  if (plan.largest_batch() > most_sequences) {
    fail(ErrorCode::kBadRequest,
         "option batch: {} sequences, expected at most {}: the rows of a forward pass that may want logits",
         plan.largest_batch(), most_sequences);
  }
}

}  // namespace lockstep
