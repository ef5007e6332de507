// Sine and cosine in double precision, made only of IEEE additions, multiplications and divisions in a fixed order: the
// same bits on every machine, which a C library does not promise. Errors stay below 1e-15, far under the fp32 rounding
// of the rotation tables made of them.
#pragma once

namespace lockstep {

struct SinCos {
  double sin, cos;
};

// For |x| up to 2^30. From 2^51 on both are NaN: a model whose file asks for such an angle is then refused by what it
// computes. A pure function.
[[nodiscard]] SinCos sin_cos(double x);

}  // namespace lockstep
