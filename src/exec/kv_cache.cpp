#include "exec/kv_cache.h"

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"

namespace lockstep::exec {

KvCache::KvCache(const Shape& shape)
    : shape_(shape), block_bytes_(static_cast<uint64_t>(shape.n_layers * 2 * shape.n_kv_heads * shape.chunk_bytes)) {
  // Room in the list for what is usual; a context of millions grows it, block by block.
  constexpr int64_t kUsualBlocks = 1024;
  blocks_.reserve(static_cast<size_t>(std::min(kUsualBlocks, ceil_div(shape.max_positions, kBlockPositions))));
}

void KvCache::reserve(int64_t n) {
  if (n > shape_.max_positions) {
    fail(ErrorCode::kContextFull, "{} tokens do not fit the context of {}", n, shape_.max_positions);
  }
  const auto wanted = static_cast<size_t>(ceil_div(n, kBlockPositions));
  while (blocks_.size() < wanted) {
    blocks_.emplace_back(block_bytes_,
                         fmt::format("the KV cache of positions {} to {}", blocks_.size() * kBlockPositions,
                                     (blocks_.size() + 1) * kBlockPositions - 1));
  }
}

}  // namespace lockstep::exec
