// Every intermediate of a forward pass, sized once for the largest batch: nothing is allocated between a token and its
// logits.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "exec/arena.h"
#include "kernels/table.h"
#include "model/activation_buffer.h"
#include "model/config.h"
#include "model/expert_workspace.h"

namespace lockstep::model {

// Candidates among one member's share of a row of logits.
inline constexpr int64_t kShortlist = 64;  // the best this many are among them
struct HeadShare {
  static constexpr int32_t kMost = 512;
  bool complete;  // false: no list was made
  int32_t n;
  int32_t ids[kMost];
  float logits[kMost];
};

struct Workspace {
  // n_members threads, batches of up to max_batch rows, of which up to max_logits want logits, contexts of up to
  // max_positions.
  Workspace(const Config& config, int n_members, int64_t max_batch, int64_t max_logits, int64_t max_positions);

  int64_t max_batch;
  int64_t max_logits;
  int64_t max_chunks;      // of a row whose attention is split
  int64_t max_split_rows;  // rows whose attention is split over chunks; see attention.cpp

  exec::Arena arena;
  std::span<float> x;                // [max_batch, n_embd]: the residual stream
  std::span<float> q;                // [max_batch, n_heads * head_dim]
  std::span<float> k, v;             // [max_batch, n_kv_heads * head_dim]: rows on their way into the cache
  std::span<float> heads;            // [max_batch, n_heads * head_dim]: attention's result
  std::span<float> gate;             // [max_batch * n_branches, n_ff]
  std::span<float> up;               // [max_batch * n_branches, n_ff]
  std::span<float> cos_sin;          // [max_batch, n_angles]
  std::span<float> logits;           // [max_logits, n_vocab]
  std::span<HeadShare> head_shares;  // [max_logits, n_members]
  std::span<int64_t> wanted;         // [max_batch]: the rows that want logits

  ActivationBuffer shared;  // a batch's rows, prepared by all members together
  // What each member has for itself: a single prepared row, and the kernels' scratch memory.
  struct Own {
    ActivationBuffer row;
    std::span<std::byte> scratch;
  };
  std::vector<Own> own;

  // Attention split over chunks: results of each (row, head, chunk), and how many chunks of each (row, KV head) are
  // done.
  std::span<kernels::AttentionPartial> partial;         // [max_split_rows, n_heads, max_chunks]
  std::span<float> partial_o;                           // [max_split_rows, n_heads, max_chunks, head_dim]
  std::unique_ptr<std::atomic<int64_t>[]> chunks_done;  // [max_split_rows, n_kv_heads]

  // A product before it is added to x, [rows, n_embd]: for families that need it, or while an observer looks on; else
  // empty.
  std::vector<float> product;

  ExpertWorkspace experts;

  // The first activation that was not finite, as 1 + layer * kSites + site; 0 while there is none.
  std::atomic<int64_t> fault{0};

  [[nodiscard]] std::span<const HeadShare> shares_of_row(int64_t row) const {
    return head_shares.subspan(static_cast<size_t>(row) * own.size(), own.size());
  }
};

}  // namespace lockstep::model
