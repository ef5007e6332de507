// Keys and values of one timeline (one sequence), in blocks of 128 absolute positions that are allocated as they are
// reached.
//
// Per block, layer and KV head: one run of bytes of keys and one of values, laid out as the kernels like
// (kernels/table.h). Blocks are aligned to absolute positions, so that a reused prefix, a prompt in chunks and a prompt
// in one go see the same memory and give the same bits. Blocks smaller than a huge page share slabs of memory: a token
// reads every block of the timeline, and in small pages that is more of them than a processor keeps translations for.
// Positions past length() hold zeros or leftovers; attention never looks at them. Not thread-safe by itself: reserve()
// between programs, then members write disjoint positions and heads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"

namespace lockstep::exec {

class KvCache {
 public:
  struct Shape {
    int64_t n_layers;
    int64_t n_kv_heads;
    int64_t chunk_bytes;  // of one head's keys, or values, of kBlockPositions positions
    int64_t max_positions;
  };
  static constexpr int64_t kBlockPositions = 128;

  explicit KvCache(const Shape& shape);

  [[nodiscard]] int64_t length() const noexcept { return length_; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] uint64_t allocated_bytes() const noexcept { return blocks_.size() * block_bytes_; }
  [[nodiscard]] uint64_t block_bytes() const noexcept { return block_bytes_; }

  // Makes room for positions up to `n` (at most max_positions). Error kContextFull or kNoMemory, with both numbers;
  // nothing changes then.
  void reserve(int64_t n);

  // Positions 0..n-1 are filled from now on: up after a forward pass, down to forget the end.
  void set_length(int64_t n) noexcept { length_ = n; }

  // The chunk that holds positions [128 * chunk, 128 * chunk + 128) of a layer's KV head.
  [[nodiscard]] void* k(int64_t chunk, int64_t layer, int64_t kv_head) noexcept { return at(chunk, layer, kv_head, 0); }
  [[nodiscard]] void* v(int64_t chunk, int64_t layer, int64_t kv_head) noexcept { return at(chunk, layer, kv_head, 1); }

  // All of a block of 128 positions that was reserved, as one run of bytes.
  [[nodiscard]] std::span<std::byte> block(uint64_t i) noexcept { return {blocks_[i], block_bytes_}; }
  [[nodiscard]] std::span<const std::byte> block(uint64_t i) const noexcept { return {blocks_[i], block_bytes_}; }

 private:
  [[nodiscard]] void* at(int64_t chunk, int64_t layer, int64_t kv_head, int64_t which) noexcept {
    const int64_t index = ((layer * 2 + which) * shape_.n_kv_heads + kv_head) * shape_.chunk_bytes;
    return blocks_[static_cast<size_t>(chunk)] + index;
  }
  void add_block();

  Shape shape_;
  uint64_t block_bytes_;
  uint64_t blocks_per_slab_;
  int64_t length_ = 0;
  std::vector<std::byte*> blocks_;  // in slabs_
  std::vector<Buffer> slabs_;
};

}  // namespace lockstep::exec
