#include "base/sin_cos.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep {
namespace {

TEST(SinCos, AgreesWithTheLibraryUpToLongContexts) {
  for (double x = 0.0; x < 200000.0; x = x * 1.003 + 0.01) {
    const SinCos got = sin_cos(x);
    EXPECT_NEAR(got.sin, std::sin(x), 1e-14) << x;
    EXPECT_NEAR(got.cos, std::cos(x), 1e-14) << x;
  }
  EXPECT_EQ(sin_cos(0.0).sin, 0.0);
  EXPECT_EQ(sin_cos(0.0).cos, 1.0);
}

// A file's rotation frequencies may make any angle; beyond int64 the quarter turns cannot even be counted.
TEST(SinCos, OfAnglesBeyondEveryUseIsNotANumber) {
  for (const double x : {0x1p51, 1.2e19, 1.1e20, 1e300, double{INFINITY}, double{NAN}}) {
    for (const double angle : {x, -x}) {
      EXPECT_TRUE(std::isnan(sin_cos(angle).sin)) << angle;
      EXPECT_TRUE(std::isnan(sin_cos(angle).cos)) << angle;
    }
  }
  EXPECT_TRUE(std::isfinite(sin_cos(0x1p50).sin));
}

}  // namespace
}  // namespace lockstep
