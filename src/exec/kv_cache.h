// Keys and values of one timeline (one sequence), in blocks of 128 absolute positions that are allocated as they are
// reached.
//
// Per block, layer and KV head: one run of bytes of keys and one of values, laid out as the kernels like
// (kernels/table.h). Blocks are aligned to absolute positions, so that a reused prefix, a prompt in chunks and a prompt
// in one go see the same memory and give the same bits. Positions past length() hold zeros or leftovers; attention
// never looks at them.
//
// Windowed layers look back a limited number of positions only. Their blocks are apart from those of the other layers,
// and those that no window reaches any more are used again, so that they do not grow with the timeline. What lies
// `margin` positions behind the window stays, and what a mark() needs: there the timeline can be cut back to.
//
// Not thread-safe by itself: reserve() between programs, then members write disjoint positions and heads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "exec/block_pool.h"

namespace lockstep::exec {

class KvCache {
 public:
  struct Shape {
    int64_t n_layers;
    int64_t n_kv_heads;
    int64_t chunk_bytes;  // of one head's keys, or values, of kBlockPositions positions
    int64_t max_positions;
    std::vector<bool> windowed = {};  // by layer; empty: none is
    int64_t window = 0;               // positions that windowed layers attend to, their own included
    int64_t margin = 0;               // positions before the window that are kept as well
  };
  static constexpr int64_t kBlockPositions = 128;
  static constexpr size_t kMostMarks = 8;

  explicit KvCache(const Shape& shape);

  [[nodiscard]] int64_t length() const noexcept { return length_; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] uint64_t allocated_bytes() const noexcept { return whole_.bytes_in_use() + windows_.bytes_in_use(); }

  // Makes room for positions from length() up to `n` (at most max_positions). Error kContextFull or kNoMemory, with
  // both numbers; the timeline is then as it was.
  void reserve(int64_t n);

  // For a pause, such as the one after an answer: makes room for a block's worth of positions more and has the system
  // give its memory, which takes milliseconds that the next forward pass then does not. Without memory nothing happens.
  void commit_ahead() noexcept;

  // After a forward pass: positions up to n - 1 are filled as well.
  void set_length(int64_t n) noexcept { length_ = n; }

  // Forgets the end. The timeline keeps its first n positions or, where windowed layers no longer have what position n
  // would look at, the longest beginning for which they do: that of a mark, or none. Returns how many it keeps.
  int64_t cut(int64_t n) noexcept;
  // What cut(n) would return.
  [[nodiscard]] int64_t longest_beginning(int64_t n) const noexcept;

  // A turn begins here: cut() can come back to the present length for as long as it is one of the last kMostMarks.
  void mark();

  // The chunk that holds positions [128 * chunk, 128 * chunk + 128) of a layer's KV head.
  [[nodiscard]] void* k(int64_t chunk, int64_t layer, int64_t kv_head) noexcept { return at(chunk, layer, kv_head, 0); }
  [[nodiscard]] void* v(int64_t chunk, int64_t layer, int64_t kv_head) noexcept { return at(chunk, layer, kv_head, 1); }

  // ---- as runs of bytes, for session files ----

  // Empties the timeline and makes room for one of n positions, which the caller fills block by block.
  void prepare(int64_t n);
  // Of the layers that are not windowed: blocks 0..n_blocks(n)-1.
  [[nodiscard]] static int64_t n_blocks(int64_t n) noexcept { return (n + kBlockPositions - 1) / kBlockPositions; }
  [[nodiscard]] uint64_t block_bytes() const noexcept { return whole_.block_bytes(); }
  [[nodiscard]] std::span<std::byte> block(int64_t i) const noexcept {
    return {whole_blocks_[static_cast<size_t>(i)], block_bytes()};
  }
  // Positions whose blocks windowed layers ever keep at a time, when passes are of at most `batch` tokens and no mark
  // keeps more.
  [[nodiscard]] static int64_t most_window_positions(int64_t window, int64_t margin, int64_t batch) noexcept;
  // Of the windowed layers: blocks first_window_block(n)..n_blocks(n)-1 are what position n looks at.
  [[nodiscard]] int64_t first_window_block(int64_t n) const noexcept;
  [[nodiscard]] uint64_t window_block_bytes() const noexcept { return windows_.block_bytes(); }
  [[nodiscard]] std::span<std::byte> window_block(int64_t i) const noexcept {
    return {window_blocks_[static_cast<size_t>(i)], window_block_bytes()};
  }

 private:
  // Where in a block a layer is, and in which kind of block.
  struct Place {
    bool windowed;
    int64_t index;
  };

  [[nodiscard]] void* at(int64_t chunk, int64_t layer, int64_t kv_head, int64_t which) noexcept {
    const Place place = places_[static_cast<size_t>(layer)];
    const std::vector<std::byte*>& blocks = place.windowed ? window_blocks_ : whole_blocks_;
    return blocks[static_cast<size_t>(chunk)] +
           ((place.index * 2 + which) * shape_.n_kv_heads + kv_head) * shape_.chunk_bytes;
  }
  [[nodiscard]] uint64_t bytes_of_layers(bool windowed) const noexcept;
  [[nodiscard]] bool has_window_of(int64_t n) const noexcept;
  void take_blocks(int64_t first_window, int64_t n);
  void give_back_windows(int64_t begin, int64_t end) noexcept;
  void give_back_unreachable() noexcept;

  Shape shape_;
  std::vector<Place> places_;
  BlockPool whole_;
  BlockPool windows_;
  int64_t length_ = 0;
  std::vector<std::byte*> whole_blocks_;
  std::vector<std::byte*> window_blocks_;  // null: given back
  std::vector<int64_t> marks_;             // ascending
};

}  // namespace lockstep::exec
