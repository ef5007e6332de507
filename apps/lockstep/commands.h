// The commands of the program, one file each. Each adds itself to the command line and, when it is the one that was
// called, leaves in `chosen` what is to be done.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "output.h"

namespace lockstep {

// Does the work and returns the exit status. Errors are thrown.
using Action = std::function<int(Output&)>;

void add_info_command(CLI::App& program, Action& chosen);
void add_tokenize_command(CLI::App& program, Action& chosen);
void add_detokenize_command(CLI::App& program, Action& chosen);
void add_complete_command(CLI::App& program, Action& chosen);
void add_template_command(CLI::App& program, Action& chosen);
void add_run_command(CLI::App& program, Action& chosen);
void add_trace_command(CLI::App& program, Action& chosen);
void add_verify_command(CLI::App& program, Action& chosen);
void add_perplexity_command(CLI::App& program, Action& chosen);
void add_replay_command(CLI::App& program, Action& chosen);
void add_bench_command(CLI::App& program, Action& chosen);
void add_roofline_command(CLI::App& program, Action& chosen);
void add_doctor_command(CLI::App& program, Action& chosen);

// Adds a command whose options live in a `Options` and whose work is run(options, output).
template <typename Options>
CLI::App& add_command(CLI::App& program, Action& chosen, const std::string& name, const std::string& help,
                      const std::shared_ptr<Options>& options, int (*run)(Options&, Output&)) {
  CLI::App* command = program.add_subcommand(name, help);
  command->callback(
      [options, run, &chosen] { chosen = [options, run](Output& output) { return run(*options, output); }; });
  return *command;
}

}  // namespace lockstep
