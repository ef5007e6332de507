#include <fmt/format.h>

#include <random>

#include "answer.h"
#include "base/error.h"
#include "commands.h"
#include "exit_status.h"
#include "generation_flags.h"
#include "interrupt.h"
#include "messages.h"
#include "model_options.h"
#include "progress_line.h"
#include "prompt_source.h"
#include "receipt.h"
#include "request.h"
#include "text_output.h"
#include "tokenizer/stream_decoder.h"

namespace lockstep {
namespace {

using engine::Generated;
using engine::Session;
using tokenizer::TokenId;

struct CompleteOptions {
  ModelOptions model;
  PromptSource prompt;
  GenerationFlags generation;
  bool json = false;
};

uint64_t random_seed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

// A loaded model that serves one request after another on one session: what they share of their prompts is computed
// once, and the bits are those of a run alone.
class Completer {
 public:
  explicit Completer(const ModelOptions& options) : loaded_(load_model(options)), session_(*loaded_.engine) {
    session_.set_progress([this](int64_t done, int64_t total) {
      stop_if_interrupted();
      progress_.update(static_cast<uint64_t>(done), static_cast<uint64_t>(total));
    });
  }

  [[nodiscard]] const tokenizer::Tokenizer& tokenizer() const { return loaded_.engine->tokenizer(); }

  Generated generate(std::span<const TokenId> prompt, const engine::GenerateOptions& options,
                     const engine::OnToken& show = {}) {
    if (options.logprobs > loaded_.engine->n_vocab()) {
      fail(ErrorCode::kBadRequest,
           "option logprobs: {} is out of range, expected 0 to {}, the tokens of the vocabulary", options.logprobs,
           loaded_.engine->n_vocab());
    }
    progress_.clear();
    return engine::generate(session_, *loaded_.engine, prompt, options, [&](TokenId id) {
      progress_.clear();
      return (!show || show(id)) && !interrupted();
    });
  }

  Json answer(const Request& request) {
    const engine::GenerateOptions options = with_seed(request.settings);
    const Generated generated = generate(request.prompt, options);
    Json result = answer_json(generated, request.prompt, tokenizer(), loaded_.load_ms);
    if (model_receipt_.is_null()) model_receipt_ = model_receipt(loaded_.path, *loaded_.engine);
    result["receipt"] = request_receipt(model_receipt_, options);
    return result;
  }

  static engine::GenerateOptions with_seed(const GenerationSettings& settings) {
    engine::GenerateOptions options = settings.generate;
    options.sampling.seed = settings.seed ? *settings.seed : random_seed();
    return options;
  }

 private:
  LoadedModel loaded_;
  Session session_;
  ProgressLine progress_{"prompt:", "tokens", 1};
  Json model_receipt_;
};

int exit_status() {
  return interrupted() ? kExitInterrupted : kExitDone;
}

// The text as it comes, and a line of statistics.
int stream(Completer& completer, const Request& request, Output& output) {
  TextOutput text(output);
  tokenizer::StreamDecoder decoder(completer.tokenizer(), {.continues = true});
  const auto show = [&](TokenId id) {
    if (!completer.tokenizer().is_end_of_generation(id)) text.write(decoder.push(id));
    return true;
  };
  const Generated generated = completer.generate(request.prompt, Completer::with_seed(request.settings), show);
  text.write(decoder.flush());
  text.end();
  if (output.inside_line()) print_line_end();
  print_warnings(completer.tokenizer());
  print_note(statistics_line(generated, request.prompt.size()));
  return exit_status();
}

void check(const CompleteOptions& options, const GenerationSettings& settings) {
  check_prompt_source(options.prompt);
  if (settings.generate.logprobs >= 0 && !options.json && !options.prompt.from_stdin_jsonl) {
    fail(ErrorCode::kUsage, "--logprobs needs --json or --stdin-jsonl");
  }
}

int run_complete(CompleteOptions& options, Output& output) {
  settle_model_argument(options.model, options.prompt.positional);
  const GenerationSettings settings = generation_settings(options.generation);
  check(options, settings);
  const RawPrompt prompt = read_prompt(options.prompt);
  Completer completer(options.model);
  if (options.prompt.from_stdin_jsonl) {
    const int status = serve_lines(output, [&](std::string_view line) {
      return completer.answer(parse_request(line, settings, completer.tokenizer()));
    });
    if (status == kExitDone) print_warnings(completer.tokenizer());
    return status;
  }
  const Request request = {encode_prompt(prompt, completer.tokenizer()), settings};
  if (!options.json) return stream(completer, request, output);
  output.write_line(completer.answer(request));
  print_warnings(completer.tokenizer());
  return exit_status();
}

}  // namespace

void add_complete_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<CompleteOptions>();
  CLI::App& command = add_command(program, chosen, "complete", "continues a text", options, run_complete);
  add_model_argument(command, options->model);
  add_prompt_options(command, options->prompt, "PROMPT", {.ids = true, .jsonl = true});
  command.add_flag("--json", options->json, "one JSON object with ids, text, timings and receipt");
  add_compute_options(command, options->model);
  add_generation_flags(command, options->generation);
}

}  // namespace lockstep
