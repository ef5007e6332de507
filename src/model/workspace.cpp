#include "model/workspace.h"

#include <algorithm>

#include "base/checked.h"

namespace lockstep::model {
namespace {

using exec::array_bytes;

int64_t widest_input(const Config& c) {
  return std::max({c.n_embd, c.q_width(), c.n_ff});
}

// Of what a row of the batch has prepared at a time: the hidden rows of all its experts.
int64_t prepared_width(const Config& c) {
  return std::max(widest_input(c), c.n_branches() * ActivationBuffer::padded(c.n_ff));
}

// A row at a position beyond a million is not split: the results of its chunks would take more memory than is worth it.
constexpr int64_t kMostSplitChunks = 8192;

// Attention is split over chunks only while there are few rows: below four units of work a member.
int64_t split_rows(const Config& c, int n_members, int64_t max_batch) {
  return std::min(max_batch, ceil_div(int64_t{4} * n_members, c.n_kv_heads));
}

int64_t scratch_bytes(const Config& c, int64_t batch) {
  return static_cast<int64_t>(kernels::linear_scratch_bytes(widest_input(c), batch));
}

uint64_t arena_bytes(const Config& c, int n_members, int64_t batch, int64_t logits, int64_t chunks) {
  const int64_t split = split_rows(c, n_members, batch);
  const int64_t per_row = c.n_embd + 2 * c.q_width() + 2 * c.kv_width() + 2 * c.n_branches() * c.n_ff + c.n_angles();
  constexpr uint64_t kArrays = 16;
  return array_bytes<float>(batch * per_row) + array_bytes<float>(logits * c.n_vocab) +
         array_bytes<HeadShare>(logits * n_members) + array_bytes<int64_t>(batch) +
         ActivationBuffer::bytes(batch, prepared_width(c)) +
         static_cast<uint64_t>(n_members) *
             (ActivationBuffer::bytes(1, prepared_width(c)) + array_bytes<std::byte>(scratch_bytes(c, batch))) +
         array_bytes<kernels::AttentionPartial>(split * c.n_heads * chunks) +
         array_bytes<float>(split * c.n_heads * chunks * c.head_dim) + kArrays * exec::Arena::kAlignment;
}

}  // namespace

Workspace::Workspace(const Config& c, int n_members, int64_t batch, int64_t logits_rows, int64_t max_positions)
    : max_batch(batch),
      max_logits(logits_rows),
      max_chunks(std::min(kMostSplitChunks, ceil_div(max_positions, kernels::kChunk))),
      max_split_rows(split_rows(c, n_members, batch)),
      arena(arena_bytes(c, n_members, batch, logits_rows, max_chunks), "the working memory of a batch"),
      x(arena.take<float>(batch * c.n_embd)),
      q(arena.take<float>(batch * c.q_width())),
      k(arena.take<float>(batch * c.kv_width())),
      v(arena.take<float>(batch * c.kv_width())),
      heads(arena.take<float>(batch * c.q_width())),
      gate(arena.take<float>(batch * c.n_branches() * c.n_ff)),
      up(arena.take<float>(batch * c.n_branches() * c.n_ff)),
      cos_sin(arena.take<float>(batch * c.n_angles())),
      logits(arena.take<float>(logits_rows * c.n_vocab)),
      head_shares(arena.take<HeadShare>(logits_rows * n_members)),
      wanted(arena.take<int64_t>(batch)),
      shared(ActivationBuffer::take(arena, batch, prepared_width(c))),
      partial(arena.take<kernels::AttentionPartial>(max_split_rows * c.n_heads * max_chunks)),
      partial_o(arena.take<float>(max_split_rows * c.n_heads * max_chunks * c.head_dim)),
      chunks_done(new std::atomic<int64_t>[static_cast<size_t>(max_split_rows * c.n_kv_heads)]()),
      product(c.adds_apart() ? static_cast<size_t>(batch * c.n_embd) : 0),
      experts(c, n_members, batch) {
  for (int i = 0; i < n_members; ++i) {
    own.push_back(
        {ActivationBuffer::take(arena, 1, prepared_width(c)), arena.take<std::byte>(scratch_bytes(c, batch))});
  }
}

}  // namespace lockstep::model
