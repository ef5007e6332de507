// The tokens that may still be chosen at one step. Sampler stages are functions that change a Candidates list: they
// lower logits or remove entries, and always leave at least one. Plain data; not shared between threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::sampling {

using TokenId = int32_t;

struct Candidate {
  TokenId id;
  float logit;  // finite: impossible tokens (-infinity) are not in the list
};

// The one order of preference: higher logit first, lower id first among equal logits.
[[nodiscard]] inline bool ranks_before(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

// How the entries of a list stand.
enum class Order {
  kById,     // ids ascending, as they come from the model
  kByLogit,  // by ranks_before
  kNone,     // were sorted by logit before the logits changed
};

// A token and how often or how long.
struct Counted {
  TokenId id;
  size_t count;
};

// Working memory of the stages, kept with the list so that a step allocates nothing. What it holds means nothing
// between two calls.
struct Scratch {
  std::vector<Candidate> candidates;
  std::vector<double> probabilities;
  std::vector<double> distances;
  std::vector<size_t> sizes;
  std::vector<Counted> counted;
};

struct Candidates {
  std::vector<Candidate> items;
  Order order = Order::kById;
  Scratch scratch = {};
};

// Fills `list` (its memory is kept) with every token whose logit is not -infinity, ids ascending.
void assign_all(Candidates& list, std::span<const float> logits);

void sort_by_logit(Candidates& list);

// Keeps the k best (all when there are fewer), sorted by logit.
void keep_best(Candidates& list, size_t k);

// Index of the best entry of a list that is not empty.
[[nodiscard]] size_t best_index(const Candidates& list);

// Softmax over the list in the order in which it stands: weights exp(logit - best) in fp64, their sum taken in list
// order. They live in the scratch of the list until the next call.
[[nodiscard]] std::span<const double> probabilities(Candidates& list);

// The entry that a uniform number u of [0, 1) selects from a list sorted by logit: the first whose cumulative
// probability exceeds u.
[[nodiscard]] size_t draw_index(std::span<const double> probabilities, double u);

}  // namespace lockstep::sampling
