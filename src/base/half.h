// The 16-bit float formats of GGUF files, converted with integer arithmetic only, so that every CPU gives the same
// bits. Kernel units that are compiled for one instruction set include this header: everything is always inlined and no
// standard library template is used, or the linker could keep such a unit's copy for every CPU.
#pragma once

#include <cstdint>

namespace lockstep {

// IEEE 754 binary16 -> binary32: exact for every value (NaN payloads are kept, quieted).
[[nodiscard, gnu::always_inline]] constexpr float f16_to_f32(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t exponent = (h >> 10) & 0x1fu;
  uint32_t mantissa = h & 0x3ffu;
  if (exponent == 0x1fu) {
    const uint32_t quiet = mantissa != 0 ? 0x400000u : 0u;
    return __builtin_bit_cast(float, sign | 0x7f800000u | quiet | (mantissa << 13));
  }
  if (exponent != 0) return __builtin_bit_cast(float, sign | ((exponent + 112u) << 23) | (mantissa << 13));
  if (mantissa == 0) return __builtin_bit_cast(float, sign);
  const int shift = __builtin_clz(mantissa) - 21;  // a subnormal half: move its leading one to bit 10
  mantissa = (mantissa << shift) & 0x3ffu;
  return __builtin_bit_cast(float, sign | (static_cast<uint32_t>(113 - shift) << 23) | (mantissa << 13));
}

// binary32 -> binary16, round to nearest even; overflow gives infinity, NaN stays a quiet NaN. The same as vcvtps2ph.
[[nodiscard, gnu::always_inline]] constexpr uint16_t f32_to_f16(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
  if (magnitude >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 65536 and above, infinity
  uint32_t mantissa = 0;
  uint32_t dropped = 0;  // number of low bits that do not fit
  if (magnitude >= 0x38800000u) {
    mantissa = magnitude - 0x38000000u;  // normal: re-bias the exponent by 112
    dropped = 13;
  } else {
    if (magnitude < 0x33000000u) return sign;  // below half of the smallest subnormal
    mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    dropped = 126u - (magnitude >> 23);
  }
  const uint32_t half_unit = 1u << (dropped - 1);
  const uint32_t kept = mantissa >> dropped;
  const uint32_t rest = mantissa & ((1u << dropped) - 1);
  const uint32_t round = (rest > half_unit || (rest == half_unit && (kept & 1u) != 0)) ? 1u : 0u;
  return static_cast<uint16_t>(sign | (kept + round));
}

// bfloat16 is the upper half of binary32.
[[nodiscard, gnu::always_inline]] constexpr float bf16_to_f32(uint16_t h) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(h) << 16);
}

}  // namespace lockstep
