#include "program.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "commands.h"
#include "exit_status.h"
#include "interrupt.h"
#include "json_text.h"
#include "messages.h"

namespace lockstep {
namespace {

constexpr std::string_view kSummary =
    "lockstep runs large language models from GGUF files on CPUs, with the same bits every time.\n";
constexpr std::string_view kExamples =
    "\nExamples:\n"
    "  lockstep info model.gguf\n"
    "  lockstep run model.gguf\n"
    "  lockstep run model.gguf \"Why is the sky blue?\"\n"
    "  lockstep complete model.gguf \"The capital of France is\" -n 32 --temp 0\n"
    "\n\"lockstep COMMAND --help\" shows the options of a command.\n";

void add_commands(CLI::App& program, Action& chosen) {
  add_run_command(program, chosen);
  add_complete_command(program, chosen);
  add_info_command(program, chosen);
  add_tokenize_command(program, chosen);
  add_detokenize_command(program, chosen);
  add_template_command(program, chosen);
  add_trace_command(program, chosen);
  add_verify_command(program, chosen);
  add_perplexity_command(program, chosen);
  add_replay_command(program, chosen);
  add_bench_command(program, chosen);
  add_roofline_command(program, chosen);
  add_doctor_command(program, chosen);
}

std::string overview(const CLI::App& program) {
  std::string text = fmt::format("{}\nUsage: lockstep COMMAND MODEL [options]\n\nCommands:\n", kSummary);
  for (const CLI::App* command : program.get_subcommands({})) {
    text += fmt::format("  {:12}{}\n", command->get_name(), command->get_description());
  }
  return text + std::string(kExamples);
}

// Messages of the command line library may have several lines; the first says it.
std::string first_line(const std::string& text) {
  return printable(text.substr(0, text.find('\n')), 400);
}

// A word in a command's place that is none: a better message than "not expected".
void check_command_name(const CLI::App& program, const std::vector<std::string>& arguments) {
  if (arguments.front().starts_with('-')) return;
  std::string names;
  for (const CLI::App* command : program.get_subcommands({})) {
    if (command->get_name() == arguments.front()) return;
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  fail(ErrorCode::kUsage, "unknown command \"{}\", expected one of {}", printable(arguments.front()), names);
}

int run_command_line(const std::vector<std::string>& arguments, Output& output) {
  CLI::App program(std::string(kSummary), "lockstep");
  program.set_version_flag("--version", "lockstep " LOCKSTEP_VERSION);
  program.set_help_flag("-h,--help", "this help");
  Action chosen;
  add_commands(program, chosen);
  if (arguments.empty() || arguments.front() == "--help" || arguments.front() == "-h") {
    output.write(overview(program));
    return kExitDone;
  }
  check_command_name(program, arguments);
  try {
    // The library takes the arguments from the back.
    program.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) fail(ErrorCode::kUsage, "{}", first_line(error.what()));
    std::ostringstream text;
    std::ostringstream ignored;
    program.exit(error, text, ignored);
    output.write(text.str());
    return kExitDone;
  }
  if (!chosen) fail(ErrorCode::kUsage, "no command is given");
  return chosen(output);
}

struct Failure {
  std::string code;
  std::string message;
  int status;
};

// The one place where what went wrong becomes an exit status.
Failure describe(const std::exception& error) {
  if (const auto* ours = dynamic_cast<const Error*>(&error)) {
    return {std::string(to_string(ours->code())), ours->what(),
            ours->code() == ErrorCode::kUsage ? kExitUsage : kExitFailed};
  }
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return {std::string(to_string(ErrorCode::kNoMemory)), "not enough memory", kExitFailed};
  }
  return {"internal", printable(error.what(), 400), kExitFailed};
}

int report(const std::exception& error, bool json, Output& output) {
  const Failure failure = describe(error);
  print_error(failure.message);
  if (!json) return failure.status;
  try {
    output.write_line(error_json(failure.code, failure.message));
  } catch (const std::exception&) {
    // Standard output may be what failed; the line on standard error has said it.
  }
  return failure.status;
}

}  // namespace

int run_program(int argc, const char* const* argv, std::FILE* out) {
  Output output(out);
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  // llama.cpp's spelling of a name that the command line library would read as -s ys.
  std::ranges::replace(arguments, std::string("-sys"), std::string("--system-prompt"));
  const auto wants_json = [&] { return std::ranges::find(arguments, "--json") != arguments.end(); };
  try {
    const int status = run_command_line(arguments, output);
    output.flush();
    if (!interrupted()) return status;
    print_signal();
    return signal_status();
  } catch (const Interrupted&) {
    print_signal();
    return signal_status();
  } catch (const ClosedPipe&) {
    return kExitFailed;
  } catch (const std::exception& error) {
    const int status = report(error, wants_json(), output);
    // Without its terminal the program cannot write either.
    return must_leave() ? signal_status() : status;
  }
}

}  // namespace lockstep
