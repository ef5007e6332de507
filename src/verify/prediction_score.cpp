#include "verify/prediction_score.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/exp64.h"
#include "engine/generate.h"

namespace lockstep::verify {
namespace {

// Of sorted values, between two of them by their distance: the percentile of llama-perplexity and of numpy.
double percentile(std::span<const double> sorted, double fraction) {
  const double place = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = place - static_cast<double>(below);
  return (1 - share) * sorted[below] + share * sorted[above];
}

}  // namespace

void LikelihoodSum::add(std::span<const float> logits, int32_t next) {
  const double surprise = sampling::log_sum_exp(logits) - double{logits[static_cast<size_t>(next)]};
  ++count_;
  sum_ += surprise;
  sum_of_squares_ += surprise * surprise;
}

double LikelihoodSum::perplexity() const {
  return exp64(sum_ / static_cast<double>(count_));
}

double LikelihoodSum::standard_error() const {
  if (count_ < 2) return std::numeric_limits<double>::quiet_NaN();
  const auto n = static_cast<double>(count_);
  const double mean = sum_ / n;
  const double variance = std::max(0.0, sum_of_squares_ / n - mean * mean);
  return perplexity() * std::sqrt(variance / (n - 1));
}

double kl_divergence(std::span<const float> base, std::span<const float> logits) {
  const double base_sum = sampling::log_sum_exp(base);
  const double sum = sampling::log_sum_exp(logits);
  double divergence = 0;
  for (size_t i = 0; i < base.size(); ++i) {
    const double base_log_p = double{base[i]} - base_sum;
    divergence += exp64(base_log_p) * (base_log_p - (double{logits[i]} - sum));
  }
  return divergence;
}

void DivergenceSum::add(std::span<const float> base, std::span<const float> logits) {
  values_.push_back(kl_divergence(base, logits));
  sum_ += values_.back();
  n_same_top_ += sampling::argmax(base) == sampling::argmax(logits) ? 1 : 0;
}

double DivergenceSum::mean() const {
  return sum_ / static_cast<double>(values_.size());
}

Divergence DivergenceSum::result() const {
  std::vector<double> sorted = values_;
  std::ranges::sort(sorted);
  return {mean(), percentile(sorted, 0.99), sorted.back(),
          static_cast<double>(n_same_top_) / static_cast<double>(values_.size())};
}

}  // namespace lockstep::verify
