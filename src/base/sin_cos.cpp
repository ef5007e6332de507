#include "base/sin_cos.h"

#include <cstdint>
#include <limits>

namespace lockstep {
namespace {

// pi/2 in parts whose leading ones have trailing zeros, so that n * part is exact for the n that occur (Cody and Waite
// 1980).
constexpr double kHalfPi1 = 1.57079632673412561417e+00;
constexpr double kHalfPi2 = 6.07710050630396597660e-11;
constexpr double kHalfPi3 = 2.02226624879595063154e-21;

// From here on the number of quarter turns is no longer exact, and later no int64 either.
constexpr double kLargest = 0x1p51;

// To nearest, ties to even, for |x| < 2^51.
double round_even(double x) {
  constexpr double kMagic = 6755399441055744.0;  // 1.5 * 2^52
  return (x + kMagic) - kMagic;
}

// Taylor series around 0 for |r| <= pi/4; the first omitted terms are below 1e-18.
double sin_series(double r) {
  const double r2 = r * r;
  double term = r;
  double sum = 0.0;
  for (int k = 1; k <= 17; k += 2) {
    sum += term;
    term = -term * r2 / static_cast<double>((k + 1) * (k + 2));
  }
  return sum;
}

double cos_series(double r) {
  const double r2 = r * r;
  double term = 1.0;
  double sum = 0.0;
  for (int k = 0; k <= 18; k += 2) {
    sum += term;
    term = -term * r2 / static_cast<double>((k + 1) * (k + 2));
  }
  return sum;
}

}  // namespace

SinCos sin_cos(double x) {
  if (!(x > -kLargest && x < kLargest)) {
    return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
  }
  const double n = round_even(x / (kHalfPi1 + kHalfPi2));
  const double r = ((x - n * kHalfPi1) - n * kHalfPi2) - n * kHalfPi3;
  const double s = sin_series(r);
  const double c = cos_series(r);
  switch (static_cast<int64_t>(n) & 3) {
    case 0:
      return {s, c};
    case 1:
      return {c, -s};
    case 2:
      return {-s, -c};
    default:
      return {-c, s};
  }
}

}  // namespace lockstep
