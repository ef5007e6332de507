// A sum of very many numbers whose rounding is the same on every machine.
#pragma once

#include <array>
#include <cstddef>

namespace lockstep::sampling {

// at(0) + ... + at(n - 1) in fp64: eight interleaved partial sums (at(i) goes to number i mod 8), added pairwise.
template <typename At>
[[nodiscard]] double interleaved_sum(size_t n, const At& at) {
  constexpr size_t kSums = 8;
  std::array<double, kSums> sum{};
  size_t i = 0;
  for (; i + kSums <= n; i += kSums) {
    for (size_t j = 0; j < kSums; ++j) sum[j] += at(i + j);
  }
  for (size_t j = 0; i + j < n; ++j) sum[j] += at(i + j);
  for (size_t width = kSums / 2; width > 0; width /= 2) {
    for (size_t j = 0; j < width; ++j) sum[j] += sum[j + width];
  }
  return sum[0];
}

}  // namespace lockstep::sampling
