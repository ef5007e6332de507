#include <fmt/format.h>

#include "base/error.h"
#include "commands.h"
#include "engine/session.h"
#include "exit_status.h"
#include "interrupt.h"
#include "logits_file.h"
#include "messages.h"
#include "model_options.h"
#include "progress_line.h"
#include "prompt_source.h"

namespace lockstep {
namespace {

struct TraceOptions {
  ModelOptions model;
  PromptSource prompt;
  std::string logits_file;
};

int run_trace(TraceOptions& options, Output&) {
  settle_model_argument(options.model, options.prompt.positional);
  check_prompt_source(options.prompt);
  if (options.logits_file.empty()) fail(ErrorCode::kUsage, "trace needs --logits FILE");
  const RawPrompt prompt = read_prompt(options.prompt);
  LoadedModel loaded = load_model(options.model);
  const std::vector<tokenizer::TokenId> ids = encode_prompt(prompt, loaded.engine->tokenizer());
  engine::Session session(*loaded.engine);
  ProgressLine progress("prompt:", "tokens", 1);
  session.set_progress([&](int64_t done, int64_t total) {
    stop_if_interrupted();
    progress.update(static_cast<uint64_t>(done), static_cast<uint64_t>(total));
  });
  LogitsFile file(options.logits_file);
  session.sync_all(ids, [&](int64_t, std::span<const float> logits) { file.write(logits); });
  file.close();
  progress.clear();
  print_warnings(loaded.engine->tokenizer());
  print_note(fmt::format("logits of {} tokens, {} each, written to {}", ids.size(), loaded.engine->n_vocab(),
                         printable(options.logits_file, 200)));
  return kExitDone;
}

}  // namespace

void add_trace_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<TraceOptions>();
  options->model.compute = "exact";
  options->model.kv_type = "f32";
  CLI::App& command = add_command(program, chosen, "trace", "writes down what the model computes", options, run_trace);
  add_model_argument(command, options->model);
  add_prompt_options(command, options->prompt, "TEXT", {.ids = true});
  command
      .add_option("--logits", options->logits_file,
                  "the logits of every position: raw little-endian 32-bit floats, [n_tokens, n_vocab]")
      ->type_name("FILE");
  add_compute_options(command, options->model);
}

}  // namespace lockstep
