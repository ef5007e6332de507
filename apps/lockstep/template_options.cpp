#include "template_options.h"

#include "base/error.h"
#include "base/file.h"
#include "json_text.h"
#include "usage.h"

namespace lockstep {

void add_template_options(CLI::App& command, TemplateOptions& options) {
  command
      .add_option("--chat-template-file", options.file, "a Jinja chat template, instead of the one in the model file")
      ->type_name("FILE");
  command.add_option("--chat-template", options.name, "of several templates in the model file the one of this name")
      ->type_name("NAME");
  command.add_option("--chat-template-kwargs", options.variables, "further variables for the template")
      ->type_name("JSON");
  command.add_option("--now", options.now, "the time that the template sees, YYYY-MM-DDTHH:MM:SS")->type_name("TIME");
}

std::string template_time(const TemplateOptions& options) {
  if (options.now.empty()) return chat::local_time_now();
  if (!chat::is_local_time(options.now)) {
    fail(ErrorCode::kUsage, "option --now: {} is not a time as 2026-01-02T03:04:05", printable(options.now));
  }
  return options.now;
}

chat::Json template_variables(const TemplateOptions& options) {
  if (options.variables.empty()) return chat::Json::object();
  return as_usage([&] {
    Json variables = parse_json(options.variables);
    if (!variables.is_object()) fail(ErrorCode::kBadRequest, "option chat-template-kwargs: expected a JSON object");
    return variables;
  });
}

chat::ChatTemplate template_from_file(const std::string& path) {
  return chat::ChatTemplate(read_text_file(path, chat::kMostTemplateBytes), path);
}

chat::ChatTemplate chosen_template(const TemplateOptions& options, const tokenizer::Tokenizer& tokenizer,
                                   const std::filesystem::path& model, bool with_tools) {
  if (!options.file.empty()) return template_from_file(options.file);
  return chat::template_of_file(tokenizer, options.name, with_tools, model.native());
}

}  // namespace lockstep
