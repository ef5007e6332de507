// exp, log and power in double precision, made of IEEE additions, multiplications and divisions alone: the same bits on
// every machine, which a C library's functions do not promise. Errors against the true value stay below 1 ulp for exp
// and log. Build with -ffp-contract=off: a fused multiply-add would change bits. Branch-free where a loop over many
// values calls it.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace lockstep {

// ln 2 as a high part of 33 bits (n * kLn2High is exact for every exponent n) and the rest.
inline constexpr double kLn2High = 0x1.62e42feep-1;
inline constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

// 2^n for -1022 <= n <= 1023.
[[nodiscard]] constexpr double power_of_two(int64_t n) {
  return std::bit_cast<double>(static_cast<uint64_t>(n + 1023) << 52);
}

// e^x. Overflow gives infinity, x below about -745.13 gives 0, NaN stays NaN.
// x = n ln 2 + r with |r| <= ln 2 / 2; e^r = 1 + r + r^2 q(r) by its Taylor series up to r^13 / 13!, whose first
// left-out term is 4e-18; the small part of r is added before the 1, so that only the last addition rounds visibly.
[[nodiscard]] constexpr double exp64(double x) {
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  constexpr double kRoundingShift =
      0x1.8p52;                       // adding it leaves no place for a fraction: rounds to the nearest integer
  constexpr double kLowest = -746.0;  // exp(-746) < 2^-1075: rounds to 0
  constexpr double kHighest = 710.0;  // exp(710) > the largest double
  const double clamped = x < kLowest ? kLowest : (x < kHighest ? x : kHighest);  // NaN becomes kHighest; see the end
  const double n = (clamped * kLog2E + kRoundingShift) - kRoundingShift;
  const double high = clamped - n * kLn2High;
  const double low = n * kLn2Low;
  const double r = high - low;
  double q = 1.0 / 6227020800.0;  // 1/13!
  q = q * r + 1.0 / 479001600.0;
  q = q * r + 1.0 / 39916800.0;
  q = q * r + 1.0 / 3628800.0;
  q = q * r + 1.0 / 362880.0;
  q = q * r + 1.0 / 40320.0;
  q = q * r + 1.0 / 5040.0;
  q = q * r + 1.0 / 720.0;
  q = q * r + 1.0 / 120.0;
  q = q * r + 1.0 / 24.0;
  q = q * r + 1.0 / 6.0;
  q = q * r + 0.5;
  const double y = 1.0 + (high - (low - r * r * q));
  const auto exponent = static_cast<int64_t>(static_cast<int32_t>(n));
  const int64_t half = exponent >> 1;  // in two steps: 2^n itself need not be a normal number
  const double scaled = y * power_of_two(half) * power_of_two(exponent - half);
  return x == x ? scaled : x;
}

// The natural logarithm. 0 gives -infinity, a negative number or NaN gives NaN, infinity stays.
// x = 2^k m with m in [sqrt(1/2), sqrt(2)); with f = m - 1, s = f / (2 + f), z = s^2:
// ln m = 2 atanh(s) = f - (f^2/2 - s (f^2/2 + R)), R = 2 (z/3 + z^2/5 + ...), the first left-out term below 1e-19.
[[nodiscard]] constexpr double log64(double x) {
  if (x == 0) return -std::numeric_limits<double>::infinity();
  if (!(x > 0)) return std::numeric_limits<double>::quiet_NaN();
  if (x == std::numeric_limits<double>::infinity()) return x;
  int64_t k = 0;
  if (x < std::numeric_limits<double>::min()) {  // a subnormal number: give it a leading one
    x *= 0x1p54;
    k = -54;
  }
  const auto bits = std::bit_cast<uint64_t>(x);
  k += static_cast<int64_t>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xfffffffffffffu) | (uint64_t{1023} << 52));
  if (m > 0x1.6a09e667f3bcdp+0) {  // sqrt(2)
    m *= 0.5;
    k += 1;
  }
  const double f = m - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  double series = 2.0 / 23.0;
  for (int divisor = 21; divisor >= 3; divisor -= 2) series = series * z + 2.0 / divisor;
  const double half_square = 0.5 * f * f;
  const auto exponent = static_cast<double>(k);
  return exponent * kLn2High - ((half_square - (s * (half_square + series * z) + exponent * kLn2Low)) - f);
}

// base^power for a base >= 0, with an error of about |power * ln(base)| ulp. 0^0 = 1.
[[nodiscard]] constexpr double pow64(double base, double power) {
  if (power == 0) return 1.0;
  return exp64(power * log64(base));
}

// base^power by repeated squaring.
[[nodiscard]] constexpr double integer_power(double base, uint32_t power) {
  double result = 1.0;
  for (; power != 0; power >>= 1) {
    if ((power & 1u) != 0) result *= base;
    base *= base;
  }
  return result;
}

}  // namespace lockstep
