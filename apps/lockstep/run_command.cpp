#include <filesystem>
#include <optional>

#include "answer_writer.h"
#include "base/error.h"
#include "chat_partner.h"
#include "commands.h"
#include "engine/session_file.h"
#include "exit_status.h"
#include "generation_flags.h"
#include "interrupt.h"
#include "messages.h"
#include "model_options.h"
#include "prompt_source.h"
#include "run_conversation.h"
#include "run_screen.h"
#include "template_options.h"
#include "terminal.h"

namespace lockstep {
namespace {

struct RunOptions {
  ModelOptions model;
  PromptSource prompt;
  TemplateOptions chat_template;
  GenerationFlags generation;
  std::string system;
  std::string overflow = "error";
  std::string session;
  bool json = false;
};

chat::Overflow parse_overflow(const std::string& text) {
  if (text == "error") return chat::Overflow::kError;
  if (text == "drop-oldest") return chat::Overflow::kDropOldest;
  fail(ErrorCode::kUsage, "option --overflow: unknown way \"{}\", expected error or drop-oldest", printable(text));
}

ChatSettings chat_settings(const RunOptions& options) {
  return {generation_settings(options.generation), parse_overflow(options.overflow),
          template_time(options.chat_template)};
}

// The message that is to be answered; nothing when a conversation is wanted. What is piped in has the end of its last
// line from a tool, not from a person.
std::optional<std::string> one_message(const RunOptions& options) {
  if (has_prompt_source(options.prompt)) {
    check_prompt_source(options.prompt);
    return read_prompt(options.prompt).text;
  }
  if (is_terminal(stdin)) return std::nullopt;
  std::string text = read_file_or_stdin("-");
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

ChatPartner make_partner(const LoadedModel& loaded, const RunOptions& options, ChatSettings settings) {
  const auto& tokenizer = loaded.engine->tokenizer();
  chat::PromptBuilder builder(tokenizer, chosen_template(options.chat_template, tokenizer, loaded.path, false),
                              template_variables(options.chat_template));
  return {loaded, std::move(builder), std::move(settings)};
}

// A session file that is there is taken up; one that is not begins with this conversation.
void take_up(ChatPartner& partner, const RunOptions& options) {
  std::error_code ignored;
  if (!options.session.empty() && std::filesystem::exists(options.session, ignored)) partner.load(options.session);
  if (!options.system.empty()) partner.conversation().set_system(options.system);
}

// Asks. From the first words of the answer on, signals wait until the caller has written it down: `until_written`.
ChatAnswer ask(ChatPartner& partner, const std::string& message, std::optional<DeferSignals>& until_written,
               const AnswerWatcher::Show& show) {
  const auto begin = [&] {
    if (!until_written) until_written.emplace();
  };
  ChatAnswer answer = partner.ask(message, [&](std::string_view text) {
    begin();
    show(text);
  });
  begin();  // an answer without words is one too
  return answer;
}

int answer_for_people(ChatPartner& partner, const std::string& message, const RunOptions& options, Output& output) {
  RunScreen screen(output);
  std::optional<DeferSignals> until_written;
  const ChatAnswer answer = ask(partner, message, until_written, [&](std::string_view text) { screen.show(text); });
  partner.save_and_tell(answer, options.session, [&] {
    screen.end_text();
    screen.say_about(answer, partner.loaded().engine->ctx_size());
  });
  return kExitDone;
}

// Events, one line each: the text as it comes, then all about the answer.
int answer_as_json(ChatPartner& partner, const std::string& message, const RunOptions& options, Output& output) {
  std::optional<DeferSignals> until_written;
  const ChatAnswer answer = ask(partner, message, until_written, [&](std::string_view text) {
    Json event = Json::object();
    set_text(event, "delta", text);
    output.write_line(event);
  });
  partner.save_and_tell(answer, options.session, [&] {
    Json done = {{"done", true}};
    done.update(AnswerWriter(partner.loaded()).answer(answer.generated, answer.next.prompt.ids, answer.options));
    done["n_reused"] = answer.generated.prompt.reused;
    done["n_dropped_turns"] = answer.next.n_dropped;
    output.write_line(done);
    for (const std::string& warning : answer.next.prompt.warnings) print_warning(warning);
  });
  return kExitDone;
}

int converse(ChatPartner& partner, const RunOptions& options, Output& output) {
  RunScreen screen(output);
  print_warnings(partner.loaded().engine->tokenizer());
  screen.say("/help lists the commands, Control-D leaves");
  return run_conversation(partner, screen, options.session);
}

int run_run(RunOptions& options, Output& output) {
  settle_model_argument(options.model, options.prompt.positional);
  ChatSettings settings = chat_settings(options);
  static_cast<void>(template_variables(options.chat_template));
  static_cast<void>(engine_options(options.model));
  const std::optional<std::string> message = one_message(options);
  if (!message && options.json) fail(ErrorCode::kUsage, "--json needs a prompt or piped input");
  if (message && message->empty()) {
    if (has_prompt_source(options.prompt)) fail(ErrorCode::kBadRequest, "the prompt is empty");
    return kExitDone;  // the input has ended before it began
  }
  if (!options.session.empty()) {
    const DeferSignals until_tried;  // a file that is tried may have a name
    engine::check_session_place(options.session);
  }
  const LoadedModel loaded = load_model(options.model);
  ChatPartner partner = make_partner(loaded, options, std::move(settings));
  take_up(partner, options);
  if (!message) return converse(partner, options, output);
  const int status = options.json ? answer_as_json(partner, *message, options, output)
                                  : answer_for_people(partner, *message, options, output);
  print_warnings(loaded.engine->tokenizer());
  return status;
}

}  // namespace

void add_run_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App& command =
      add_command(program, chosen, "run", "answers a message, or holds a conversation", options, run_run);
  add_model_argument(command, options->model);
  add_prompt_options(command, options->prompt, "PROMPT", {});
  // The one name of a single hyphen and several letters; program.cpp spells it out.
  command.add_option("--system-prompt", options->system, "the system text (-sys is another name)")->type_name("TEXT");
  command
      .add_option("--session", options->session,
                  "a file that keeps the conversation and its cache: taken up when it is "
                  "there, written after every answer")
      ->type_name("FILE");
  command
      .add_option("--overflow", options->overflow,
                  "when the context is full: error, or drop-oldest: whole turns are left out")
      ->type_name("WAY")
      ->capture_default_str();
  command.add_flag("--json", options->json, "events, one JSON object a line");
  add_template_options(command, options->chat_template);
  add_compute_options(command, options->model);
  add_generation_flags(command, options->generation);
}

}  // namespace lockstep
