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
  float logit;
};

// The one order of preference: higher logit first, lower id first among equal logits.
[[nodiscard]] inline bool ranks_before(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

// A token and how often or how long.
struct Counted {
  TokenId id;
  size_t count;
};

// Working memory of the stages, kept with the list so that a step allocates nothing. What it holds means nothing
// between two calls; there is room for as many indices and weights as the list was filled with.
struct Scratch {
  std::vector<Candidate> candidates;
  std::vector<uint32_t> weights;
  std::vector<uint32_t> indices;
  std::vector<uint32_t> entries;
  std::vector<size_t> sizes;
  std::vector<Counted> counted;
};

// Ids and logits apart, so that loops over a whole vocabulary use vector registers. Nothing sorts the list: it stands
// by id at all times.
struct Candidates {
  std::vector<TokenId> ids;   // ascending; empty while entry i is token i
  std::vector<float> logits;  // finite: impossible tokens (-infinity) are not in the list
  Scratch scratch = {};

  [[nodiscard]] size_t size() const noexcept { return logits.size(); }
  [[nodiscard]] TokenId id(size_t i) const { return ids.empty() ? static_cast<TokenId>(i) : ids[i]; }
  [[nodiscard]] Candidate operator[](size_t i) const { return {id(i), logits[i]}; }
};

// Fills `list` (its memory is kept) with every token whose logit is not -infinity.
void assign_all(Candidates& list, std::span<const float> logits);

// Removes the entries whose logit is -infinity, also when nothing is left.
void remove_impossible(Candidates& list);

// Fills `list` with these, which come in any order.
void assign(Candidates& list, std::span<Candidate> items);

// Keeps the entries at these indices, which ascend.
void keep_only(Candidates& list, std::span<const uint32_t> indices);

// Keeps logits of at least `lowest`; the min_keep best where that would leave fewer.
void keep_from(Candidates& list, double lowest, size_t min_keep);

// Keeps the k best (all when there are fewer).
void keep_best(Candidates& list, size_t k);

// Index of the best entry. REQUIRES: a list that is not empty.
[[nodiscard]] size_t best_index(const Candidates& list);

}  // namespace lockstep::sampling
