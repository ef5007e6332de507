#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>

#include "base/error.h"
#include "commands.h"
#include "engine/session.h"
#include "exit_status.h"
#include "json_text.h"
#include "messages.h"
#include "model_options.h"
#include "name_list.h"
#include "number_text.h"
#include "output_file.h"
#include "prompt_progress.h"
#include "prompt_source.h"
#include "tokenizer/search_pattern.h"
#include "usage.h"
#include "verify/trace.h"

namespace lockstep {
namespace {

struct TraceOptions {
  ModelOptions model;
  PromptSource prompt;
  std::string logits_file;
  std::vector<std::string> tensors;  // NAME=FILE
  std::string filter;
  std::string layer;
};

// The tensors that --filter and --layer leave, and what there was to choose from.
class Selection {
 public:
  // Error kUsage for values that can be none.
  explicit Selection(const TraceOptions& options)
      : filter_(options.filter),
        layer_(as_usage([&] { return parse_layer(options.layer); })),
        pattern_(as_usage([&] { return tokenizer::SearchPattern(options.filter); })) {}

  // Error kBadRequest for a layer that the model does not have.
  void check_layer(int64_t n_layers) const {
    if (layer_ < n_layers) return;
    fail(ErrorCode::kBadRequest, "option layer: {}, expected one of the model's, 0 to {}", layer_, n_layers - 1);
  }

  bool takes(const model::TensorView& tensor) {
    if (layer_ >= 0 && tensor.layer != layer_) return false;
    const bool found = pattern_.found_in(tensor.name);
    if (!found) others_.emplace(kind(tensor));
    return found;
  }

  // Error kNotFound for a filter that has left nothing.
  void check_found(const verify::Trace& trace) const {
    if (!trace.records().empty() || filter_.empty()) return;
    fail(ErrorCode::kNotFound, "option filter: \"{}\" is in the name of no tensor{}; there are {}", printable(filter_),
         layer_ < 0 ? "" : fmt::format(" of layer {}", layer_), listed_names({others_.begin(), others_.end()}));
  }

 private:
  static int64_t parse_layer(const std::string& text) {
    return text.empty() ? -1 : parse_integer("layer", text, {.lowest = 0});
  }

  // Its name without the layer.
  static std::string_view kind(const model::TensorView& tensor) {
    const std::string_view name = tensor.name;
    return tensor.layer < 0 ? name : name.substr(0, name.rfind('-'));
  }

  std::string filter_;
  int64_t layer_;  // -1: of all
  tokenizer::SearchPattern pattern_;
  std::set<std::string, std::less<>> others_;
};

Json header(const ModelOptions& options, const RawPrompt& prompt, std::span<const tokenizer::TokenId> ids,
            const tokenizer::Tokenizer& tokenizer) {
  Json line = Json::object();
  set_text(line, "prompt", prompt.ids ? tokenizer.decode(ids, {}) : prompt.text);
  line["ids"] = ids;
  line["kv"] = options.kv_type;
  line["compute"] = options.compute;
  return line;
}

void compute(engine::Engine& engine, std::span<const tokenizer::TokenId> ids, OutputFile* logits_file) {
  engine::Session session(engine);
  ProgressLine progress("prompt:", "tokens", 1);
  session.set_progress(prompt_progress(progress));
  if (logits_file == nullptr) {
    session.sync(ids);
  } else {
    session.sync_all(ids, [&](int64_t, std::span<const float> logits) { logits_file->write(logits); });
  }
  progress.clear();
}

void keep_tensors(const std::vector<std::string>& wanted, verify::Trace& trace, std::deque<OutputFile>& files) {
  for (const std::string& text : wanted) {
    const size_t equals = text.find('=');
    if (equals == text.npos || equals == 0 || equals + 1 == text.size())
      fail(ErrorCode::kUsage, "option --tensor: \"{}\", expected NAME=FILE", printable(text));
    OutputFile& file = files.emplace_back(text.substr(equals + 1));
    trace.keep(text.substr(0, equals), [&file](std::span<const float> data) { file.write(data); });
  }
}

void refuse_one_file_twice(const std::deque<OutputFile>& files) {
  for (auto file = files.begin(); file != files.end(); ++file) {
    if (std::any_of(files.begin(), file, [&](const OutputFile& earlier) { return file->has_place_of(earlier); })) {
      fail(ErrorCode::kUsage, "{}: to be written twice by --logits or --tensor, expected a file for each",
           printable(file->path(), 200));
    }
  }
}

int run_trace(TraceOptions& options, Output& output) {
  settle_model_argument(options.model, options.prompt.positional);
  check_prompt_source(options.prompt);
  Selection selection(options);
  verify::Trace trace([&](const model::TensorView& tensor) { return selection.takes(tensor); });
  const RawPrompt prompt = read_prompt(options.prompt);
  std::deque<OutputFile> files;
  keep_tensors(options.tensors, trace, files);
  OutputFile* const logits_file = options.logits_file.empty() ? nullptr : &files.emplace_back(options.logits_file);
  refuse_one_file_twice(files);
  LoadedModel loaded = load_model(options.model);
  selection.check_layer(loaded.engine->model().config.n_layers);
  const tokenizer::Tokenizer& tokenizer = loaded.engine->tokenizer();
  const std::vector<tokenizer::TokenId> ids = encode_prompt(prompt, tokenizer, loaded.engine->ctx_size());
  const auto write = [&] {
    output.write_line(header(options.model, prompt, ids, tokenizer));
    for (const verify::TraceRecord& record : trace.records()) output.write_line(verify::to_json(record));
  };
  loaded.engine->set_observer(&trace);
  try {
    compute(*loaded.engine, ids, logits_file);
  } catch (const Error& error) {
    // Where a value stopped being finite, the tensors before it and after are what one wants to see.
    if (error.code() == ErrorCode::kNotFinite) write();
    throw;
  }
  trace.finish();
  if (files.empty()) selection.check_found(trace);  // else the files are what was wanted
  for (OutputFile& file : files) file.commit();
  stop_if_interrupted();  // what follows may wait for a reader
  write();
  print_warnings(tokenizer);
  if (!options.logits_file.empty()) {
    print_note(fmt::format("logits of {} tokens, {} each, written to {}", ids.size(), loaded.engine->n_vocab(),
                           printable(options.logits_file, 200)));
  }
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
  command.add_option("--tensor", options->tensors, "one tensor, raw 32-bit floats; may be given several times")
      ->type_name("NAME=FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--filter", options->filter, "only tensors in whose name this expression is found")
      ->type_name("REGEX");
  command.add_option("--layer", options->layer, "only tensors of this layer, counted from 0")->type_name("N");
  add_compute_options(command, options->model);
}

}  // namespace lockstep
