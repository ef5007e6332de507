#include "exec/kv_cache.h"

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"

namespace lockstep::exec {

namespace {

constexpr uint64_t kHugePage = uint64_t{2} << 20;
constexpr uint64_t kSlab = 4 * kHugePage;

}  // namespace

KvCache::KvCache(const Shape& shape)
    : shape_(shape), block_bytes_(static_cast<uint64_t>(shape.n_layers * 2 * shape.n_kv_heads * shape.chunk_bytes)) {
  const int64_t most_blocks = ceil_div(shape.max_positions, kBlockPositions);
  blocks_per_slab_ = std::clamp(kSlab / block_bytes_, uint64_t{1}, static_cast<uint64_t>(most_blocks));
  // Room in the lists for what is usual; a context of millions grows them.
  constexpr int64_t kUsualBlocks = 1024;
  const auto n_usual = static_cast<size_t>(std::min(kUsualBlocks, most_blocks));
  blocks_.reserve(n_usual);
  slabs_.reserve(n_usual / blocks_per_slab_ + 1);
}

void KvCache::reserve(int64_t n) {
  if (n > shape_.max_positions) {
    fail(ErrorCode::kContextFull, "{} tokens do not fit the context of {}", n, shape_.max_positions);
  }
  const auto wanted = static_cast<size_t>(ceil_div(n, kBlockPositions));
  while (blocks_.size() < wanted) add_block();
}

// The end of a slab is in huge pages too, if it has any. What is not written to takes no memory.
void KvCache::add_block() {
  const uint64_t place = blocks_.size() % blocks_per_slab_;
  if (place == 0) {
    const uint64_t bytes = blocks_per_slab_ * block_bytes_;
    const uint64_t first = blocks_.size() * kBlockPositions;
    slabs_.emplace_back(
        bytes < kHugePage ? bytes : round_up(bytes, kHugePage),
        fmt::format("the KV cache of positions {} to {}", first, first + blocks_per_slab_ * kBlockPositions - 1));
  }
  blocks_.push_back(slabs_.back().data() + place * block_bytes_);
}

}  // namespace lockstep::exec
