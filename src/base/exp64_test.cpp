#include "base/exp64.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace lockstep {
namespace {

// How many representable numbers lie between two positive (or two negative) doubles.
int64_t ulp_distance(double a, double b) {
  return std::abs(static_cast<int64_t>(std::bit_cast<uint64_t>(a)) - static_cast<int64_t>(std::bit_cast<uint64_t>(b)));
}

TEST(Exp64, IsWithinOneUlpOfTheCLibraryOverTheWholeRange) {
  int64_t worst = 0;
  for (uint64_t i = 0; i < 200000; ++i) {
    const double x = -745.0 + uniform_draw(1, i) * (709.7 + 745.0);
    worst = std::max(worst, ulp_distance(exp64(x), std::exp(x)));
  }
  for (uint64_t i = 0; i < 200000; ++i) {
    const double x = -20.0 + uniform_draw(2, i) * 20.0;
    worst = std::max(worst, ulp_distance(exp64(x), std::exp(x)));
  }
  EXPECT_LE(worst, 1);
}

TEST(Exp64, IsExactAtTheEdges) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(exp64(0.0), 1.0);
  EXPECT_EQ(exp64(-0.0), 1.0);
  EXPECT_EQ(exp64(-infinity), 0.0);
  EXPECT_EQ(exp64(-1e300), 0.0);
  EXPECT_EQ(exp64(infinity), infinity);
  EXPECT_EQ(exp64(709.9), infinity);
  EXPECT_TRUE(std::isnan(exp64(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_EQ(exp64(-745.1), std::numeric_limits<double>::denorm_min());
}

// A change of the order of operations, or a fused multiply-add, shows here.
TEST(Exp64, KeepsTheseBits) {
  EXPECT_EQ(std::bit_cast<uint64_t>(exp64(1.0)), 0x4005bf0a8b14576au);
  EXPECT_EQ(std::bit_cast<uint64_t>(exp64(-1.0)), 0x3fd78b56362cef38u);
  uint64_t hash = 0;
  for (uint64_t i = 0; i < 10000; ++i) {
    const double x = -30.0 + uniform_draw(3, i) * 30.0;
    hash = hash * 0x9E3779B97F4A7C15u + std::bit_cast<uint64_t>(exp64(x));
    hash = hash * 0x9E3779B97F4A7C15u + std::bit_cast<uint64_t>(log64(-x));
  }
  EXPECT_EQ(hash, 11641146470048022469u);
}

TEST(Log64, IsWithinOneUlpOfTheCLibrary) {
  int64_t worst = 0;
  for (uint64_t i = 0; i < 200000; ++i) {
    const double x = std::exp(-740.0 + uniform_draw(4, i) * 1449.0);
    worst = std::max(worst, ulp_distance(log64(x), std::log(x)));
  }
  for (uint64_t i = 0; i < 200000; ++i) {
    const double x = 0.25 + uniform_draw(5, i) * 3.75;
    worst = std::max(worst, ulp_distance(log64(x), std::log(x)));
  }
  EXPECT_LE(worst, 1);
}

TEST(Log64, IsExactAtTheEdges) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(log64(1.0), 0.0);
  EXPECT_EQ(log64(0.0), -infinity);
  EXPECT_EQ(log64(infinity), infinity);
  EXPECT_TRUE(std::isnan(log64(-1.0)));
  EXPECT_TRUE(std::isnan(log64(std::numeric_limits<double>::quiet_NaN())));
}

TEST(Pow64, AgreesWithTheCLibraryToTwelveDigits) {
  for (const double base : {0.001, 0.3, 0.999, 1.0, 1.75, 40.0}) {
    for (const double power : {-3.0, 0.5, 1.0, 1.5, 7.25}) {
      EXPECT_NEAR(pow64(base, power) / std::pow(base, power), 1.0, 1e-12) << base << "^" << power;
    }
  }
  EXPECT_EQ(pow64(0.0, 0.0), 1.0);
  EXPECT_EQ(pow64(0.0, 2.0), 0.0);
}

TEST(IntegerPower, MultipliesAsOftenAsThePowerSays) {
  EXPECT_EQ(integer_power(3.0, 0), 1.0);
  EXPECT_EQ(integer_power(3.0, 5), 243.0);
  EXPECT_EQ(integer_power(1.0, 4000000000u), 1.0);
}

}  // namespace
}  // namespace lockstep
