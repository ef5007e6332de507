#include "model/rope.h"

#include <gtest/gtest.h>

#include <cmath>

#include "forge/random_data.h"

namespace lockstep::model {
namespace {

// Unit roundoff of fp32.
constexpr double kRoundoff = 0x1p-24;

// Pair i's angle is position * scale^i / factor: scale is rounded once (which its i-th power has i times), each of the
// i products once and the quotient once. The cosine itself is rounded once more.
double most_error(double angle, int64_t i) {
  return std::abs(angle) * static_cast<double>(2 * i + 1) * kRoundoff + kRoundoff;
}

class RopeAngles : public testing::Test {
 protected:
  // The largest error of the table's cosines and sines over what roundings explain.
  double worst(std::span<const float> factors, int64_t position) const {
    std::vector<float> table(static_cast<size_t>(config_.n_rot));
    RopeTable(config_, factors).fill(position, table.data());
    double worst = 0;
    for (int64_t i = 0; i < config_.n_rot / 2; ++i) {
      const auto pair = static_cast<size_t>(i);
      const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(config_.n_rot);
      const double frequency = std::pow(double{config_.freq_base}, exponent);
      const double angle = static_cast<double>(position) * frequency / (factors.empty() ? 1.0 : double{factors[pair]});
      const double error =
          std::max(std::abs(table[2 * pair] - std::cos(angle)), std::abs(table[2 * pair + 1] - std::sin(angle)));
      worst = std::max(worst, error / most_error(angle, i));
    }
    return worst;
  }

  const RopeConfig config_ = {128, 500000.0f, 1.0f, false, 0, 0, 1.0f};
};

// Beyond 8191 the original context of Llama 3.1 ends, and its factors, from 1 to 8, are what counts.
TEST_F(RopeAngles, FarOutAreThoseOfDoublePrecisionWithAndWithoutFactors) {
  forge::RandomData random(3);
  std::vector<float> factors(64);
  for (float& factor : factors) factor = random.uniform(1.0f, 8.0f);
  for (int64_t position = 8191; position <= 20000; position += position < 8200 ? 1 : 197) {
    ASSERT_LE(worst(factors, position), 1.0) << position;
    ASSERT_LE(worst({}, position), 1.0) << position;
  }
  ASSERT_LE(worst(factors, 20000), 1.0);
  // The tolerance would not hide a neighbouring position.
  std::vector<float> here(128), next(128);
  RopeTable(config_, factors).fill(20000, here.data());
  RopeTable(config_, factors).fill(20001, next.data());
  EXPECT_GT(std::abs(here[0] - next[0]) + std::abs(here[1] - next[1]), 10 * most_error(20000, 0));
}

}  // namespace
}  // namespace lockstep::model
