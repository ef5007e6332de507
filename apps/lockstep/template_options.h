// The options that say which chat template is used and with which variables, for every command that renders one.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "chat/prompt_builder.h"

namespace lockstep {

struct TemplateOptions {
  std::string file;       // --chat-template-file
  std::string name;       // --chat-template
  std::string variables;  // --chat-template-kwargs
  std::string now;        // --now
};

void add_template_options(CLI::App& command, TemplateOptions& options);

// The time for the template's clock. Error kUsage for one of another form.
[[nodiscard]] std::string template_time(const TemplateOptions& options);

// The object of --chat-template-kwargs, empty when it is not given. Error kUsage for anything else.
[[nodiscard]] chat::Json template_variables(const TemplateOptions& options);

[[nodiscard]] chat::ChatTemplate template_from_file(const std::string& path);

// --chat-template-file, else the own one of the model in the file `model`.
[[nodiscard]] chat::ChatTemplate chosen_template(const TemplateOptions& options, const tokenizer::Tokenizer& tokenizer,
                                                 const std::filesystem::path& model, bool with_tools);

}  // namespace lockstep
