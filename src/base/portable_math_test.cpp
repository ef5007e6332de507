#include "base/portable_math.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep::portable {
namespace {

TEST(PortableMath, ExpAgreesWithTheLibrary) {
  for (double x = -700.0; x < 700.0; x += 0.37) EXPECT_NEAR(exp(x) / std::exp(x), 1.0, 1e-13) << x;
  EXPECT_EQ(exp(-1000.0), 0.0);
  EXPECT_TRUE(std::isinf(exp(1000.0)));
}

TEST(PortableMath, LogAgreesWithTheLibrary) {
  for (double x = 1e-3; x < 1e7; x *= 1.0137) EXPECT_NEAR(log(x), std::log(x), 1e-14 * (1.0 + std::fabs(std::log(x)))) << x;
}

TEST(PortableMath, PowGivesTheRotationScalesOfCommonModels) {
  for (const double base : {10000.0, 100000.0, 500000.0, 1000000.0}) {
    for (const double n : {32.0, 64.0, 96.0, 128.0, 256.0}) {
      EXPECT_NEAR(pow(base, -2.0 / n) / std::pow(base, -2.0 / n), 1.0, 1e-14) << base << ' ' << n;
    }
  }
}

TEST(PortableMath, SinAndCosAgreeWithTheLibraryUpToLongContexts) {
  for (double x = 0.0; x < 200000.0; x = x * 1.003 + 0.01) {
    const SinCos got = sin_cos(x);
    EXPECT_NEAR(got.sin, std::sin(x), 1e-14) << x;
    EXPECT_NEAR(got.cos, std::cos(x), 1e-14) << x;
  }
  EXPECT_EQ(sin_cos(0.0).sin, 0.0);
  EXPECT_EQ(sin_cos(0.0).cos, 1.0);
}

}  // namespace
}  // namespace lockstep::portable
