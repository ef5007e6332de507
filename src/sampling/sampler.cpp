#include "sampling/sampler.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "sampling/dry.h"
#include "sampling/logits.h"
#include "sampling/nearest.h"
#include "sampling/penalties.h"
#include "sampling/select_best.h"
#include "sampling/temperature.h"
#include "sampling/truncate.h"

namespace lockstep::sampling {
namespace {

SamplingParams checked(SamplingParams params, int32_t n_vocab) {
  validate(params, n_vocab);
  return params;
}

}  // namespace

Sampler::Sampler(SamplingParams params, int32_t n_vocab)
    : params_(checked(std::move(params), n_vocab)), n_vocab_(static_cast<size_t>(n_vocab)) {
  if (params_.mirostat != 0) {
    mirostat_.emplace(params_.mirostat, params_.mirostat_tau, params_.mirostat_eta, n_vocab_);
    active_ = {Stage::kTemperature};
  } else {
    std::copy_if(params_.stages.begin(), params_.stages.end(), std::back_inserter(active_),
                 [this](Stage stage) { return is_active(stage); });
  }
  greedy_ = always_argmax();
  plan_shortlist();
}

bool Sampler::is_active(Stage stage) const {
  const SamplingParams& p = params_;
  switch (stage) {
    case Stage::kPenalties:
      return p.repeat_last_n != 0 && (p.repeat_penalty != 1 || p.frequency_penalty != 0 || p.presence_penalty != 0);
    case Stage::kDry:
      return p.dry_penalty_last_n != 0 && p.dry_multiplier != 0 && p.dry_base >= 1;
    case Stage::kTopNSigma:
      return p.top_n_sigma > 0;
    case Stage::kTopK:
      return p.top_k > 0;
    case Stage::kTypicalP:
      return p.typical < 1;
    case Stage::kTopP:
      return p.top_p < 1;
    case Stage::kMinP:
      return p.min_p > 0;
    case Stage::kXtc:
      return p.xtc_probability > 0 && p.xtc_threshold <= 0.5f;
    case Stage::kTemperature:
      return true;
  }
  return false;
}

bool Sampler::is_temperature_zero() const {
  return params_.temp <= 0 && (mirostat_ || params_.dynatemp_range <= 0);
}

bool Sampler::always_argmax() const {
  const auto may_change_the_best = [](Stage stage) {
    return stage == Stage::kPenalties || stage == Stage::kDry || stage == Stage::kTypicalP || stage == Stage::kXtc;
  };
  return is_temperature_zero() && params_.logit_bias.empty() &&
         std::none_of(active_.begin(), active_.end(), may_change_the_best);
}

void Sampler::check_size(std::span<const float> logits) const {
  if (logits.size() == n_vocab_) return;
  fail(ErrorCode::kBadRequest, "{} logits given to a sampler for {} tokens", logits.size(), n_vocab_);
}

TokenId Sampler::sample(std::span<const float> logits, uint64_t step) {
  check_size(logits);
  check_logits(logits);
  return greedy_ ? argmax(logits) : choose_among_all(logits, step);
}

bool Sampler::only_lowers(Stage stage) const {
  const SamplingParams& p = params_;
  if (stage == Stage::kPenalties) {
    return p.repeat_penalty >= 1 && p.frequency_penalty >= 0 && p.presence_penalty >= 0;
  }
  return stage == Stage::kDry;
}

void Sampler::plan_shortlist() {
  const auto other = std::find_if_not(active_.begin(), active_.end(), [this](Stage s) { return only_lowers(s); });
  n_lowering_ = static_cast<size_t>(other - active_.begin());
  const bool narrows_at_once =
      other != active_.end() && *other == Stage::kTopK && static_cast<size_t>(params_.top_k) <= kShortlist;
  const bool raises = std::any_of(params_.logit_bias.begin(), params_.logit_bias.end(),
                                  [](const LogitBias& entry) { return entry.bias > 0; });
  uses_shortlist_ = greedy_ || (narrows_at_once && !raises);
}

TokenId Sampler::sample(std::span<const float> logits, std::span<const Candidate> shortlist, uint64_t step) {
  if (shortlist.empty()) return sample(logits, step);
  check_size(logits);
  if (greedy_) return std::ranges::min_element(shortlist, ranks_before)->id;
  if (uses_shortlist_ && narrow_shortlist(shortlist, step)) return choose(n_lowering_ + 1, step);
  return choose_among_all(logits, step);
}

// The stages up to top-k on a shortlist. False when a token outside might be among what they leave: those rank behind
// the worst of the kShortlist best, and lowered they still do, so that none is when all that stay rank before it.
bool Sampler::narrow_shortlist(std::span<const Candidate> shortlist, uint64_t step) {
  const auto k = static_cast<size_t>(params_.top_k);
  const bool lowers = n_lowering_ > 0 || !params_.logit_bias.empty();
  std::vector<Candidate>& best = candidates_.scratch.candidates;
  select_best(
      shortlist.size(), lowers ? kShortlist : k, [shortlist](size_t i) { return shortlist[i]; }, best);
  const Candidate worst = best.back();
  assign(candidates_, best);
  if (!lowers) return true;
  if (candidates_.size() < kShortlist) return false;
  logit_bias(candidates_, params_.logit_bias);
  for (size_t i = 0; i < n_lowering_; ++i) apply(active_[i], step);
  keep_best(candidates_, k);
  bool surpassed = false;
  for (size_t i = 0; i < candidates_.size(); ++i) surpassed |= ranks_before(worst, candidates_[i]);
  return candidates_.size() == k && !surpassed;
}

TokenId Sampler::choose_among_all(std::span<const float> logits, uint64_t step) {
  fill_candidates(logits);
  return choose(0, step);
}

TokenId Sampler::choose(size_t first_stage, uint64_t step) {
  for (size_t i = first_stage; i < active_.size(); ++i) apply(active_[i], step);
  return draw(step);
}

void Sampler::fill_candidates(std::span<const float> logits) {
  if (params_.logit_bias.empty() && !active_.empty() && active_.front() == Stage::kTopK) {
    top_k_of(logits, static_cast<size_t>(params_.top_k), candidates_.scratch.candidates);
    return assign(candidates_, candidates_.scratch.candidates);
  }
  assign_all(candidates_, logits);
  if (params_.logit_bias.empty()) return;
  logit_bias(candidates_, params_.logit_bias);
  if (candidates_.size() == 0) fail(ErrorCode::kBadRequest, "option logit_bias: leaves no token that could come");
}

void Sampler::apply(Stage stage, uint64_t step) {
  const SamplingParams& p = params_;
  const auto min_keep = static_cast<size_t>(p.min_keep);
  switch (stage) {
    case Stage::kPenalties:
      return apply_penalties();
    case Stage::kDry:
      return apply_dry();
    case Stage::kTopNSigma:
      return top_n_sigma(candidates_, p.top_n_sigma);
    case Stage::kTopK:
      return top_k(candidates_, p.top_k);
    case Stage::kTypicalP:
      return typical(candidates_, p.typical, min_keep);
    case Stage::kTopP:
      return top_p(candidates_, p.top_p, min_keep);
    case Stage::kMinP:
      return min_p(candidates_, p.min_p, min_keep);
    case Stage::kXtc:
      return apply_xtc(step);
    case Stage::kTemperature:
      return dynamic_temperature(candidates_, p.temp, mirostat_ ? 0.0f : p.dynatemp_range, p.dynatemp_exponent);
  }
}

void Sampler::apply_penalties() {
  penalties(candidates_, last_tokens(history_, params_.repeat_last_n),
            {params_.repeat_penalty, params_.frequency_penalty, params_.presence_penalty});
}

void Sampler::apply_dry() {
  dry(candidates_, last_tokens(history_, params_.dry_penalty_last_n),
      {params_.dry_multiplier, params_.dry_base, params_.dry_allowed_length, params_.dry_breakers});
}

void Sampler::apply_xtc(uint64_t step) {
  if (uniform_draw(params_.seed, step, RandomStream::kXtc) >= double{params_.xtc_probability}) return;
  xtc(candidates_, params_.xtc_threshold, static_cast<size_t>(params_.min_keep));
}

TokenId Sampler::draw(uint64_t step) {
  if (is_temperature_zero()) return candidates_.id(best_index(candidates_));
  if (mirostat_) mirostat_->truncate(candidates_);
  const Weights weights = weigh(candidates_);
  const size_t chosen = draw_index(candidates_, weights, uniform_draw(params_.seed, step));
  if (mirostat_) mirostat_->learn(weights.probability(chosen));
  return candidates_.id(chosen);
}

}  // namespace lockstep::sampling
