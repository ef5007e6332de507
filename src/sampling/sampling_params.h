// How tokens are chosen: every option of the sampler with the defaults of llama.cpp v0.4.0 (common/common.h). Plain
// data; the option names in the messages are the long names of the command line with underscores.
//
// Values with a meaning of their own:
//   temp <= 0           greedy: the best token, the lowest id among equals (unless dynatemp_range > 0)
//   top_k <= 0          off; more than the vocabulary = the vocabulary
//   top_p >= 1          off; 0 keeps one token
//   min_p 0             off; 1 keeps the best and its equals
//   typical >= 1        off
//   top_n_sigma <= 0    off
//   xtc_probability 0 or xtc_threshold > 0.5   off
//   repeat_last_n 0, dry_penalty_last_n 0      off; -1 = everything accepted so far
//   repeat_penalty 1, frequency_penalty 0, presence_penalty 0   off
//   dry_multiplier 0 or dry_base < 1           off
//   mirostat 0          off; 1 or 2 replace all stages but logit bias and temperature
//   min_keep 0          no more than the one candidate that every stage keeps anyway
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/candidates.h"
#include "sampling/dry.h"
#include "sampling/logit_bias.h"

namespace lockstep::sampling {

enum class Stage { kPenalties, kDry, kTopNSigma, kTopK, kTypicalP, kTopP, kMinP, kXtc, kTemperature };

// The name of a stage as `--samplers` spells it ("top_k").
[[nodiscard]] std::string_view to_string(Stage stage);

// The stages of a list like "penalties;top_k;temperature", in its order. llama.cpp's other spellings (top-k, topk,
// nucleus, temp, typical, typ) are understood. Throws Error(kBadRequest) for an unknown name or one given twice.
[[nodiscard]] std::vector<Stage> parse_stages(std::string_view list);

struct SamplingParams {
  uint64_t seed = 0;  // taken as it is; who wants a random one draws it before
  float temp = 0.8f;
  float dynatemp_range = 0.0f;
  float dynatemp_exponent = 1.0f;
  int32_t top_k = 40;
  float top_p = 0.95f;
  float min_p = 0.05f;
  float typical = 1.0f;
  float top_n_sigma = -1.0f;
  float xtc_probability = 0.0f;
  float xtc_threshold = 0.1f;
  int32_t repeat_last_n = 64;
  float repeat_penalty = 1.0f;
  float frequency_penalty = 0.0f;
  float presence_penalty = 0.0f;
  float dry_multiplier = 0.0f;
  float dry_base = 1.75f;
  int32_t dry_allowed_length = 2;
  int32_t dry_penalty_last_n = 64;
  std::vector<std::string> dry_sequence_breakers = {"\n", ":", "\"", "*"};
  DryBreakers dry_breakers;  // the same as token ids; needed when DRY is on
  int32_t mirostat = 0;
  float mirostat_tau = 5.0f;
  float mirostat_eta = 0.1f;
  int32_t min_keep = 0;
  std::vector<LogitBias> logit_bias = {};
  std::vector<Stage> stages = {Stage::kPenalties, Stage::kDry,  Stage::kTopNSigma, Stage::kTopK,       Stage::kTypicalP,
                               Stage::kTopP,      Stage::kMinP, Stage::kXtc,       Stage::kTemperature};
};

// Throws Error(kBadRequest) naming the first option that is out of range, or an id outside [0, n_vocab).
void validate(const SamplingParams& params, int32_t n_vocab);

}  // namespace lockstep::sampling
