#include "generation_options.h"

#include <algorithm>

#include "base/error.h"

namespace lockstep {
namespace {

using engine::GenerateOptions;
using sampling::SamplingParams;

constexpr IntegerRange kInt32 = {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};

IntegerOption integer(int64_t GenerateOptions::*slot, IntegerRange range) {
  return {[slot](GenerationSettings& settings, int64_t value) { settings.generate.*slot = value; }, range};
}

// Narrower ranges are the sampler's to check.
IntegerOption integer(int32_t SamplingParams::*slot) {
  const auto set = [slot](GenerationSettings& settings, int64_t value) {
    settings.generate.sampling.*slot = static_cast<int32_t>(value);
  };
  return {set, kInt32};
}

std::string stages_text(const std::vector<sampling::Stage>& stages) {
  std::string text;
  for (const sampling::Stage stage : stages) {
    if (!text.empty()) text += ';';
    text += to_string(stage);
  }
  return text;
}

std::vector<GenerationOption> length_options() {
  return {
      {{"n-predict", "n", "predict"},
       "N",
       "most tokens to generate; -1: until the model stops or the context is full",
       "-1",
       integer(&GenerateOptions::n_predict, {-1, std::numeric_limits<int64_t>::max()})},
      {{"stop", "reverse-prompt", "r"},
       "TEXT",
       "text that ends the answer and is not part of it; may be repeated",
       "",
       StopOption{}},
      {{"ignore-eos"}, "", "never choose an end-of-generation token", "", FlagOption{&GenerateOptions::ignore_eos}},
      {{"logprobs"},
       "K",
       "with every step the log-probability of its token and of the K best (needs JSON)",
       "",
       integer(&GenerateOptions::logprobs, {0, std::numeric_limits<int64_t>::max()})},
  };
}

// A row of the table below.
template <typename T>
GenerationOption sampler_option(std::vector<std::string> names, T SamplingParams::*slot, std::string help) {
  std::string default_text = fmt::format("{}", SamplingParams().*slot);
  if constexpr (std::is_same_v<T, float>) {
    return {std::move(names), "X", std::move(help), std::move(default_text), FloatOption{slot}};
  } else {
    return {std::move(names), "N", std::move(help), std::move(default_text), integer(slot)};
  }
}

std::vector<GenerationOption> truncation_options() {
  using P = SamplingParams;
  return {
      sampler_option({"temp", "temperature"}, &P::temp, "temperature; 0: always the most probable token"),
      sampler_option({"top-k"}, &P::top_k, "keep the K most probable tokens; 0: off"),
      sampler_option({"top-p"}, &P::top_p, "keep the fewest tokens whose probabilities reach this sum; 1: off"),
      sampler_option({"min-p"}, &P::min_p, "keep tokens at least so probable relative to the best; 0: off"),
      sampler_option({"typical", "typical-p"}, &P::typical, "locally typical sampling; 1: off"),
      sampler_option({"top-n-sigma", "top-nsigma"}, &P::top_n_sigma, "keep logits within X deviations; -1: off"),
      sampler_option({"xtc-probability"}, &P::xtc_probability, "chance to exclude the top choices; 0: off"),
      sampler_option({"xtc-threshold"}, &P::xtc_threshold, "least probability of an excluded top choice"),
      sampler_option({"dynatemp-range"}, &P::dynatemp_range, "width of the dynamic temperature; 0: off"),
      sampler_option({"dynatemp-exp"}, &P::dynatemp_exponent, "exponent of the dynamic temperature"),
      sampler_option({"mirostat"}, &P::mirostat, "1 or 2: Mirostat instead of the stages that truncate; 0: off"),
      sampler_option({"mirostat-ent"}, &P::mirostat_tau, "Mirostat's target entropy, tau"),
      sampler_option({"mirostat-lr"}, &P::mirostat_eta, "Mirostat's learning rate, eta"),
  };
}

std::vector<GenerationOption> penalty_options() {
  using P = SamplingParams;
  return {
      sampler_option({"repeat-last-n"}, &P::repeat_last_n, "tokens that penalties look at; 0: off, -1: all"),
      sampler_option({"repeat-penalty"}, &P::repeat_penalty, "divides the logits of repeated tokens; 1: off"),
      sampler_option({"presence-penalty"}, &P::presence_penalty, "subtracted once from repeated tokens; 0: off"),
      sampler_option({"frequency-penalty"}, &P::frequency_penalty, "subtracted for every repetition; 0: off"),
      sampler_option({"dry-multiplier"}, &P::dry_multiplier, "strength of the DRY penalty; 0: off"),
      sampler_option({"dry-base"}, &P::dry_base, "base of the DRY penalty"),
      sampler_option({"dry-allowed-length"}, &P::dry_allowed_length, "longest repetition without DRY penalty"),
      sampler_option({"dry-penalty-last-n"}, &P::dry_penalty_last_n, "tokens that DRY looks at; 0: off, -1: all"),
      {{"dry-sequence-breaker"},
       "TEXT",
       "text that ends a repetition for DRY, instead of the default ones; none: no text",
       "newline : \" *",
       DryBreakersOption{}},
  };
}

std::vector<GenerationOption> choice_options() {
  return {
      {{"seed", "s"}, "N", "0 to 18446744073709551615; -1: random", "-1", SeedOption{}},
      {{"samplers"}, "LIST", "the stages in their order", stages_text(SamplingParams().stages), StagesOption{}},
      {{"logit-bias", "l"},
       "ID(+|-)V",
       "adds to a token's logit, as 15043+1 or 15043-inf; may be repeated",
       "",
       LogitBiasOption{}},
  };
}

}  // namespace

std::string GenerationOption::key() const {
  std::string key = names.front();
  std::ranges::replace(key, '-', '_');
  return key;
}

const std::vector<GenerationOption>& generation_options() {
  static const std::vector<GenerationOption> options = [] {
    std::vector<GenerationOption> all;
    for (const auto& group : {length_options(), truncation_options(), penalty_options(), choice_options()}) {
      all.insert(all.end(), group.begin(), group.end());
    }
    return all;
  }();
  return options;
}

const GenerationOption* find_generation_option(std::string_view key) {
  std::string name(key);
  if (name.find('-') != name.npos) return nullptr;
  std::ranges::replace(name, '_', '-');
  for (const GenerationOption& option : generation_options()) {
    for (const std::string& candidate : option.names) {
      if (candidate.size() > 1 && candidate == name) return &option;
    }
  }
  return nullptr;
}

}  // namespace lockstep
