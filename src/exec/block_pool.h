// Blocks of memory of one size, taken and given back one by one.
//
// Blocks smaller than a huge page share slabs: a token reads every block of its timeline, and in small pages that is
// more of them than a processor keeps translations for. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/buffer.h"

namespace lockstep::exec {

class BlockPool {
 public:
  // At most about `most_blocks` are ever taken at a time. Blocks of 0 bytes are null.
  BlockPool(uint64_t block_bytes, uint64_t most_blocks);

  [[nodiscard]] uint64_t block_bytes() const noexcept { return block_bytes_; }
  [[nodiscard]] uint64_t bytes_in_use() const noexcept { return n_taken_ * block_bytes_; }

  // A block, of zeros or with what it held when it was given back. Error kNoMemory naming `purpose`; nothing changes
  // then.
  [[nodiscard]] std::byte* take(std::string_view purpose);
  void give_back(std::byte* block) noexcept;

 private:
  uint64_t block_bytes_;
  uint64_t blocks_per_slab_;
  uint64_t n_taken_ = 0;
  std::vector<std::byte*> free_;  // has room for all blocks there are
  std::vector<Buffer> slabs_;
};

}  // namespace lockstep::exec
