// Probabilities of a list as integers: their sums are exact, so that no order of summation has to be kept and nothing
// has to be sorted for one. The weight of an entry is exp(logit - best) in units of 2^-30, rounded; a token more
// than 31 ln 2 = 21.4876 below the best one (2^-31 of its probability) has weight 0 and is never drawn. Pure functions,
// safe from any thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sampling/candidates.h"

namespace lockstep::sampling {

inline constexpr double kWeightOfBest = 0x1p30;

// The weight of an entry with a logit `depth` below the best: 2^(n + f) with the integer n nearest to -depth log2(e),
// in fp32. The polynomial for 2^(f + 30), |f| <= 1/2, is fitted for the smallest relative error (1e-7); the rounding of
// depth log2(e) adds at most 1e-6, about what rounding the logits themselves does. Branch-free, the minimum taken of
// bits because compilers make a branch of one of floats: loops over it become vector instructions on any machine.
// Not monotone: of neighbouring depths the deeper may weigh more, by its last unit. Nothing relies on it: draws and
// cuts go by rank and exact sums, and xtc compares each weight with a bar and chooses by rank.
// REQUIRES: depth >= 0 (or -0), not NaN.
[[nodiscard]] constexpr uint32_t weight(float depth) {
  constexpr float kLog2E = 0x1.715476p+0f;
  constexpr auto kDeepest = std::bit_cast<int32_t>(22.0f);  // 2^30 exp(-22) < 1/2
  const float t = std::bit_cast<float>(std::min(std::bit_cast<int32_t>(depth), kDeepest)) * -kLog2E;
  const auto n = static_cast<int32_t>(t - 0.5f);
  const float f = t - static_cast<float>(n);
  float y = 0x1.5bba14p20f;
  y = y * f + 0x1.3cea88p23f;
  y = y * f + 0x1.c6b752p25f;
  y = y * f + 0x1.ebf9bcp27f;
  y = y * f + 0x1.62e42ap29f;
  y = y * f + 0x1p30f;
  const auto scaled = std::bit_cast<float>(std::bit_cast<int32_t>(y) + n * (1 << 23));
  return static_cast<uint32_t>(static_cast<int32_t>(scaled + 0.5f));
}

struct Weights {
  std::span<const uint32_t> of;  // the entries of the list
  float best;                    // the largest logit
  uint64_t total;

  [[nodiscard]] double probability(size_t i) const { return of[i] / static_cast<double>(total); }
  // Of the best, in nats.
  [[nodiscard]] double least_surprise() const;

  // The least whole sum of weights that is at least, or more than, a share p of all. 1 to total for every p.
  [[nodiscard]] uint64_t reaching(double p) const;
  [[nodiscard]] uint64_t exceeding(double p) const;
};

// They live in the scratch of the list until the next call. REQUIRES: a list that is not empty.
[[nodiscard]] Weights weigh(Candidates& list);

// The mean over the distribution of best - logit. The entropy is this and the least surprise. REQUIRES: as weigh.
[[nodiscard]] double mean_depth(const Candidates& list, const Weights& weights);

}  // namespace lockstep::sampling
