// The generation options as flags of a command.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "generation_options.h"

namespace lockstep {

// What was given for each option, looked at after the whole command line has been read.
struct GenerationFlags {
  struct Slot {
    const GenerationOption* option;
    CLI::Option* flag;
    std::vector<std::string> texts;
    bool set = false;  // of a flag without value
  };
  std::vector<Slot> slots;
};

// `flags` must stay where it is while the command line is parsed.
void add_generation_flags(CLI::App& command, GenerationFlags& flags);

// Error kUsage naming the option, for a value that no model could take.
[[nodiscard]] GenerationSettings generation_settings(const GenerationFlags& flags);

}  // namespace lockstep
