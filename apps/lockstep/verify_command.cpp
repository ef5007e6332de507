#include <fmt/format.h>

#include "base/error.h"
#include "commands.h"
#include "engine/session.h"
#include "exit_status.h"
#include "messages.h"
#include "model_options.h"
#include "number_text.h"
#include "prompt_progress.h"
#include "prompt_source.h"
#include "usage.h"
#include "verify/compare.h"
#include "verify_report.h"
#include "verify_self.h"

namespace lockstep {
namespace {

struct VerifyOptions {
  ModelOptions model;
  PromptSource prompt;
  CLI::Option* compute = nullptr;
  CLI::Option* kv_type = nullptr;
  std::string against;
  std::string tolerance;
  bool self = false;
  bool quick = false;
  bool full = false;
  bool json = false;
};

// ---- against a file ----

// The prompt: the one given, else the ids of the trace. A log has none.
std::optional<RawPrompt> given_prompt(const VerifyOptions& options) {
  if (!has_prompt_source(options.prompt)) return std::nullopt;
  check_prompt_source(options.prompt);
  return read_prompt(options.prompt);
}

RawPrompt choose_prompt(const std::optional<RawPrompt>& given, const verify::Reference& reference) {
  if (given) return *given;
  if (!reference.ids) fail(ErrorCode::kUsage, "a log does not say which tokens it is of: give -p TEXT or --ids");
  return {reference.ids, ""};
}

// The reference's way of computing, unless the command line says another.
void take_over_settings(VerifyOptions& options, const verify::Reference& reference) {
  if (options.compute->count() == 0 && !reference.compute.empty()) options.model.compute = reference.compute;
  if (options.kv_type->count() == 0 && !reference.kv_type.empty()) options.model.kv_type = reference.kv_type;
}

double default_tolerance(model::Compute compute) {
  return compute == model::Compute::kExact ? 2e-5 : 0.05;
}

std::optional<double> given_tolerance(const VerifyOptions& options) {
  if (options.tolerance.empty()) return std::nullopt;
  return as_usage([&] {
    const auto value = static_cast<double>(parse_float("tolerance", options.tolerance));
    if (!(value >= 0)) fail(ErrorCode::kBadRequest, "option tolerance: {}, expected 0 or more", value);
    return value;
  });
}

// A log of other tokens has other shapes everywhere; a trace knows its own tokens.
void check_token_count(const std::vector<tokenizer::TokenId>& ids, const verify::Reference& reference) {
  const int64_t wanted = reference.ids ? std::ssize(*reference.ids) : reference.n_tokens();
  if (wanted == 0 || wanted == static_cast<int64_t>(ids.size())) return;
  fail(ErrorCode::kBadRequest, "{} tokens are given, but the reference is of {}", ids.size(), wanted);
}

verify::Report compare(const LoadedModel& loaded, const std::vector<tokenizer::TokenId>& ids,
                       const verify::Reference& reference, double tolerance) {
  verify::Comparison comparison(reference, tolerance);
  engine::Session session(*loaded.engine);
  ProgressLine progress("prompt:", "tokens", 1);
  session.set_progress(prompt_progress(progress));
  loaded.engine->set_observer(&comparison);
  session.sync(ids);
  loaded.engine->set_observer(nullptr);
  progress.clear();
  return comparison.finish();
}

int verify_against(VerifyOptions& options, Output& output) {
  const std::optional<double> tolerance = given_tolerance(options);
  const std::optional<RawPrompt> given = given_prompt(options);
  const verify::Reference reference = verify::read_reference(options.against);
  const RawPrompt prompt = choose_prompt(given, reference);
  take_over_settings(options, reference);
  const LoadedModel loaded = load_model(options.model);
  const std::vector<tokenizer::TokenId> ids =
      encode_prompt(prompt, loaded.engine->tokenizer(), loaded.engine->ctx_size());
  check_token_count(ids, reference);
  const model::Compute mode = loaded.engine->model().compute;
  const verify::Report report = compare(loaded, ids, reference, tolerance.value_or(default_tolerance(mode)));
  if (options.json) {
    output.write_line(verify_json(report));
  } else {
    output.write(verify_text(report));
  }
  print_warnings(loaded.engine->tokenizer());
  return report.passed() ? kExitDone : kExitFailed;
}

int run_verify(VerifyOptions& options, Output& output) {
  settle_model_argument(options.model, options.prompt.positional);
  if (options.self && !options.against.empty())
    fail(ErrorCode::kUsage, "--self and --against are both given, expected one of them");
  if (!options.self && options.against.empty()) fail(ErrorCode::kUsage, "verify needs --against FILE or --self");
  if (!options.self) return verify_against(options, output);
  if (has_prompt_source(options.prompt)) fail(ErrorCode::kUsage, "verify --self has a text of its own");
  if (options.compute->count() == 0) options.model.compute = "fast";
  if (options.kv_type->count() == 0) options.model.kv_type = "f16";
  return run_verify_self(options.model, {options.full, options.json}, output);
}

}  // namespace

void add_verify_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<VerifyOptions>();
  options->model.compute = "exact";
  options->model.kv_type = "f32";
  CLI::App& command = add_command(
      program, chosen, "verify",
      "proves the numbers: against what another engine computed, or every way to compute them", options, run_verify);
  add_model_argument(command, options->model);
  command
      .add_option("--against", options->against,
                  "a trace (lockstep trace), or the text that llama.cpp's llama-eval-callback prints")
      ->type_name("FILE");
  CLI::Option* self = command.add_flag(
      "--self", options->self,
      "the same logits from every kernel set, number of threads, cut of the prompt, neighbour and reused prefix");
  CLI::Option* quick = command.add_flag("--quick", options->quick, "with --self: a few of each (default)")->needs(self);
  command.add_flag("--full", options->full, "with --self: all of them, for minutes")->needs(self)->excludes(quick);
  add_prompt_options(command, options->prompt, "TEXT", {.ids = true});
  command
      .add_option("--tolerance", options->tolerance,
                  "largest relative difference; default 2e-5, with --compute fast 0.05")
      ->type_name("REL");
  command.add_flag("--json", options->json, "one JSON object instead of a table");
  add_compute_options(command, options->model);
  options->compute = command.get_option("--compute");
  options->kv_type = command.get_option("--kv-type");
}

}  // namespace lockstep
