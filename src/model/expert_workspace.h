// What a mixture of experts (experts.h) keeps between its phases, sized once for the largest batch; empty for models
// without experts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "exec/arena.h"
#include "model/activation_buffer.h"
#include "model/config.h"

namespace lockstep::model {

// Rows [begin, end) of the gathered activations, which go through this expert.
struct ExpertGroup {
  int64_t expert;
  int64_t begin, end;
};

struct ExpertWorkspace {
  ExpertWorkspace(const Config& config, int n_members, int64_t max_batch);

  exec::Arena arena;
  std::span<float> scores;    // [max_batch, n_experts]: the router's logits, of a batch then the probabilities
  std::span<int32_t> chosen;  // [max_batch, n_experts_used]: best first
  std::span<float> weights;   // [max_batch, n_experts_used]
  ActivationBuffer gathered;  // [max_batch * n_experts_used, n_embd]: tokens beside those with the same expert
  std::span<float> results;   // [max_batch * n_experts_used, n_embd]: of the experts, for each gathered row

  // What each member has for itself: the routing of a single row, and its own list of who goes where, which is cheaper
  // than a meeting.
  struct Own {
    std::span<float> probabilities;  // [n_experts]
    std::span<int32_t> chosen;       // [n_experts_used]
    std::span<float> weights;        // [n_experts_used]
    std::span<int64_t> place;        // [max_batch * n_experts_used]: the gathered row of each token's chosen experts
    std::span<ExpertGroup> groups;   // at most one for each gathered row, or expert
    std::span<int64_t> next;         // [n_experts]: while they are counted
  };
  std::vector<Own> own;
};

}  // namespace lockstep::model
