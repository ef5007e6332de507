#include "model/attention.h"

#include <algorithm>
#include <limits>

#include "kernels/table.h"

namespace lockstep::model {
namespace {

using kernels::AttentionPartial;
using kernels::kChunk;

// The query heads of one row that share a KV head.
class Group {
 public:
  Group(const Step& step, int64_t layer, int64_t row, int64_t kv_head)
      : step_(step), layer_(layer), entry_(step.batch[static_cast<size_t>(row)]), kv_head_(kv_head) {
    const Config& c = step.config();
    offset_ = row * c.q_width() + kv_head * c.n_group() * c.head_dim;
    first_position_ = c.first_attended(layer, entry_.position);
  }

  // The chunks that are attended to: from the first on, below n_chunks.
  [[nodiscard]] int64_t first_chunk() const { return first_position_ / kChunk; }
  [[nodiscard]] int64_t n_chunks() const { return entry_.position / kChunk + 1; }
  [[nodiscard]] bool sees(int64_t chunk) const { return chunk >= first_chunk() && chunk < n_chunks(); }
  [[nodiscard]] bool sees_all_of(int64_t chunk) const {
    return chunk * kChunk >= first_position_ && chunk < entry_.position / kChunk;
  }
  // At its edge: the row itself is in the chunk, and sees it from the beginning.
  [[nodiscard]] bool ends_in(int64_t chunk) const {
    return chunk * kChunk >= first_position_ && chunk == entry_.position / kChunk;
  }
  // Whether the n-th row after this one can be computed together with it: it sees all of the chunk too, or, at the
  // chunk's edge, n positions more.
  [[nodiscard]] bool may_go_with(const Group& later, int64_t n, int64_t chunk) const {
    if (sees_all_of(chunk)) return later.sees_all_of(chunk);
    return ends_in(chunk) && later.ends_in(chunk) && later.entry_.position == entry_.position + n;
  }

  [[nodiscard]] const float* q() const { return step_.work.q.data() + offset_; }
  [[nodiscard]] float* out() const { return step_.work.heads.data() + offset_; }

  // partial [n_group], o [n_group, head_dim]. `more`: the caller goes on with the following chunk.
  void attend_chunk(int64_t chunk, bool more, AttentionPartial* partial, float* o) const noexcept {
    attend_chunk(chunk, more, q(), 1, partial, o);
  }
  // The same for n_rows rows from this one on that may_go_with() it, whose queries are [n_rows, n_group, head_dim].
  void attend_chunk(int64_t chunk, bool more, const float* queries, int64_t n_rows, AttentionPartial* partial,
                    float* o) const noexcept {
    const Config& c = step_.config();
    const kernels::AttentionJob job = {
        .q = queries,
        .n_group = n_rows * c.n_group(),
        .head_dim = c.head_dim,
        .k = entry_.cache->k(chunk, layer_, kv_head_),
        .v = entry_.cache->v(chunk, layer_, kv_head_),
        .n_positions = std::min(kChunk, entry_.position + 1 - chunk * kChunk),
        .scale = c.attention_scale,
        .next_k = more ? entry_.cache->k(chunk + 1, layer_, kv_head_) : nullptr,
        .first_position = std::max(int64_t{0}, first_position_ - chunk * kChunk),
        .softcap = c.attn_softcap,
        .heads_per_token = n_rows > 1 && ends_in(chunk) ? c.n_group() : 0,
    };
    step_.kernels().attend_chunk[static_cast<int>(step_.model.cache_type)](job, partial, o);
  }

  // Results of the row's chunks, in ascending order, into total [n_group] and out(): partial [n_group],
  // o [n_group, head_dim]. Then finish().
  void add(int64_t chunk, const AttentionPartial* partial, const float* o, AttentionPartial* total) const noexcept {
    const Config& c = step_.config();
    if (chunk == first_chunk()) {
      std::copy_n(partial, c.n_group(), total);
      std::copy_n(o, c.n_group() * c.head_dim, out());
      return;
    }
    for (int64_t g = 0; g < c.n_group(); ++g) {
      const int64_t at = g * c.head_dim;
      step_.kernels().merge_chunk(total[g], out() + at, partial[g], o + at, c.head_dim);
    }
  }
  void finish(const AttentionPartial* total) const noexcept {
    const Config& c = step_.config();
    for (int64_t g = 0; g < c.n_group(); ++g)
      step_.kernels().finish_attention(total[g], out() + g * c.head_dim, c.head_dim);
  }

 private:
  const Step& step_;
  int64_t layer_;
  const BatchRow& entry_;
  int64_t kv_head_;
  int64_t offset_;
  int64_t first_position_;
};

// Many rows: those of one sequence, in ascending positions, go through the chunks together, so that keys and values are
// read and converted once for all of them, and a KV head with few query heads still fills the kernel's registers. Only
// where a window begins within a chunk is each row taken by itself.
class Tile {
 public:
  static constexpr int64_t kQueries = 16;

  // Rows begin..end-1.
  Tile(const Step& step, int64_t layer, int64_t begin, int64_t end, int64_t kv_head) noexcept
      : step_(step), c_(step.config()), layer_(layer), begin_(begin), end_(end), kv_head_(kv_head) {
    for (int64_t row = begin; row < end; ++row) std::copy_n(group(row).q(), width_, q_ + (row - begin) * width_);
  }

  void run() noexcept {
    const Group first = group(begin_);
    const Group last = group(end_ - 1);
    for (int64_t chunk = first.first_chunk(); chunk < last.n_chunks(); ++chunk) {
      for (int64_t row = begin_; row < end_;) {
        const int64_t end = end_of_run(chunk, row);
        if (group(row).sees(chunk)) attend_chunk(chunk, row, end);
        row = end;
      }
    }
    for (int64_t row = begin_; row < end_; ++row) group(row).finish(total(row));
  }

 private:
  static constexpr int64_t kMostQueries = std::max(kQueries, kernels::kMaxGroup);

  [[nodiscard]] Group group(int64_t row) const { return {step_, layer_, row, kv_head_}; }

  // The end of the rows from `row` on that are computed together.
  [[nodiscard]] int64_t end_of_run(int64_t chunk, int64_t row) const {
    int64_t end = row + 1;
    while (end < end_ && group(row).may_go_with(group(end), end - row, chunk)) ++end;
    return end;
  }

  void attend_chunk(int64_t chunk, int64_t begin, int64_t end) noexcept {
    const Group rows = group(begin);
    AttentionPartial part[kMostQueries];
    rows.attend_chunk(chunk, chunk + 1 < rows.n_chunks(), q_ + (begin - begin_) * width_, end - begin, part, o_);
    for (int64_t row = begin; row < end; ++row) {
      const int64_t at = row - begin;
      group(row).add(chunk, part + at * n_group_, o_ + at * width_, total(row));
    }
  }

  [[nodiscard]] AttentionPartial* total(int64_t row) { return total_ + (row - begin_) * n_group_; }

  const Step& step_;
  const Config& c_;
  int64_t layer_;
  int64_t begin_;
  int64_t end_;
  int64_t kv_head_;
  int64_t n_group_ = c_.n_group();
  int64_t width_ = n_group_ * c_.head_dim;  // of a row's queries
  AttentionPartial total_[kMostQueries];
  alignas(64) float q_[kMostQueries * kernels::kMaxHeadDim];
  alignas(64) float o_[kMostQueries * kernels::kMaxHeadDim];
};

bool may_share_a_tile(const BatchRow& a, const BatchRow& b) {
  return a.cache == b.cache && a.position < b.position;
}

// Units are (KV head, a few rows), drawn by ticket.
void attend_in_tiles(const Step& step, int64_t layer, exec::Member& me) noexcept {
  const int64_t n_kv_heads = step.config().n_kv_heads;
  const int64_t rows_per_unit = std::max(int64_t{1}, Tile::kQueries / step.config().n_group());
  const int64_t n_units = (step.n_rows + rows_per_unit - 1) / rows_per_unit * n_kv_heads;
  for (int64_t unit = me.next(); unit < n_units; unit = me.next()) {
    const int64_t unit_end = std::min((unit / n_kv_heads + 1) * rows_per_unit, step.n_rows);
    int64_t begin = unit / n_kv_heads * rows_per_unit;
    while (begin < unit_end) {
      int64_t end = begin + 1;
      while (end < unit_end &&
             may_share_a_tile(step.batch[static_cast<size_t>(begin)], step.batch[static_cast<size_t>(end)]))
        ++end;
      Tile(step, layer, begin, end, unit % n_kv_heads).run();
      begin = end;
    }
  }
}

// Few rows: units are (row, KV head, run of chunks), drawn by ticket. The results wait in memory, and whoever ends the
// last chunk of a group merges them in ascending order, as a tile does.
class SplitAttention {
 public:
  SplitAttention(const Step& step, int64_t layer) : step_(step), c_(step.config()), layer_(layer) {
    first_chunk_ = std::numeric_limits<int64_t>::max();
    for (const BatchRow& row : step.batch) {
      n_chunks_ = std::max(n_chunks_, row.position / kChunk + 1);
      first_chunk_ = std::min(first_chunk_, c_.first_attended(layer, row.position) / kChunk);
    }
  }

  [[nodiscard]] int64_t n_chunks() const { return n_chunks_; }

  void run(exec::Member& me) const noexcept {
    const int64_t n_groups = step_.n_rows * c_.n_kv_heads;
    const int64_t n_chunks = n_chunks_ - first_chunk_;
    const int64_t length = std::clamp(n_groups * n_chunks / (kRunsPerMember * me.count()), int64_t{1}, kLongestRun);
    const int64_t n_runs = (n_chunks + length - 1) / length;
    for (int64_t unit = me.next(); unit < n_groups * n_runs; unit = me.next()) {
      const int64_t row = unit / n_runs / c_.n_kv_heads;
      const int64_t kv_head = unit / n_runs % c_.n_kv_heads;
      const Group group(step_, layer_, row, kv_head);
      const int64_t begin = first_chunk_ + unit % n_runs * length;
      const int64_t end = std::min(begin + length, group.n_chunks());
      for (int64_t chunk = std::max(begin, group.first_chunk()); chunk < end; ++chunk)
        attend_one(group, row, kv_head, chunk, chunk + 1 < end);
    }
  }

 private:
  // Runs are short enough to even out the members' loads, and long enough that most chunks know which follows.
  static constexpr int64_t kRunsPerMember = 8;
  static constexpr int64_t kLongestRun = 8;

  // Results are stored [row, KV head, chunk, group].
  [[nodiscard]] int64_t slot(int64_t row, int64_t kv_head, int64_t chunk) const {
    return ((row * c_.n_kv_heads + kv_head) * step_.work.max_chunks + chunk) * c_.n_group();
  }

  void attend_one(const Group& group, int64_t row, int64_t kv_head, int64_t chunk, bool more) const noexcept {
    const int64_t mine = slot(row, kv_head, chunk);
    group.attend_chunk(chunk, more, step_.work.partial.data() + mine, step_.work.partial_o.data() + mine * c_.head_dim);
    std::atomic<int64_t>& done = step_.work.chunks_done[static_cast<size_t>(row * c_.n_kv_heads + kv_head)];
    if (done.fetch_add(1, std::memory_order_acq_rel) + 1 < group.n_chunks() - group.first_chunk()) return;
    done.store(0, std::memory_order_relaxed);
    merge(group, row, kv_head);
  }

  // In the order of memory: half of it comes from other processors' caches.
  void merge(const Group& group, int64_t row, int64_t kv_head) const noexcept {
    AttentionPartial total[kernels::kMaxGroup];
    for (int64_t chunk = group.first_chunk(); chunk < group.n_chunks(); ++chunk) {
      const int64_t at = slot(row, kv_head, chunk);
      group.add(chunk, step_.work.partial.data() + at, step_.work.partial_o.data() + at * c_.head_dim, total);
    }
    group.finish(total);
  }

  const Step& step_;
  const Config& c_;
  int64_t layer_;
  int64_t first_chunk_ = 0;
  int64_t n_chunks_ = 1;
};

}  // namespace

void attend(const Step& step, int64_t layer, exec::Member& me) noexcept {
  const SplitAttention split(step, layer);
  if (step.n_rows <= step.work.max_split_rows && split.n_chunks() <= step.work.max_chunks) {
    split.run(me);
  } else {
    attend_in_tiles(step, layer, me);
  }
}

}  // namespace lockstep::model
