// Every option of generation once: its names, its default, and how it is set from a command line or from a field of a
// request.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/generate.h"
#include "json_text.h"
#include "number_text.h"

namespace lockstep {

// What a request asks for. `seed` -1 of the command line is "none": a random one is drawn when the request is served.
struct GenerationSettings {
  engine::GenerateOptions generate;
  std::optional<uint64_t> seed;
};

// A whole number with its range, kept where `slot` says.
struct IntegerOption {
  std::function<void(GenerationSettings&, int64_t)> set;
  IntegerRange range;
};
struct FloatOption {
  float sampling::SamplingParams::*slot;
};
struct SeedOption {};
struct FlagOption {
  bool engine::GenerateOptions::*slot;
};
struct StagesOption {};       // a list of sampler stages
struct LogitBiasOption {};    // may be given several times
struct DryBreakersOption {};  // may be given several times
struct StopOption {};         // may be given several times

struct GenerationOption {
  std::vector<std::string> names;  // "n-predict", "n", ...: without hyphens in front; the first is the one in messages
  std::string value;               // placeholder in the help
  std::string help;
  std::string default_text;
  std::variant<IntegerOption, FloatOption, SeedOption, FlagOption, StagesOption, LogitBiasOption, DryBreakersOption,
               StopOption>
      kind;

  [[nodiscard]] bool is_flag() const { return std::holds_alternative<FlagOption>(kind); }
  [[nodiscard]] bool is_list() const {
    return std::holds_alternative<LogitBiasOption>(kind) || std::holds_alternative<DryBreakersOption>(kind) ||
           std::holds_alternative<StopOption>(kind);
  }
  // The long name with underscores: what the option is called in a request and in messages.
  [[nodiscard]] std::string key() const;
};

[[nodiscard]] const std::vector<GenerationOption>& generation_options();

// The option that a request's field means by one of the long names; null when there is none.
[[nodiscard]] const GenerationOption* find_generation_option(std::string_view key);

// Sets an option from the texts given for it, one unless it is a list; a flag takes none. Error kBadRequest naming the
// option.
void set_from_text(GenerationSettings& settings, const GenerationOption& option, std::span<const std::string> texts);

// Sets an option from a field; null leaves the default. Error kBadRequest naming the option.
void set_from_json(GenerationSettings& settings, const GenerationOption& option, const Json& value);

}  // namespace lockstep
