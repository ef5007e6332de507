// Chooses the tokens of one sequence: the stages of SamplingParams in their order over the logits of a step, then one
// draw. The draw of a step depends on (seed, step) alone, so that the same seed gives the same text in any batch, slot
// or thread. One Sampler belongs to one sequence; not shared between threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sampling/candidates.h"
#include "sampling/mirostat.h"
#include "sampling/sampling_params.h"

namespace lockstep::sampling {

class Sampler {
 public:
  // Throws Error(kBadRequest) naming the option that is out of range.
  Sampler(SamplingParams params, int32_t n_vocab);

  // The token of this step; step counts the tokens generated before it (0 for the first).
  // logits [n_vocab]. Throws Error(kNotFinite) for logits with NaN or +infinity or without a finite one, and
  // Error(kBadRequest) when there are more or fewer than n_vocab or logit_bias leaves no possible token.
  [[nodiscard]] TokenId sample(std::span<const float> logits, uint64_t step);

  // The same where somebody has looked at the logits already. REQUIRES: `shortlist` is empty, or the logits are finite
  // (which is not checked again) and it has the kShortlist best of them, perhaps with others, in any order. Greedy
  // choice and chains that begin with top-k then never look at the rest; nor do those that begin with lowering some
  // logits, as long as few of the best are lowered.
  static constexpr size_t kShortlist = 64;
  [[nodiscard]] TokenId sample(std::span<const float> logits, std::span<const Candidate> shortlist, uint64_t step);

  // Adds a token of the prompt or of the answer to the history that the repetition penalties look at.
  void accept(TokenId id) { history_.push_back(id); }
  // Room for n accepted tokens in all.
  void reserve(size_t n) { history_.reserve(n); }

  [[nodiscard]] const SamplingParams& params() const noexcept { return params_; }

  // True when every step is the plain argmax of its logits.
  [[nodiscard]] bool is_greedy() const noexcept { return greedy_; }

 private:
  void check_size(std::span<const float> logits) const;
  [[nodiscard]] bool is_active(Stage stage) const;
  [[nodiscard]] bool always_argmax() const;
  void plan_shortlist();
  [[nodiscard]] bool only_lowers(Stage stage) const;
  [[nodiscard]] bool narrow_shortlist(std::span<const Candidate> shortlist, uint64_t step);
  [[nodiscard]] TokenId choose_among_all(std::span<const float> logits, uint64_t step);
  [[nodiscard]] TokenId choose(size_t first_stage, uint64_t step);
  void fill_candidates(std::span<const float> logits);
  void apply(Stage stage, uint64_t step);
  void apply_penalties();
  void apply_dry();
  void apply_xtc(uint64_t step);
  [[nodiscard]] TokenId draw(uint64_t step);
  [[nodiscard]] bool is_temperature_zero() const;

  SamplingParams params_;
  size_t n_vocab_;
  std::vector<Stage> active_;  // the stages that do something, in order
  std::optional<Mirostat> mirostat_;
  bool greedy_ = false;
  bool uses_shortlist_ = false;
  size_t n_lowering_ = 0;         // where a shortlist is used: stages before top-k, which only lower logits
  std::vector<TokenId> history_;  // every accepted token
  Candidates candidates_;         // of the current step; kept for its memory
};

}  // namespace lockstep::sampling
