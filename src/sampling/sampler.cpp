#include "sampling/sampler.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "sampling/logits.h"
#include "sampling/temperature.h"
#include "sampling/truncate.h"

namespace lockstep::sampling {
namespace {

bool temperature_is_zero(const SamplingParams& p) {
  return p.temp <= 0 && p.dynatemp_range <= 0;
}

}  // namespace

Sampler::Sampler(SamplingParams params, int32_t n_vocab)
    : params_(std::move(params)), n_vocab_(static_cast<size_t>(n_vocab)), greedy_(false) {
  validate(params_, n_vocab);
  greedy_ = temperature_is_zero(params_) && params_.logit_bias.empty();
}

TokenId Sampler::sample(std::span<const float> logits, uint64_t step) {
  if (logits.size() != n_vocab_) {
    fail(ErrorCode::kBadRequest, "{} logits given to a sampler for {} tokens", logits.size(), n_vocab_);
  }
  check_logits(logits);
  if (greedy_) return argmax(logits);
  fill_candidates(logits);
  for (const Stage stage : params_.stages) apply(stage);
  return draw(step);
}

void Sampler::fill_candidates(std::span<const float> logits) {
  if (params_.logit_bias.empty() && params_.top_k > 0 && !params_.stages.empty() &&
      params_.stages.front() == Stage::kTopK) {
    candidates_.items = top_k_of(logits, static_cast<size_t>(params_.top_k));
    candidates_.order = Order::kByLogit;
    return;
  }
  assign_all(candidates_, logits);
  if (params_.logit_bias.empty()) return;
  logit_bias(candidates_, params_.logit_bias);
  if (candidates_.items.empty()) fail(ErrorCode::kBadRequest, "option logit_bias: leaves no token that could come");
}

void Sampler::apply(Stage stage) {
  const auto min_keep = static_cast<size_t>(params_.min_keep);
  switch (stage) {
    case Stage::kTopK:
      return top_k(candidates_, params_.top_k);
    case Stage::kTopP:
      return top_p(candidates_, params_.top_p, min_keep);
    case Stage::kMinP:
      return min_p(candidates_, params_.min_p, min_keep);
    case Stage::kTemperature:
      return temperature(candidates_, params_.temp);
    default:
      return;
  }
}

TokenId Sampler::draw(uint64_t step) {
  if (candidates_.items.size() == 1 || temperature_is_zero(params_))
    return candidates_.items[best_index(candidates_)].id;
  sort_by_logit(candidates_);
  const size_t chosen = draw_index(probabilities(candidates_), uniform_draw(params_.seed, step));
  return candidates_.items[chosen].id;
}

}  // namespace lockstep::sampling
