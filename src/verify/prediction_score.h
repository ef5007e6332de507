// How well logits predict a text, and how far they are from other logits, as running sums in fp64 by our own exp and
// log: the same numbers on every machine when the positions come in the same order. Plain accumulators, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::verify {

// Perplexity: e to the mean of -ln p(next token).
class LikelihoodSum {
 public:
  // `logits` [n_vocab], finite, of the position before token `next`.
  void add(std::span<const float> logits, int32_t next);

  [[nodiscard]] int64_t count() const { return count_; }
  [[nodiscard]] double perplexity() const;
  // Of the perplexity: its value times the standard error of the mean of ln p, as llama-perplexity gives it. NaN for
  // fewer than two positions.
  [[nodiscard]] double standard_error() const;

 private:
  int64_t count_ = 0;
  double sum_ = 0;
  double sum_of_squares_ = 0;
};

struct Divergence {
  double mean, p99, max;  // Kullback-Leibler divergence from the base, in nats
  double same_top;        // share of positions where both hold the same token for the most probable
};

// The sum over all tokens of p_base (ln p_base - ln p).
[[nodiscard]] double kl_divergence(std::span<const float> base, std::span<const float> logits);

class DivergenceSum {
 public:
  // Logits of one position, [n_vocab] both, finite.
  void add(std::span<const float> base, std::span<const float> logits);

  [[nodiscard]] bool empty() const { return values_.empty(); }
  [[nodiscard]] double mean() const;
  [[nodiscard]] Divergence result() const;

 private:
  std::vector<double> values_;
  double sum_ = 0;
  int64_t n_same_top_ = 0;
};

}  // namespace lockstep::verify
