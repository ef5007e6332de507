// exp, log, pow, sin and cos in double precision, made only of IEEE additions, multiplications and divisions in a fixed order:
// the same bits on every machine, which a C library does not promise. Relative errors stay below 1e-14, far under the fp32
// rounding of what they are used for (rotation tables). Pure functions.
#pragma once

namespace lockstep::portable {

// e^x; 0 below -708, infinity above 709.
[[nodiscard]] double exp(double x);
// Natural logarithm of a positive, normal x.
[[nodiscard]] double log(double x);
// base^exponent for base > 0.
[[nodiscard]] double pow(double base, double exponent);

struct SinCos {
  double sin, cos;
};
// For |x| up to 2^30.
[[nodiscard]] SinCos sin_cos(double x);

}  // namespace lockstep::portable
