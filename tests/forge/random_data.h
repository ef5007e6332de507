// For tests only: seeded random numbers that are the same with every standard library. Not thread-safe.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <set>
#include <span>
#include <vector>

namespace lockstep::forge {

// Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators" (SplitMix64).
class RandomData {
 public:
  explicit RandomData(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}

  uint64_t bits() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // 0 .. n-1
  int64_t below(int64_t n) { return static_cast<int64_t>(bits() % static_cast<uint64_t>(n)); }
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  float uniform(float low, float high) { return low + static_cast<float>(unit()) * (high - low); }
  float normal() {
    return static_cast<float>(std::sqrt(-2.0 * std::log(1.0 - unit())) * std::cos(2.0 * std::numbers::pi * unit()));
  }

  std::vector<float> normals(int64_t n, float deviation = 1.0f, float mean = 0.0f) {
    std::vector<float> values(static_cast<size_t>(n));
    std::ranges::generate(values, [&] { return mean + deviation * normal(); });
    return values;
  }
  void fill_bytes(std::span<std::byte> out) {
    std::ranges::generate(out, [&] { return static_cast<std::byte>(bits() >> 56); });
  }

 private:
  uint64_t state_;
};

// Test data that does not vary proves nothing: at least `fraction` of the elements must be different numbers.
template <typename T>
void expect_varied(std::span<const T> data, double fraction = 0.5) {
  const std::set<T> different(data.begin(), data.end());
  EXPECT_GE(static_cast<double>(different.size()), fraction * static_cast<double>(data.size()));
}

}  // namespace lockstep::forge
