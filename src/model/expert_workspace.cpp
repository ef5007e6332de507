#include "model/expert_workspace.h"

#include <algorithm>

namespace lockstep::model {
namespace {

using exec::array_bytes;

int64_t n_gathered(const Config& c, int64_t batch) {
  return batch * c.n_experts_used;
}

uint64_t own_bytes(const Config& c, int64_t batch) {
  return array_bytes<float>(c.n_experts) + array_bytes<int32_t>(c.n_experts_used) +
         array_bytes<float>(c.n_experts_used) + array_bytes<int64_t>(n_gathered(c, batch)) +
         array_bytes<ExpertGroup>(n_gathered(c, batch)) + array_bytes<int64_t>(c.n_experts);
}

uint64_t arena_bytes(const Config& c, int n_members, int64_t batch) {
  if (!c.has_experts()) return 0;
  const int64_t n = n_gathered(c, batch);
  return array_bytes<float>(batch * c.n_experts) + array_bytes<int32_t>(n) + array_bytes<float>(n) +
         ActivationBuffer::bytes(n, c.n_embd) + array_bytes<float>(n * c.n_embd) +
         static_cast<uint64_t>(n_members) * own_bytes(c, batch);
}

}  // namespace

ExpertWorkspace::ExpertWorkspace(const Config& c, int n_members, int64_t batch)
    : arena(arena_bytes(c, n_members, batch), "the experts' working memory of a batch") {
  if (!c.has_experts()) return;
  const int64_t n = n_gathered(c, batch);
  scores = arena.take<float>(batch * c.n_experts);
  chosen = arena.take<int32_t>(n);
  weights = arena.take<float>(n);
  gathered = ActivationBuffer::take(arena, n, c.n_embd);
  results = arena.take<float>(n * c.n_embd);
  for (int i = 0; i < n_members; ++i) {
    own.push_back({arena.take<float>(c.n_experts), arena.take<int32_t>(c.n_experts_used),
                   arena.take<float>(c.n_experts_used), arena.take<int64_t>(n), arena.take<ExpertGroup>(n),
                   arena.take<int64_t>(c.n_experts)});
  }
}

}  // namespace lockstep::model
