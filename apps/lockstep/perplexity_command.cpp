#include <fmt/format.h>

#include "base/error.h"
#include "commands.h"
#include "exit_status.h"
#include "interrupt.h"
#include "json_text.h"
#include "messages.h"
#include "model_options.h"
#include "number_text.h"
#include "progress_line.h"
#include "prompt_source.h"
#include "usage.h"
#include "verify/base_file.h"
#include "verify/perplexity.h"

namespace lockstep {
namespace {

using verify::PerplexityResult;
using verify::TextWindows;

constexpr std::string_view kExactMode = "exact";

struct PerplexityCommand {
  ModelOptions model;
  PromptSource text;
  std::string chunks = "0";
  std::string save_base;
  std::string against;
  bool json = false;
};

// A line with the value so far; asks now and then whether the user gave up.
class Progress {
 public:
  explicit Progress(int64_t n_windows) : n_windows_(n_windows) {}

  void report(const verify::PerplexityProgress& progress) {
    stop_if_interrupted();
    std::string text = fmt::format("window {} of {}", progress.n_windows + 1, n_windows_);
    if (progress.n_scored > 0) text += fmt::format(", perplexity {:.4f}", progress.perplexity);
    line_.show(text);
  }
  void clear() { line_.clear(); }

 private:
  int64_t n_windows_;
  ProgressLine line_;
};

// Where rows to compare with come from, and what must live while they do.
struct Base {
  std::unique_ptr<verify::BaseReader> reader;
  verify::BaseRows rows;
};

Base open_base(const PerplexityCommand& options, engine::Engine& engine, const TextWindows& windows) {
  if (options.against.empty()) return {};
  if (options.against == kExactMode)
    return {nullptr, verify::base_of_mode(engine, model::Compute::kExact, windows, stop_if_interrupted)};
  auto reader = std::make_unique<verify::BaseReader>(options.against, engine, windows);
  verify::BaseRows rows = [source = reader.get()](int64_t n) { return source->next(n); };
  return {std::move(reader), std::move(rows)};
}

Json result_json(const PerplexityResult& result, const TextWindows& windows, const engine::Engine& engine) {
  const model::Model& model = engine.model();
  Json json = {{"ppl", result.likelihood.perplexity()},
               {"ppl_se", result.likelihood.standard_error()},
               {"chunks", windows.count()},
               {"ctx", windows.size},
               {"tokens", result.likelihood.count()},
               {"compute", to_string(model.compute)},
               {"kv_type", cache_type_name(model)}};
  if (result.divergence.empty()) return json;
  const verify::Divergence divergence = result.divergence.result();
  json["kld"] = {{"mean", divergence.mean}, {"p99", divergence.p99}, {"max", divergence.max}};
  json["same_top"] = divergence.same_top;
  json["base_ppl"] = result.base_likelihood.perplexity();
  return json;
}

std::string result_text(const PerplexityResult& result, const TextWindows& windows, const std::string& against) {
  std::string text = fmt::format("perplexity {:.4f} +- {:.4f}: {} windows of {} tokens, {} of them scored\n",
                                 result.likelihood.perplexity(), result.likelihood.standard_error(), windows.count(),
                                 windows.size, result.likelihood.count());
  if (result.divergence.empty()) return text;
  const verify::Divergence divergence = result.divergence.result();
  text += fmt::format("against {}, perplexity {:.4f}:\n", printable(against, 200), result.base_likelihood.perplexity());
  text += fmt::format("  KL divergence {:.6f} in the mean, {:.6f} at 99 %, {:.6f} at most\n", divergence.mean,
                      divergence.p99, divergence.max);
  return text + fmt::format("  the same most probable token at {:.3f} % of the positions\n", 100 * divergence.same_top);
}

PerplexityResult measure(const PerplexityCommand& options, engine::Engine& engine, const TextWindows& windows) {
  Base base = open_base(options, engine, windows);
  std::optional<DeferSignals> until_complete;
  std::unique_ptr<verify::BaseWriter> writer;
  if (!options.save_base.empty()) {
    until_complete.emplace();  // an unfinished file may have a name
    writer = std::make_unique<verify::BaseWriter>(options.save_base, engine, windows);
  }
  Progress progress(windows.count());
  verify::PerplexityOptions how = {base.rows, nullptr,
                                   [&](const verify::PerplexityProgress& now) { progress.report(now); }};
  if (writer) how.keep = [&](std::span<const float> rows) { writer->write(rows); };
  PerplexityResult result = verify::measure_perplexity(engine, windows, how);
  if (writer) writer->commit();
  progress.clear();
  return result;
}

// 0 is the model's own, which is looked at when it is known.
void check_window_size(const ModelOptions& options) {
  const int64_t size = engine_options(options).ctx_size;
  if (size != 0 && size < TextWindows::kLeastSize) {
    fail(ErrorCode::kUsage, "option --ctx-size: {}, expected windows of {} tokens or more", size,
         TextWindows::kLeastSize);
  }
}

int run_perplexity(PerplexityCommand& options, Output& output) {
  settle_model_argument(options.model, options.text.positional);
  check_prompt_source(options.text);
  check_window_size(options.model);
  const int64_t most = as_usage([&] {
    return parse_integer("chunks", options.chunks, {-1, std::numeric_limits<int64_t>::max()});
  });
  const RawPrompt text = read_prompt(options.text);
  const LoadedModel loaded = load_model(options.model);
  const TextWindows windows =
      verify::cut_windows(loaded.engine->tokenizer(), text.text, loaded.engine->ctx_size(), most);
  const PerplexityResult result = measure(options, *loaded.engine, windows);
  stop_if_interrupted();  // what follows may wait for a reader
  if (options.json) {
    output.write_line(result_json(result, windows, *loaded.engine));
  } else {
    output.write(result_text(result, windows, options.against));
  }
  print_warnings(loaded.engine->tokenizer());
  return kExitDone;
}

}  // namespace

void add_perplexity_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<PerplexityCommand>();
  options->model.ctx_size = "512";
  CLI::App& command =
      add_command(program, chosen, "perplexity", "measures how well a model predicts a text", options, run_perplexity);
  add_model_argument(command, options->model);
  add_prompt_options(command, options->text, "TEXT", {});
  command.add_option("--chunks", options->chunks, "score the first N windows of -c tokens; 0: all of the text")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--save-base", options->save_base, "keep the logits of the scored positions, for --against")
      ->type_name("FILE");
  command
      .add_option("--against", options->against,
                  "the divergence from a saved base, or from the same model with --compute exact")
      ->type_name("FILE|exact");
  command.add_flag("--json", options->json, "one JSON object");
  add_compute_options(command, options->model);
}

}  // namespace lockstep
