#include "bench_sequences.h"

#include <algorithm>
#include <chrono>

#include "base/random.h"

namespace lockstep {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

BenchSequences::BenchSequences(engine::Engine& engine, int64_t n_sequences) : engine_(engine) {
  for (int64_t i = 0; i < n_sequences; ++i) {
    caches_.emplace_back(model::cache_shape(engine.model(), engine.ctx_size()));
  }
  rows_.reserve(static_cast<size_t>(std::max(engine.max_batch(), n_sequences)));
}

// The same tokens in every program run.
int32_t BenchSequences::next_token() {
  constexpr PhiloxKey kKey = {1, 0};
  return static_cast<int32_t>(philox4x32({n_drawn_++, 0, 0, 0}, kKey)[0] % static_cast<uint64_t>(engine_.n_vocab()));
}

// A pass over rows_, each of which is the next position of its cache or follows another row of the same cache.
void BenchSequences::forward() {
  engine_.forward(rows_);
  for (const model::BatchRow& row : rows_) row.cache->set_length(row.position + 1);
  const auto n_wanted = std::ranges::count_if(rows_, [](const model::BatchRow& row) { return row.wants_logits; });
  work_ += pass_work(engine_.model(), static_cast<int64_t>(rows_.size()), n_wanted);
}

void BenchSequences::extend(exec::KvCache& cache, int64_t n, bool wants_logits) {
  for (const int64_t end = cache.length() + n; cache.length() < end;) {
    const int64_t first = cache.length();
    const int64_t last = std::min(end, first + engine_.max_batch());
    cache.reserve(last);
    rows_.clear();
    for (int64_t position = first; position < last; ++position) {
      rows_.push_back({next_token(), position, &cache, wants_logits && position + 1 == end});
    }
    forward();
  }
}

void BenchSequences::fill(int64_t depth) {
  for (exec::KvCache& cache : caches_) {
    cache.cut(depth_);  // what a test has appended goes
    extend(cache, std::max<int64_t>(0, depth - cache.length()), false);
    cache.mark();  // each run comes back here
  }
  depth_ = depth;
}

// Keys and values of all layers, as far back as each looks; at depth 0 they do not count.
double BenchSequences::cache_bytes_read(int64_t positions) const {
  if (depth_ == 0) return 0;
  const exec::KvCache& cache = caches_.front();
  const auto per_position = [](uint64_t block_bytes) {
    return static_cast<double>(block_bytes) / exec::KvCache::kBlockPositions;
  };
  return per_position(cache.block_bytes()) * static_cast<double>(positions) +
         per_position(cache.window_block_bytes()) * static_cast<double>(std::min(positions, cache.shape().window));
}

BenchSequences::Measured BenchSequences::prefill(int64_t n) {
  exec::KvCache& cache = caches_.front();
  cache.cut(depth_);
  cache.reserve(depth_ + n);
  work_ = {};
  const auto begin = std::chrono::steady_clock::now();
  extend(cache, n, true);
  const double seconds = seconds_since(begin);
  double bytes = work_.weight_bytes;
  for (int64_t done = 0; done < n; done += engine_.max_batch()) {
    bytes += cache_bytes_read(depth_ + std::min(n, done + engine_.max_batch()));
  }
  return {seconds, n, bytes, work_.macs};
}

BenchSequences::Measured BenchSequences::decode(int64_t n, int64_t n_sequences) {
  for (int64_t i = 0; i < n_sequences; ++i) {
    caches_[static_cast<size_t>(i)].cut(depth_);
    caches_[static_cast<size_t>(i)].reserve(depth_ + n);
  }
  work_ = {};
  double bytes = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int64_t step = 0; step < n; ++step) {
    rows_.clear();
    for (int64_t i = 0; i < n_sequences; ++i) {
      rows_.push_back({next_token(), depth_ + step, &caches_[static_cast<size_t>(i)], true});
    }
    forward();
    bytes += cache_bytes_read(depth_ + step + 1) * static_cast<double>(n_sequences);
  }
  const double seconds = seconds_since(begin);
  return {seconds, n * n_sequences, bytes + work_.weight_bytes, work_.macs};
}

}  // namespace lockstep
