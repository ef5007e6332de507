#include "run_commands.h"

#include <fmt/format.h>

#include <algorithm>

#include "answer.h"
#include "base/error.h"
#include "name_list.h"
#include "terminal.h"

namespace lockstep {
namespace {

std::string trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1));
}

std::vector<std::string> option_keys() {
  std::vector<std::string> keys;
  for (const GenerationOption& option : generation_options()) keys.push_back(option.key());
  return keys;
}

// By any of its names, with hyphens or underscores.
const GenerationOption& option_named(std::string name) {
  std::ranges::replace(name, '-', '_');
  const GenerationOption* option = find_generation_option(name);
  if (option == nullptr) {
    fail(ErrorCode::kBadRequest, "/set {}: no such option, expected one of {}", printable(name),
         listed_names(option_keys()));
  }
  return *option;
}

}  // namespace

struct RunCommands::Command {
  std::string_view name;
  std::string_view argument;
  std::string_view help;
  RunNext (RunCommands::*run)(const std::string&);
};

const std::vector<RunCommands::Command>& RunCommands::commands() {
  using Self = RunCommands;
  static const std::vector<Command> table = {
      {"/help", "", "this list", &Self::help},
      {"/clear", "", "forgets the conversation; the system text stays", &Self::clear},
      {"/undo", "", "takes the last question and its answer back", &Self::undo},
      {"/regen", "", "answers the last question anew (the same again with a fixed seed)", &Self::regenerate},
      {"/system", "[TEXT]", "sets the system text; without TEXT there is none", &Self::system},
      {"/set", "NAME VALUE", "sets an option of generation, as /set temp 0.5", &Self::set},
      {"/show", "", "model, system text, options, use of the context", &Self::show},
      {"/save", "[FILE]", "writes conversation and cache to a file", &Self::save},
      {"/load", "[FILE]", "takes them up again", &Self::load},
      {"/stats", "", "speed and counts", &Self::stats},
      {"/bye", "", "leaves; so does Control-D", &Self::leave},
  };
  return table;
}

RunNext RunCommands::run(const std::string& line) {
  const size_t end = std::min(line.find_first_of(" \t\n"), line.size());
  const std::string name = line.substr(0, end);
  for (const Command& command : commands()) {
    if (command.name != name) continue;
    const std::string argument = trimmed(std::string_view(line).substr(end));
    if (command.argument.empty() && !argument.empty())
      fail(ErrorCode::kBadRequest, "{} takes nothing, \"{}\" is given", name, printable(argument));
    return (this->*command.run)(argument);
  }
  fail(ErrorCode::kBadRequest, "{}: no such command; /help lists them, a message may begin with a space",
       printable(name));
}

RunNext RunCommands::help(const std::string& /*argument*/) {
  std::string text;
  for (const Command& command : commands())
    text += fmt::format("{:20}{}\n", fmt::format("{} {}", command.name, command.argument), command.help);
  text += "\"\"\"                 begins and ends a message of several lines\n";
  text += "Control-C           stops the answer; twice: leaves";
  screen_.say(text);
  return RunNext::kRead;
}

RunNext RunCommands::clear(const std::string& /*argument*/) {
  partner_.conversation().clear();
  screen_.say("the conversation is forgotten");
  return RunNext::kRead;
}

RunNext RunCommands::undo(const std::string& /*argument*/) {
  if (!partner_.conversation().undo()) fail(ErrorCode::kBadRequest, "/undo: there is no question yet");
  screen_.say("the last question is taken back; " + summary());
  return RunNext::kRead;
}

RunNext RunCommands::regenerate(const std::string& /*argument*/) {
  return RunNext::kAnswerAgain;
}

RunNext RunCommands::system(const std::string& argument) {
  partner_.conversation().set_system(argument);
  screen_.say(argument.empty() ? "no system text" : "the system text is set");
  return RunNext::kRead;
}

RunNext RunCommands::set(const std::string& argument) {
  const size_t end = std::min(argument.find_first_of(" \t="), argument.size());
  const GenerationOption& option = option_named(argument.substr(0, end));
  const std::string value = end < argument.size() ? trimmed(std::string_view(argument).substr(end + 1)) : "";
  if (option.is_flag() != value.empty())
    fail(ErrorCode::kBadRequest, "/set {}: expected {}", option.key(), option.is_flag() ? "no value" : "a value");
  GenerationSettings changed = partner_.generation();
  set_from_text(changed, option, {&value, 1});
  sampling::validate(changed.generate.sampling, static_cast<int32_t>(partner_.loaded().engine->n_vocab()));
  partner_.generation() = std::move(changed);
  std::erase_if(set_, [&](const std::string& text) { return text.starts_with(option.key() + " "); });
  set_.push_back(option.key() + " " + value);
  screen_.say(fmt::format("{} is set", option.key()));
  return RunNext::kRead;
}

std::string RunCommands::summary() {
  const chat::Conversation& conversation = partner_.conversation();
  return fmt::format("{} turns{}, {} tokens in the cache", conversation.n_turns(),
                     conversation.n_dropped() > 0 ? fmt::format(" ({} left out)", conversation.n_dropped()) : "",
                     partner_.session().tokens().size());
}

RunNext RunCommands::show(const std::string& /*argument*/) {
  const engine::Engine& engine = *partner_.loaded().engine;
  const std::string& system = partner_.conversation().system();
  std::string text = fmt::format("model    {}\n", printable(partner_.loaded().path.native(), 200));
  text += fmt::format("context  {}, {} fit\n", summary(), engine.ctx_size());
  text += fmt::format("system   {}\n", system.empty() ? "none" : terminal_text(system));
  text += "set      ";
  for (size_t i = 0; i < set_.size(); ++i) text += (i > 0 ? ", " : "") + terminal_text(set_[i]);
  screen_.say(set_.empty() ? text + "nothing" : text);
  return RunNext::kRead;
}

std::string RunCommands::file_for(const std::string& argument) const {
  if (argument.empty() && session_file_.empty()) fail(ErrorCode::kBadRequest, "no FILE is given");
  return argument.empty() ? session_file_ : argument;
}

RunNext RunCommands::save(const std::string& argument) {
  const std::string file = file_for(argument);
  partner_.save(file);
  screen_.say(fmt::format("saved to {}: {}", printable(file, 200), summary()));
  return RunNext::kRead;
}

RunNext RunCommands::load(const std::string& argument) {
  const std::string file = file_for(argument);
  partner_.load(file);
  screen_.say(fmt::format("loaded from {}: {}", printable(file, 200), summary()));
  return RunNext::kRead;
}

void RunCommands::count(const ChatAnswer& answer) {
  last_statistics_ = statistics_line(answer.generated, answer.next.prompt.ids.size());
  ++n_answers_;
  n_generated_ += static_cast<int64_t>(answer.generated.ids.size());
  n_prompt_ += answer.generated.prompt.computed;
  n_reused_ += answer.generated.prompt.reused;
}

RunNext RunCommands::stats(const std::string& /*argument*/) {
  if (!last_statistics_.empty()) screen_.say("last answer: " + last_statistics_);
  screen_.say(fmt::format("{} answers: prompts {} tokens computed, {} reused; {} generated; cache {:.1f} MB",
                          n_answers_, n_prompt_, n_reused_, n_generated_,
                          static_cast<double>(partner_.session().cache_bytes()) / 1e6));
  return RunNext::kRead;
}

RunNext RunCommands::leave(const std::string& /*argument*/) {
  return RunNext::kLeave;
}

}  // namespace lockstep
