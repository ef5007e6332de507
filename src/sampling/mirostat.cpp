#include "sampling/mirostat.h"

#include <algorithm>
#include <cmath>

#include "base/exp64.h"
#include "sampling/select_best.h"
#include "sampling/token_weights.h"

namespace lockstep::sampling {
namespace {

constexpr double kLn2 = kLn2High + kLn2Low;
constexpr size_t kEstimateFrom = 100;    // how many of the best tokens the exponent of version 1 is estimated from
constexpr double kSurpriseLimit = 1e30;  // keeps the state finite for extreme options

// Zipf's exponent of candidates sorted by logit: the least-squares slope of ln(p_i / p_i+1) over ln((i + 2) / (i + 1)).
double zipf_exponent(std::span<const Candidate> best) {
  double products = 0;
  double squares = 0;
  for (size_t i = 0; i + 1 < best.size(); ++i) {
    const double t = log64(static_cast<double>(i + 2) / static_cast<double>(i + 1));
    products += t * (double{best[i].logit} - double{best[i + 1].logit});
    squares += t * t;
  }
  return products / squares;
}

// Version 1: how many of the best tokens have the wanted surprise, were their probabilities Zipf's (equation 10 of the
// paper). A real number, possibly infinite.
double zipf_count(double exponent, double surprise, double n_vocab) {
  const double epsilon = exponent - 1;
  const double scale = exp64(surprise * kLn2);
  const bool harmonic = std::abs(epsilon) < 1e-9;  // the limit for epsilon -> 0
  const double base = harmonic ? scale / log64(n_vocab) : epsilon * scale / (1 - pow64(n_vocab, -epsilon));
  return exponent > 0 ? pow64(base, 1 / exponent) : (base > 1 ? INFINITY : 0);
}

}  // namespace

Mirostat::Mirostat(int32_t version, double target, double rate, size_t n_vocab)
    : version_(version),
      target_(target),
      rate_(rate),
      n_vocab_(static_cast<double>(n_vocab)),
      largest_surprise_(2 * target) {}

void Mirostat::truncate(Candidates& list) const {
  if (list.size() < 2) return;
  if (version_ == 1) {
    std::vector<Candidate>& best = list.scratch.candidates;
    select_best(
        list.size(), kEstimateFrom, [&list](size_t i) { return list[i]; }, best);
    const double count = zipf_count(zipf_exponent(best), largest_surprise_, n_vocab_);
    if (count < static_cast<double>(list.size())) keep_best(list, static_cast<size_t>(std::max(count, 1.0)));
  } else {
    const Weights weights = weigh(list);
    keep_from(list, weights.best + weights.least_surprise() - largest_surprise_ * kLn2, 1);
  }
}

void Mirostat::learn(double probability) {
  const double error = -log64(probability) / kLn2 - target_;
  largest_surprise_ = std::clamp(largest_surprise_ - rate_ * error, -kSurpriseLimit, kSurpriseLimit);
}

}  // namespace lockstep::sampling
