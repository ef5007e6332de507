#include "base/portable_math.h"

#include <bit>
#include <cstdint>
#include <limits>

namespace lockstep::portable {
namespace {

// ln 2 and pi/2 in parts whose leading ones have trailing zeros, so that n * part is exact for the n that occur
// (Cody and Waite 1980). The digits are those of fdlibm's documentation of the constants.
constexpr double kLn2High = 6.93147180369123816490e-01;
constexpr double kLn2Low = 1.90821492927058770002e-10;
constexpr double kHalfPi1 = 1.57079632673412561417e+00;
constexpr double kHalfPi2 = 6.07710050630396597660e-11;
constexpr double kHalfPi3 = 2.02226624879595063154e-21;

// To nearest, ties to even, for |x| < 2^51.
double round_even(double x) {
  constexpr double kMagic = 6755399441055744.0;  // 1.5 * 2^52
  return (x + kMagic) - kMagic;
}

double power_of_two(int n) { return std::bit_cast<double>(static_cast<uint64_t>(n + 1023) << 52); }

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

double exp(double x) {
  if (x < -708.0) return 0.0;
  if (x > 709.0) return std::numeric_limits<double>::infinity();
  const double n = round_even(x / (kLn2High + kLn2Low));
  const double r = (x - n * kLn2High) - n * kLn2Low;
  double term = 1.0;
  double sum = 1.0;
  for (int k = 1; k <= 14; ++k) {
    term = term * r / k;
    sum += term;
  }
  return sum * power_of_two(static_cast<int>(n));
}

double log(double x) {
  const auto bits = std::bit_cast<uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double mantissa = std::bit_cast<double>((bits & 0xfffffffffffffu) | (uint64_t{1023} << 52));
  if (mantissa > 1.4142135623730951) {
    mantissa /= 2;
    exponent += 1;
  }
  // ln m = 2 atanh((m - 1) / (m + 1)), |s| <= 0.172
  const double s = (mantissa - 1.0) / (mantissa + 1.0);
  const double s2 = s * s;
  double power = s;
  double sum = 0.0;
  for (int k = 1; k <= 23; k += 2) {
    sum += power / k;
    power *= s2;
  }
  return exponent * kLn2High + (2.0 * sum + exponent * kLn2Low);
}

double pow(double base, double exponent) { return exp(exponent * log(base)); }

SinCos sin_cos(double x) {
  const double n = round_even(x / (kHalfPi1 + kHalfPi2));
  const double r = ((x - n * kHalfPi1) - n * kHalfPi2) - n * kHalfPi3;
  const double s = sin_series(r);
  const double c = cos_series(r);
  switch (static_cast<int64_t>(n) & 3) {
    case 0: return {s, c};
    case 1: return {c, -s};
    case 2: return {-s, -c};
    default: return {-c, s};
  }
}

}  // namespace lockstep::portable
