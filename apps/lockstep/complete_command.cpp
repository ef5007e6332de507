#include <fmt/format.h>

#include <deque>
#include <memory>
#include <new>
#include <variant>

#include "answer.h"
#include "answer_watcher.h"
#include "answer_writer.h"
#include "base/error.h"
#include "commands.h"
#include "engine/scheduler.h"
#include "exit_status.h"
#include "generation_flags.h"
#include "input_lines.h"
#include "interrupt.h"
#include "messages.h"
#include "model_options.h"
#include "progress_line.h"
#include "prompt_progress.h"
#include "prompt_source.h"
#include "request.h"
#include "served_options.h"
#include "text_output.h"
#include "usage.h"

namespace lockstep {
namespace {

using engine::Generated;
using engine::Session;
using tokenizer::TokenId;

// The logits of one forward pass are kept for at most this many requests.
constexpr int64_t kMostParallel = 64;

// Answers that wait for one before them.
constexpr size_t kMostUnwritten = 1024;

struct CompleteOptions {
  ModelOptions model;
  PromptSource prompt;
  GenerationFlags generation;
  bool json = false;
  std::string parallel = "1";
};

// Answers one request.
class Completer {
 public:
  explicit Completer(const LoadedModel& loaded) : loaded_(loaded), session_(*loaded_.engine) {
    session_.set_progress(prompt_progress(progress_));
  }

  [[nodiscard]] const tokenizer::Tokenizer& tokenizer() const { return loaded_.engine->tokenizer(); }

  Generated generate(std::span<const TokenId> prompt, const engine::GenerateOptions& options,
                     const AnswerWatcher::Show& show = {}) {
    progress_.clear();
    AnswerWatcher watcher(tokenizer(), options.stop, show);
    Generated generated = engine::generate(session_, *loaded_.engine, prompt, options, [&](TokenId id) {
      progress_.clear();
      return watcher.next(id);
    });
    watcher.finish();
    return generated;
  }

 private:
  const LoadedModel& loaded_;
  Session session_;
  ProgressLine progress_{"prompt:", "tokens", 1};
};

// Answers a request a line, up to `parallel` of them together in each forward pass, in the order of the lines. The bits
// are those of a run alone; what requests share of their prompts with what a slot has computed is not computed again.
class LineServer {
 public:
  LineServer(const LoadedModel& loaded, const GenerationSettings& defaults, int64_t parallel, Output& output)
      : loaded_(loaded),
        defaults_(defaults),
        parallel_(parallel),
        output_(output),
        writer_(loaded),
        scheduler_(*loaded.engine, parallel) {}

  int serve() {
    while (take_lines()) step();
    return status_;
  }

 private:
  // As many as there is room for, in the passes and for answers that wait for those before them. Lines are waited for
  // only when nothing is in the making: who waits for an answer may send the next line only then. False when there is
  // nothing to do any more.
  bool take_lines() {
    while (n_running_ == 0 || (n_running_ < parallel_ && answers_.size() < kMostUnwritten && lines_.ready())) {
      std::string_view line;
      if (interrupted() || !lines_.next(line)) break;
      if (!is_blank(line)) submit(line);
    }
    return n_running_ > 0;
  }

  void step() {
    stop_if_interrupted();
    const DeferSignals until_written;
    scheduler_.step();
    for (; !answers_.empty() && !answers_.front().is_null(); answers_.pop_front()) output_.write_line(answers_.front());
  }

  // A request takes its place in the order of answers now; its answer comes later, or, when it is not well formed, at
  // once.
  void submit(std::string_view line) {
    Json& slot = answers_.emplace_back();
    try {
      const Request request = parse_request(line, defaults_, loaded_.engine->tokenizer(), loaded_.engine->ctx_size());
      const engine::GenerateOptions options = served_options(request.settings, *loaded_.engine);
      const auto watcher = std::make_shared<AnswerWatcher>(loaded_.engine->tokenizer(), options.stop);
      scheduler_.submit({request.prompt, options, [watcher](TokenId id) { return watcher->next(id); },
                         [this, &slot, request, options](const std::variant<Generated, Error>& result) {
                           --n_running_;
                           slot = answer(result, request.prompt, options);
                         }});
      ++n_running_;
    } catch (const Error& error) {
      slot = failure(error);
    } catch (const std::bad_alloc&) {
      slot = failure(out_of_memory());
    }
    if (n_running_ == 0) step();
  }

  Json answer(const std::variant<Generated, Error>& result, std::span<const TokenId> prompt,
              const engine::GenerateOptions& options) {
    if (const Error* error = std::get_if<Error>(&result)) return failure(*error);
    try {
      return writer_.answer(std::get<Generated>(result), prompt, options);
    } catch (const std::bad_alloc&) {
      return failure(out_of_memory());
    }
  }

  static Error out_of_memory() { return {ErrorCode::kNoMemory, "not enough memory for this request"}; }

  Json failure(const Error& error) {
    status_ = kExitFailed;
    return error_json(to_string(error.code()), error.what());
  }

  const LoadedModel& loaded_;
  const GenerationSettings& defaults_;
  int64_t parallel_;
  Output& output_;
  AnswerWriter writer_;
  engine::Scheduler scheduler_;
  InputLines lines_;
  std::deque<Json>
      answers_;  // of lines whose turn has not come yet; null while in the making. References stay valid at both ends.
  int64_t n_running_ = 0;
  int status_ = kExitDone;
};

// The text as it comes, and a line of statistics.
int stream(Completer& completer, const Request& request, const engine::GenerateOptions& options, Output& output) {
  TextOutput text(output);
  const Generated generated =
      completer.generate(request.prompt, options, [&](std::string_view part) { text.write(part); });
  text.end();
  if (output.inside_line()) print_line_end();
  print_warnings(completer.tokenizer());
  print_note(statistics_line(generated, request.prompt.size()));
  return kExitDone;
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
  const int64_t parallel = as_usage([&] { return parse_integer("parallel", options.parallel, {1, kMostParallel}); });
  if (parallel > 1 && !options.prompt.from_stdin_jsonl) fail(ErrorCode::kUsage, "--parallel needs --stdin-jsonl");
  const RawPrompt prompt = read_prompt(options.prompt);
  const LoadedModel loaded = load_model(options.model);
  const tokenizer::Tokenizer& tokenizer = loaded.engine->tokenizer();
  if (options.prompt.from_stdin_jsonl) {
    const int status = LineServer(loaded, settings, parallel, output).serve();
    if (status == kExitDone) print_warnings(tokenizer);
    return status;
  }
  const Request request = {encode_prompt(prompt, tokenizer, loaded.engine->ctx_size()), settings};
  const DeferSignals until_answered;
  Completer completer(loaded);
  const engine::GenerateOptions generate = served_options(settings, *loaded.engine);
  if (!options.json) return stream(completer, request, generate, output);
  const Generated generated = completer.generate(request.prompt, generate);
  output.write_line(AnswerWriter(loaded).answer(generated, request.prompt, generate));
  print_warnings(tokenizer);
  return kExitDone;
}

}  // namespace

void add_complete_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<CompleteOptions>();
  CLI::App& command = add_command(program, chosen, "complete", "continues a text", options, run_complete);
  add_model_argument(command, options->model);
  add_prompt_options(command, options->prompt, "PROMPT", {.ids = true, .jsonl = true});
  command.add_flag("--json", options->json, "one JSON object with ids, text, timings and receipt");
  command
      .add_option("--parallel", options->parallel,
                  "with --stdin-jsonl: most requests that travel through the model together")
      ->type_name("N")
      ->capture_default_str();
  add_compute_options(command, options->model);
  add_generation_flags(command, options->generation);
}

}  // namespace lockstep
