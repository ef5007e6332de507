// The R16 units of the types that have a streaming product, read into the one form (NUMERICS.md section 1).
//
// A unit holds one block of k of 16 rows, in as many bytes as the 16 blocks had in the file: first the rows' scales,
// then lines of 64 bytes = 16 rows x one dword of quants (packed.h has the layouts). A Format turns a unit, stage by
// stage, into vectors of weights q + z:
//   kStages x kSubs sub-blocks of kGroup elements along k; within a stage kBundles x kOuts vectors of 16 rows x 4
//   elements, where output o of bundle i belongs to sub-block sub(i, o) of the stage, at element 4 * quad(i, o) of it.
// Scales: prepare() fills a small buffer where unpacking them is worth doing once per unit; ws() and wm() give
// sub-block s of the unit.
#pragma once

#include "kernels/packed.h"

namespace lockstep::kernels {
namespace {

using quant::TensorType;

LOCKSTEP_INLINE Bytes low_nibbles(Bytes line) {
  return line & splat_byte(15);
}
LOCKSTEP_INLINE Bytes high_nibbles(Bytes line) {
  return shift_right<4>(line) & splat_byte(15);
}

template <TensorType type>
struct Format;

// Q4_0, Q4_1, Q5_0, Q5_1: 16 low and 16 high nibbles, perhaps a line of fifth bits, one scale, perhaps a minimum.
template <TensorType type, int zero, bool has_min, bool has_fifth_bit>
struct NibbleFormat {
  static constexpr int kUnitBytes = packed_unit_bytes(type);
  static constexpr int kBlock = 32, kGroup = 32, kStages = 1, kSubs = 1, kBundles = 4, kOuts = 2;
  static constexpr int kZero = zero, kBits = has_fifth_bit ? 5 : 4;
  static constexpr bool kHasMin = has_min;
  static constexpr int kHeader = has_min ? 64 : 32;

  static constexpr int sub(int, int) { return 0; }
  static constexpr int quad(int bundle, int out) { return out == 0 ? bundle : 4 + bundle; }

  template <int stage, int bundle>
  LOCKSTEP_INLINE static void load(const std::byte* unit, Bytes (&out)[kOuts]) {
    const std::byte* lines = unit + kHeader + (has_fifth_bit ? 64 : 0);
    const Bytes line = load_bytes(lines + 64 * bundle);
    out[0] = low_nibbles(line);
    out[1] = high_nibbles(line);
    if constexpr (has_fifth_bit) {
      const Bytes fifth = load_bytes(unit + kHeader);  // byte i: bit j for element 4j + i, bit 4 + j for 16 + 4j + i
      out[0] = merge(out[0], shift_right<bundle - 4>(fifth), splat_byte(16));
      out[1] = merge(out[1], shift_right<bundle>(fifth), splat_byte(16));
    }
  }
  LOCKSTEP_INLINE static void prepare(const std::byte*, float*) {}
  LOCKSTEP_INLINE static Floats ws(const std::byte* unit, const float*, int) { return load_f16(unit); }
  LOCKSTEP_INLINE static Floats wm(const std::byte* unit, const float*, int) { return load_f16(unit + 32); }
};

template <>
struct Format<TensorType::kQ4_0> : NibbleFormat<TensorType::kQ4_0, 8, false, false> {};
template <>
struct Format<TensorType::kQ4_1> : NibbleFormat<TensorType::kQ4_1, 0, true, false> {};
template <>
struct Format<TensorType::kQ5_0> : NibbleFormat<TensorType::kQ5_0, 16, false, true> {};
template <>
struct Format<TensorType::kQ5_1> : NibbleFormat<TensorType::kQ5_1, 0, true, true> {};

template <>
struct Format<TensorType::kQ8_0> {
  static constexpr int kUnitBytes = packed_unit_bytes(TensorType::kQ8_0);
  static constexpr int kBlock = 32, kGroup = 32, kStages = 1, kSubs = 1, kBundles = 8, kOuts = 1;
  static constexpr int kZero = kSignedEight ? 0 : 128, kBits = 8;
  static constexpr bool kHasMin = false;

  static constexpr int sub(int, int) { return 0; }
  static constexpr int quad(int bundle, int) { return bundle; }

  template <int stage, int bundle>
  LOCKSTEP_INLINE static void load(const std::byte* unit, Bytes (&out)[kOuts]) {
    out[0] = travelling_eight(load_bytes(unit + 32 + 64 * bundle));
  }
  LOCKSTEP_INLINE static void prepare(const std::byte*, float*) {}
  LOCKSTEP_INLINE static Floats ws(const std::byte* unit, const float*, int) { return load_f16(unit); }
  LOCKSTEP_INLINE static Floats wm(const std::byte*, const float*, int) { return zero(); }
};

// Q4_K and Q5_K: 4 stages of 64 elements, whose low and high nibbles are two sub-blocks; 6-bit scales and minima.
template <TensorType type, bool has_fifth_bit>
struct SuperBlockFormat {
  static constexpr int kUnitBytes = packed_unit_bytes(type);
  static constexpr int kBlock = 256, kGroup = 32, kStages = 4, kSubs = 2, kBundles = 8, kOuts = 2;
  static constexpr int kZero = 0, kBits = has_fifth_bit ? 5 : 4;
  static constexpr bool kHasMin = true;
  static constexpr int kScaleLines = 64;  // after d and dmin
  static constexpr int kFifthBits = kScaleLines + 3 * 64;
  static constexpr int kQuants = kFifthBits + (has_fifth_bit ? 8 * 64 : 0);

  static constexpr int sub(int, int out) { return out; }
  static constexpr int quad(int bundle, int) { return bundle; }

  template <int stage, int bundle>
  LOCKSTEP_INLINE static void load(const std::byte* unit, Bytes (&out)[kOuts]) {
    const Bytes line = load_bytes(unit + kQuants + 64 * (8 * stage + bundle));
    out[0] = low_nibbles(line);
    out[1] = high_nibbles(line);
    if constexpr (has_fifth_bit) {
      const Bytes fifth = load_bytes(unit + kFifthBits + 64 * bundle);  // bit s: sub-block s
      out[0] = merge(out[0], shift_right<2 * stage - 4>(fifth), splat_byte(16));
      out[1] = merge(out[1], shift_right<2 * stage - 3>(fifth), splat_byte(16));
    }
  }

  // ws of 8 sub-blocks, then wm. Exact: a 6-bit scale times an 11-bit mantissa.
  LOCKSTEP_INLINE static void prepare(const std::byte* unit, float* buffer) {
    const Floats d = load_f16(unit);
    const Floats dmin = negate(load_f16(unit + 32));
    const Bytes high = load_bytes(unit + kScaleLines + 128);
    half<0>(load_bytes(unit + kScaleLines), high, d, dmin, buffer);
    half<1>(load_bytes(unit + kScaleLines + 64), high, d, dmin, buffer);
  }
  // Sub-blocks 4g..4g+3: low nibble and high nibble of the line are the low 4 bits of scale and minimum, `high` has the
  // rest.
  template <int g>
  LOCKSTEP_INLINE static void half(Bytes line, Bytes high, Floats d, Floats dmin, float* buffer) {
    const Bytes scale = merge(low_nibbles(line), shift_right<2 * g - 4>(high), splat_byte(0x30));
    const Bytes minimum = merge(high_nibbles(line), shift_right<2 * g>(high), splat_byte(0x30));
    one<4 * g, 0>(scale, minimum, d, dmin, buffer);
    one<4 * g, 1>(scale, minimum, d, dmin, buffer);
    one<4 * g, 2>(scale, minimum, d, dmin, buffer);
    one<4 * g, 3>(scale, minimum, d, dmin, buffer);
  }
  template <int first, int i>
  LOCKSTEP_INLINE static void one(Bytes scale, Bytes minimum, Floats d, Floats dmin, float* buffer) {
    store(buffer + (first + i) * 16, to_float(unsigned_byte<i>(scale)) * d);
    store(buffer + (8 + first + i) * 16, to_float(unsigned_byte<i>(minimum)) * dmin);
  }
  LOCKSTEP_INLINE static Floats ws(const std::byte*, const float* buffer, int s) {
    return kernels::load(buffer + s * 16);
  }
  LOCKSTEP_INLINE static Floats wm(const std::byte*, const float* buffer, int s) {
    return kernels::load(buffer + (8 + s) * 16);
  }
};

template <>
struct Format<TensorType::kQ4_K> : SuperBlockFormat<TensorType::kQ4_K, false> {};
template <>
struct Format<TensorType::kQ5_K> : SuperBlockFormat<TensorType::kQ5_K, true> {};

// Q6_K: 2 stages of 128 elements; a dword of 2-bit highs serves four dwords of low nibbles, 32 elements apart; int8
// scales per 16.
template <>
struct Format<TensorType::kQ6_K> {
  static constexpr int kUnitBytes = packed_unit_bytes(TensorType::kQ6_K);
  static constexpr int kBlock = 256, kGroup = 16, kStages = 2, kSubs = 8, kBundles = 8, kOuts = 4;
  static constexpr int kZero = 32, kBits = 6;
  static constexpr bool kHasMin = false;
  static constexpr int kScaleLines = 32;
  static constexpr int kQuants = kScaleLines + 4 * 64;

  static constexpr int sub(int bundle, int out) { return 2 * out + bundle / 4; }
  static constexpr int quad(int bundle, int) { return bundle % 4; }

  template <int stage, int bundle>
  LOCKSTEP_INLINE static void load(const std::byte* unit, Bytes (&out)[kOuts]) {
    const std::byte* lines = unit + kQuants + 3 * 64 * (8 * stage + bundle);
    const Bytes a = load_bytes(lines);
    const Bytes b = load_bytes(lines + 64);
    const Bytes high = load_bytes(lines + 128);
    const Bytes mask = splat_byte(0x30);
    out[0] = merge(low_nibbles(a), shift_right<-4>(high), mask);
    out[1] = merge(low_nibbles(b), shift_right<-2>(high), mask);
    out[2] = merge(high_nibbles(a), high, mask);
    out[3] = merge(high_nibbles(b), shift_right<2>(high), mask);
  }
  LOCKSTEP_INLINE static void prepare(const std::byte* unit, float* buffer) {
    const Floats d = load_f16(unit);
    for (int line = 0; line < 4; ++line) {
      const Bytes scales = load_bytes(unit + kScaleLines + 64 * line);
      store(buffer + (4 * line + 0) * 16, to_float(signed_byte<0>(scales)) * d);
      store(buffer + (4 * line + 1) * 16, to_float(signed_byte<1>(scales)) * d);
      store(buffer + (4 * line + 2) * 16, to_float(signed_byte<2>(scales)) * d);
      store(buffer + (4 * line + 3) * 16, to_float(signed_byte<3>(scales)) * d);
    }
  }
  LOCKSTEP_INLINE static Floats ws(const std::byte*, const float* buffer, int s) {
    return kernels::load(buffer + s * 16);
  }
  LOCKSTEP_INLINE static Floats wm(const std::byte*, const float*, int) { return zero(); }
};

}  // namespace
}  // namespace lockstep::kernels
