// Which entries of a long array satisfy a condition that few do.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lockstep::sampling {

// The indices i < n with wanted(i), ascending, in `memory`. Where none of a block's is wanted, its cost is that of
// comparisons in vector registers, provided wanted is simple enough. REQUIRES: n places in memory.
template <typename Wanted>
[[nodiscard]] std::span<uint32_t> indices_where(size_t n, const Wanted& wanted, std::span<uint32_t> memory) {
  constexpr size_t kBlock = 32;
  size_t n_found = 0;
  for (size_t begin = 0; begin < n; begin += kBlock) {
    const size_t end = std::min(begin + kBlock, n);
    if (end - begin == kBlock) {
      unsigned any = 0;
      for (size_t j = 0; j < kBlock; ++j) any |= static_cast<unsigned>(wanted(begin + j));
      if (any == 0) continue;
    }
    for (size_t i = begin; i < end; ++i) {
      memory[n_found] = static_cast<uint32_t>(i);
      n_found += static_cast<size_t>(wanted(i));
    }
  }
  return memory.first(n_found);
}

}  // namespace lockstep::sampling
