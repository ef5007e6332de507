#include <fmt/format.h>

#include "base/error.h"
#include "base/utf8.h"
#include "commands.h"
#include "exit_status.h"
#include "json_text.h"
#include "model_options.h"
#include "prompt_source.h"
#include "request.h"
#include "terminal.h"

namespace lockstep {
namespace {

using tokenizer::TokenId;
using tokenizer::Tokenizer;

struct TokenizeOptions {
  ModelOptions model;
  PromptSource prompt;
  bool json = false;
  bool no_special = false;
};

// Pieces as texts; when one of them is not UTF-8, all of them as bytes too.
Json pieces_json(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  Json result = {{"ids", ids}, {"pieces", Json::array()}};
  bool all_valid = true;
  Json bytes = Json::array();
  for (const TokenId id : ids) {
    const std::string_view piece = tokenizer.piece(id);
    all_valid = all_valid && utf8_is_valid(piece);
    result["pieces"].push_back(utf8_sanitize(piece));
    bytes.push_back(bytes_json(piece));
  }
  if (!all_valid) result["bytes"] = std::move(bytes);
  return result;
}

void print_pieces(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, Output& output) {
  for (const TokenId id : ids) output.write(fmt::format("{}\t{}\n", id, escaped_piece(tokenizer.piece(id))));
}

Json answer(const Tokenizer& tokenizer, std::string_view line) {
  const std::string text = text_request(line);
  return {{"ids", tokenizer.encode(text, {})},
          {"ids_special", tokenizer.encode(text, {.add_special = true, .parse_special = true})}};
}

int answer_lines(const Tokenizer& tokenizer, Output& output) {
  return serve_lines(output, [&](std::string_view line) { return answer(tokenizer, line); });
}

int run_tokenize(TokenizeOptions& options, Output& output) {
  settle_model_argument(options.model, options.prompt.positional);
  check_prompt_source(options.prompt);
  const bool from_jsonl = options.prompt.from_stdin_jsonl;
  if (from_jsonl && options.no_special)
    fail(ErrorCode::kUsage, "--stdin-jsonl answers both forms, without --no-special");
  const RawPrompt prompt = read_prompt(options.prompt);
  const Tokenizer tokenizer = load_tokenizer(options.model);
  if (from_jsonl) return answer_lines(tokenizer, output);
  const bool special = !options.no_special;
  const std::vector<TokenId> ids = tokenizer.encode(prompt.text, {.add_special = special, .parse_special = special});
  if (options.json) {
    output.write_line(pieces_json(tokenizer, ids));
  } else {
    print_pieces(tokenizer, ids, output);
  }
  output.flush();
  print_warnings(tokenizer);
  return kExitDone;
}

}  // namespace

void add_tokenize_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<TokenizeOptions>();
  CLI::App& command = add_command(program, chosen, "tokenize", "turns a text into token ids", options, run_tokenize);
  add_model_argument(command, options->model);
  add_prompt_options(command, options->prompt, "TEXT", {.jsonl = true});
  command.add_flag("--json", options->json, "one JSON object: ids and pieces");
  command.add_flag("--no-special", options->no_special, "add no BOS or EOS and read no special tokens from the text");
}

}  // namespace lockstep
