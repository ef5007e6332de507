#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "base/utf8.h"
#include "commands.h"
#include "exit_status.h"
#include "info.h"
#include "json_text.h"
#include "model_options.h"
#include "ollama_store.h"
#include "terminal.h"

namespace lockstep {
namespace {

using tokenizer::Tokenizer;

// What is shown to people; JSON has the whole.
constexpr size_t kMostPieceBytes = 60;
constexpr size_t kMostManifestBytes = 1000;

struct InfoOptions {
  ModelOptions model;
  bool json = false;
  bool full = false;
};

// The file's vocabulary; nothing where it is of a kind that lockstep does not know: the rest can still be shown.
std::optional<Tokenizer> tokenizer_of(const gguf::ModelFile& model) {
  try {
    return Tokenizer::load(model.metadata());
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<OllamaModel> store_entry(const ModelOptions& options) {
  const std::string& name = *options.positional;
  if (!name.starts_with(kOllamaPrefix)) return std::nullopt;
  return find_ollama_model(name.substr(kOllamaPrefix.size()), ollama_store());
}

Json end_tokens_json(const Tokenizer& tokenizer) {
  Json tokens = Json::array();
  for (const auto id : tokenizer.end_of_generation())
    tokens.push_back({{"id", id}, {"text", utf8_sanitize(tokenizer.piece(id))}});
  return tokens;
}

Json text_or_null(const std::optional<std::string>& text) {
  return text ? Json(utf8_sanitize(*text)) : Json();
}

Json json_of(const gguf::ModelFile& model, const InfoOptions& options) {
  Json result = info_json(model, options.full);
  const std::optional<Tokenizer> tokenizer = tokenizer_of(model);
  result["end_of_generation"] = tokenizer ? end_tokens_json(*tokenizer) : Json();
  if (const auto entry = store_entry(options.model)) {
    result["ollama"] = {{"template", text_or_null(entry->chat_template)},
                        {"parameters", text_or_null(entry->parameters)}};
  }
  return result;
}

std::string text_of(const gguf::ModelFile& model, const ModelOptions& options) {
  std::string text;
  if (const std::optional<Tokenizer> tokenizer = tokenizer_of(model)) {
    text += "\nTokens that end an answer\n";
    for (const auto id : tokenizer->end_of_generation())
      text += fmt::format("  {:8}  {}\n", id, escaped_piece(tokenizer->piece(id), kMostPieceBytes));
  }
  if (const auto entry = store_entry(options)) {
    text += "\nOf the Ollama manifest (not used: the template in the model file is)\n";
    text += fmt::format("  template    {}\n", escaped_piece(entry->chat_template.value_or("none"), kMostManifestBytes));
    text += fmt::format("  parameters  {}\n", escaped_piece(entry->parameters.value_or("none"), kMostManifestBytes));
  }
  return info_text(model, text);
}

int run_info(InfoOptions& options, Output& output) {
  settle_model_argument(options.model);
  if (options.full && !options.json) fail(ErrorCode::kUsage, "--full needs --json");
  const gguf::ModelFile model = gguf::ModelFile::open(model_path(options.model));
  if (options.json) {
    output.write_line(json_of(model, options));
  } else {
    output.write(text_of(model, options.model));
  }
  return kExitDone;
}

}  // namespace

void add_info_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<InfoOptions>();
  CLI::App& command = add_command(program, chosen, "info", "shows what a model file holds", options, run_info);
  add_model_argument(command, options->model);
  command.add_flag("--json", options->json, "one JSON object");
  command.add_flag("--full", options->full, "with --json: arrays of any length");
}

}  // namespace lockstep
