#include "sampling/logits.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"
#include "base/exp64.h"
#include "sampling/interleaved_sum.h"
#include "sampling/select_best.h"

namespace lockstep::sampling {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr size_t kLanes = 16;  // independent maxima, so that the compiler can use vector registers

void check_id(std::span<const float> logits, TokenId id) {
  if (id < 0 || static_cast<size_t>(id) >= logits.size()) {
    fail(ErrorCode::kBadRequest, "token id {} is outside the vocabulary of {} tokens", id, logits.size());
  }
}

std::vector<TokenLogprob> top_logprobs_given(std::span<const float> logits, size_t k, double log_sum) {
  std::vector<TokenLogprob> result;
  for (const Candidate& best : top_k_of(logits, k)) result.push_back({best.id, double{best.logit} - log_sum});
  return result;
}

}  // namespace

void check_logits(std::span<const float> logits) {
  unsigned refused = 0;  // no early exit: the loop stays branch-free
  unsigned possible = 0;
  for (const float x : logits) {
    refused |= static_cast<unsigned>(!(x < kInfinity));
    possible |= static_cast<unsigned>(x > -kInfinity);
  }
  if (refused != 0) {
    const auto bad = std::find_if(logits.begin(), logits.end(), [](float x) { return !(x < kInfinity); });
    fail(ErrorCode::kNotFinite, "non-finite logits: token {} has {}, expected a finite number", bad - logits.begin(),
         *bad);
  }
  if (possible == 0)
    fail(ErrorCode::kNotFinite, "non-finite logits: all {} are -inf, expected a possible token", logits.size());
}

float largest(std::span<const float> logits) {
  std::array<float, kLanes> lane;
  lane.fill(-kInfinity);
  size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (size_t j = 0; j < kLanes; ++j) lane[j] = logits[i + j] > lane[j] ? logits[i + j] : lane[j];
  }
  for (; i < logits.size(); ++i) lane[0] = logits[i] > lane[0] ? logits[i] : lane[0];
  return *std::max_element(lane.begin(), lane.end());
}

TokenId argmax(std::span<const float> logits) {
  const auto best = std::find(logits.begin(), logits.end(), largest(logits));
  return best == logits.end() ? 0 : static_cast<TokenId>(best - logits.begin());
}

std::vector<Candidate> top_k_of(std::span<const float> logits, size_t k) {
  std::vector<Candidate> best;
  top_k_of(logits, k, best);
  return best;
}

void top_k_of(std::span<const float> logits, size_t k, std::vector<Candidate>& best) {
  select_best(
      logits.size(), k,
      [logits](size_t i) {
        return Candidate{static_cast<TokenId>(i), logits[i]};
      },
      best);
}

double log_sum_exp(std::span<const float> logits) {
  const double best = largest(logits);
  return best + log64(interleaved_sum(logits.size(), [logits, best](size_t i) { return exp64(logits[i] - best); }));
}

std::vector<double> log_softmax(std::span<const float> logits, std::span<const TokenId> ids) {
  const double log_sum = log_sum_exp(logits);
  std::vector<double> result;
  result.reserve(ids.size());
  for (const TokenId id : ids) {
    check_id(logits, id);
    result.push_back(double{logits[static_cast<size_t>(id)]} - log_sum);
  }
  return result;
}

std::vector<TokenLogprob> top_logprobs(std::span<const float> logits, size_t k) {
  return top_logprobs_given(logits, k, log_sum_exp(logits));
}

StepLogprobs step_logprobs(std::span<const float> logits, TokenId chosen, size_t k) {
  check_id(logits, chosen);
  const double log_sum = log_sum_exp(logits);
  return {{chosen, double{logits[static_cast<size_t>(chosen)]} - log_sum}, top_logprobs_given(logits, k, log_sum)};
}

}  // namespace lockstep::sampling
