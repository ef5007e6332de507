#include "exec/block_pool.h"

#include <algorithm>

#include "base/checked.h"

namespace lockstep::exec {
namespace {

constexpr uint64_t kSlab = 4 * kHugePage;

}  // namespace

BlockPool::BlockPool(uint64_t block_bytes, uint64_t most_blocks) : block_bytes_(block_bytes) {
  const uint64_t fitting = kSlab / std::max(block_bytes, uint64_t{1});
  blocks_per_slab_ = std::clamp(fitting, uint64_t{1}, std::max(most_blocks, uint64_t{1}));
  // Room in the lists for what is usual, so that they do not grow between two tokens; beyond that they do.
  constexpr uint64_t kUsualBlocks = 1024;
  free_.reserve(std::min(kUsualBlocks, most_blocks) + blocks_per_slab_);
  slabs_.reserve(std::min(kUsualBlocks, most_blocks) / blocks_per_slab_ + 1);
}

// The end of a slab is in huge pages too, if it has any. What is not written to takes no memory.
std::byte* BlockPool::take(std::string_view purpose) {
  if (block_bytes_ == 0) return nullptr;
  if (free_.empty()) {
    const uint64_t bytes = blocks_per_slab_ * block_bytes_;
    free_.reserve((slabs_.size() + 1) * blocks_per_slab_);
    slabs_.emplace_back(bytes < kHugePage ? bytes : round_up(bytes, kHugePage), purpose);
    for (uint64_t i = blocks_per_slab_; i-- > 0;) free_.push_back(slabs_.back().data() + i * block_bytes_);
  }
  std::byte* block = free_.back();
  free_.pop_back();
  ++n_taken_;
  return block;
}

void BlockPool::give_back(std::byte* block) noexcept {
  if (block == nullptr) return;
  free_.push_back(block);
  --n_taken_;
}

}  // namespace lockstep::exec
