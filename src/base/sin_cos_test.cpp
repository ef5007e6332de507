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

}  // namespace
}  // namespace lockstep
