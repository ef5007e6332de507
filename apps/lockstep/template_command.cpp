#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "chat/json_fields.h"
#include "commands.h"
#include "exit_status.h"
#include "input_lines.h"
#include "json_text.h"
#include "messages.h"
#include "model_options.h"
#include "prompt_source.h"
#include "request.h"
#include "template_options.h"
#include "terminal.h"
#include "text_output.h"

namespace lockstep {
namespace {

using tokenizer::TokenId;
using tokenizer::Tokenizer;

struct TemplateCommandOptions {
  ModelOptions model;
  TemplateOptions chat_template;
  std::string input;
  bool json = false;
  bool from_stdin_jsonl = false;
};

void check_options(const TemplateCommandOptions& options) {
  const bool has_model = options.model.positional.has_value();
  if (!options.chat_template.file.empty() && !options.chat_template.name.empty())
    fail(ErrorCode::kUsage, "--chat-template-file and --chat-template: expected one of them");
  if (options.from_stdin_jsonl) {
    if (!options.input.empty()) fail(ErrorCode::kUsage, "--input and --stdin-jsonl: expected one of them");
    return;
  }
  if (options.input.empty()) fail(ErrorCode::kUsage, "no conversation is given, expected --input or --stdin-jsonl");
  if (!has_model && options.chat_template.file.empty())
    fail(ErrorCode::kUsage, "no template is given, expected a MODEL or --chat-template-file");
}

bool has_tools(const Json& input) {
  return input.is_object() && input.contains("tools") && input["tools"].is_array() && !input["tools"].empty();
}

// Takes the special tokens that the input names out of it: with them the caller overrides those of the file.
Json take_token_variables(Json& input) {
  chat::JsonFields variables, others;
  if (!input.is_object()) return variables.take();
  for (const auto& field : input.items())
    (field.key().ends_with("_token") ? variables : others).add(field.key(), std::move(field.value()));
  input = others.take();
  return variables.take();
}

// One answer of the command: `text`, and with a model `ids` and `warnings`.
class Renderer {
 public:
  // `model` is the file that the tokenizer is of.
  Renderer(const TemplateOptions& options, const std::optional<Tokenizer>& tokenizer, std::filesystem::path model)
      : options_(options),
        tokenizer_(tokenizer),
        model_(std::move(model)),
        now_(template_time(options)),
        variables_(template_variables(options)) {}

  [[nodiscard]] Json answer(Json input, const std::string& template_file) const {
    if (!tokenizer_) return {{"text", text_of(input, template_file)}};
    Json variables = chat::updated(take_token_variables(input), variables_);
    chat::ChatTemplate chat_template = template_file.empty()
                                           ? chosen_template(options_, *tokenizer_, model_, has_tools(input))
                                           : template_from_file(template_file);
    const chat::PromptBuilder builder(*tokenizer_, std::move(chat_template), std::move(variables));
    const chat::Prompt prompt = builder.build(input, now_);
    return {{"text", prompt.text}, {"ids", prompt.ids}, {"warnings", prompt.warnings}};
  }

 private:
  // Without a model there are no special tokens but those that the input names.
  [[nodiscard]] std::string text_of(Json input, const std::string& template_file) const {
    chat::check_conversation(input);
    input = chat::updated(std::move(input), variables_);
    const std::string& file = template_file.empty() ? options_.file : template_file;
    if (file.empty()) fail(ErrorCode::kBadRequest, "template_file is missing");
    return chat::render_adapted(template_from_file(file), input, now_).text;
  }

  const TemplateOptions& options_;
  const std::optional<Tokenizer>& tokenizer_;
  std::filesystem::path model_;
  std::string now_;
  Json variables_;
};

// A line {"template_file":...,"input":{...}}.
Json answer_line(const Renderer& renderer, std::string_view line) {
  Json request = parse_json(line);
  if (!request.is_object()) fail(ErrorCode::kBadRequest, "a request is a JSON object");
  std::string template_file;
  for (const auto& field : request.items()) {
    if (field.key() == "template_file" && field.value().is_string()) {
      template_file = field.value().get<std::string>();
    } else if (field.key() != "input") {
      fail(ErrorCode::kBadRequest, "unknown field {}, or not a text", printable(field.key()));
    }
  }
  if (!request.contains("input")) fail(ErrorCode::kBadRequest, "input is missing");
  return renderer.answer(std::move(request["input"]), template_file);
}

void print_for_people(const Json& answer, const std::optional<Tokenizer>& tokenizer, Output& output) {
  TextOutput(output).write(answer["text"].get_ref<const std::string&>());
  if (output.inside_line()) output.write("\n");
  if (!tokenizer) return;
  output.write("\n");
  for (const TokenId id : answer["ids"].get<std::vector<TokenId>>())
    output.write(fmt::format("{}\t{}\n", id, escaped_piece(tokenizer->piece(id))));
  output.flush();
  for (const Json& warning : answer["warnings"]) print_warning(warning.get<std::string>());
}

int run_template(TemplateCommandOptions& options, Output& output) {
  if (options.model.positional || !options.model.flag.empty()) settle_model_argument(options.model);
  check_options(options);
  std::optional<Tokenizer> tokenizer;
  std::filesystem::path model;
  if (options.model.positional) {
    model = model_path(options.model);
    tokenizer.emplace(load_tokenizer(options.model));
  }
  const Renderer renderer(options.chat_template, tokenizer, std::move(model));
  if (options.from_stdin_jsonl) {
    return serve_lines(output, [&](std::string_view line) { return answer_line(renderer, line); });
  }
  const Json answer = renderer.answer(parse_json(read_file_or_stdin(options.input, kMostJsonBytes)), "");
  if (options.json) {
    output.write_line(answer);
  } else {
    print_for_people(answer, tokenizer, output);
  }
  return kExitDone;
}

}  // namespace

void add_template_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<TemplateCommandOptions>();
  CLI::App& command =
      add_command(program, chosen, "template", "renders a conversation by a chat template", options, run_template);
  add_model_argument(command, options->model);
  add_template_options(command, options->chat_template);
  command
      .add_option("--input", options->input,
                  "a file with {\"messages\":[...],\"tools\":[...], any further variable}; -: standard input")
      ->type_name("FILE");
  command.add_flag("--json", options->json, "one JSON object: text, and with a MODEL ids and warnings");
  command.add_flag("--stdin-jsonl", options->from_stdin_jsonl,
                   "lines {\"template_file\":FILE,\"input\":{...}} from standard input; answers the same way");
}

}  // namespace lockstep
