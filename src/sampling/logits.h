// What is asked of the logits of one position, as pure functions: the best token, log-probabilities, the K best.
// Nothing here sorts the vocabulary: each is one or two passes over it. Equal logits rank by the lower id. Safe from
// any thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sampling/candidates.h"

namespace lockstep::sampling {

// Throws Error(kNotFinite) when a logit is NaN or +infinity, or when none is finite. -infinity alone marks an
// impossible token.
void check_logits(std::span<const float> logits);

// The largest logit; NaN is passed over. -infinity when there is nothing else.
[[nodiscard]] float largest(std::span<const float> logits);

// The id of the first largest logit. NaN is never chosen; 0 when all are -infinity.
[[nodiscard]] TokenId argmax(std::span<const float> logits);

// The k best, sorted; fewer when fewer are above -infinity.
[[nodiscard]] std::vector<Candidate> top_k_of(std::span<const float> logits, size_t k);
// The same into `best`, whose memory is kept.
void top_k_of(std::span<const float> logits, size_t k, std::vector<Candidate>& best);

// ln(sum of exp(logit)) in fp64: eight interleaved partial sums from the largest logit on, added pairwise, so that the
// value is the same on every machine. REQUIRES: logits that pass check_logits.
[[nodiscard]] double log_sum_exp(std::span<const float> logits);

// ln of the softmax of the given ids (-infinity for an impossible one). Throws Error(kBadRequest) for an id outside.
[[nodiscard]] std::vector<double> log_softmax(std::span<const float> logits, std::span<const TokenId> ids);

struct TokenLogprob {
  TokenId id;
  double logprob;
};

// The k most probable tokens, best first.
[[nodiscard]] std::vector<TokenLogprob> top_logprobs(std::span<const float> logits, size_t k);

// What `--logprobs K` reports of one step: the chosen token and the K most probable ones.
struct StepLogprobs {
  TokenLogprob chosen;
  std::vector<TokenLogprob> top;
};
[[nodiscard]] StepLogprobs step_logprobs(std::span<const float> logits, TokenId chosen, size_t k);

}  // namespace lockstep::sampling
