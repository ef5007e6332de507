// What every unpack header builds on: the unpacked block, the facts of each form, and byte arithmetic that compilers
// turn into vector instructions. See unpack.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/half.h"
#include "quant/blocks.h"
#include "quant/tensor_type.h"

namespace lockstep::quant {
namespace {

// One block of a file format, unpacked: Form<T>::kBlock integers in their order along k.
struct Unpacked {
  int8_t q[kSuperBlock];
  float ws[kSuperBlock / 16];  // one per Form<T>::kGroup elements
  float wm[kSuperBlock / 16];  // likewise; only filled where Form<T>::kHasMin
};

// The facts of a form, one row of the table of NUMERICS.md section 1.
template <typename BlockStruct, int block, int group, int zero, bool has_min>
struct FormFacts {
  using Block = BlockStruct;
  static constexpr int kBlock = block;  // elements in one block of the file
  static constexpr int kGroup = group;  // B: elements that share ws and wm
  static constexpr int kZero = zero;    // z: q + z is never negative
  static constexpr bool kHasMin = has_min;
  static constexpr int kGroups = block / group;  // groups in one block
};

template <TensorType type>
struct Form;

template <>
struct Form<TensorType::kQ4_0> : FormFacts<BlockQ4_0, 32, 32, 8, false> {};
template <>
struct Form<TensorType::kQ4_1> : FormFacts<BlockQ4_1, 32, 32, 0, true> {};
template <>
struct Form<TensorType::kQ5_0> : FormFacts<BlockQ5_0, 32, 32, 16, false> {};
template <>
struct Form<TensorType::kQ5_1> : FormFacts<BlockQ5_1, 32, 32, 0, true> {};
template <>
struct Form<TensorType::kQ8_0> : FormFacts<BlockQ8_0, 32, 32, 128, false> {};
template <>
struct Form<TensorType::kQ2_K> : FormFacts<BlockQ2_K, 256, 16, 0, true> {};
template <>
struct Form<TensorType::kQ3_K> : FormFacts<BlockQ3_K, 256, 16, 4, false> {};
template <>
struct Form<TensorType::kQ4_K> : FormFacts<BlockQ4_K, 256, 32, 0, true> {};
template <>
struct Form<TensorType::kQ5_K> : FormFacts<BlockQ5_K, 256, 32, 0, true> {};
template <>
struct Form<TensorType::kQ6_K> : FormFacts<BlockQ6_K, 256, 16, 32, false> {};
template <>
struct Form<TensorType::kIQ4_NL> : FormFacts<BlockIQ4_NL, 32, 32, 127, false> {};
template <>
struct Form<TensorType::kIQ4_XS> : FormFacts<BlockIQ4_XS, 256, 32, 127, false> {};
template <>
struct Form<TensorType::kIQ3_S> : FormFacts<BlockIQ3_S, 256, 32, 15, false> {};
template <>
struct Form<TensorType::kTQ1_0> : FormFacts<BlockTQ1_0, 256, 32, 1, false> {};
template <>
struct Form<TensorType::kTQ2_0> : FormFacts<BlockTQ2_0, 256, 32, 1, false> {};
template <>
struct Form<TensorType::kMXFP4> : FormFacts<BlockMXFP4, 32, 32, 12, false> {};

// q[i] = bits shift .. shift+1 (Bits = 2) or shift .. shift+3 (Bits = 4) of bytes[i]. Shifts are template arguments
// because compilers then keep to byte lanes.
template <int n, int shift, int bits>
[[gnu::always_inline]] inline void extract_bits(const uint8_t* __restrict bytes, uint8_t* __restrict q) {
  for (int i = 0; i < n; ++i) q[i] = static_cast<uint8_t>((bytes[i] >> shift) & ((1 << bits) - 1));
}

// q[i] gains bits of bytes[i] (bits shift and up) at position `to`.
template <int n, int shift, int bits, int to>
[[gnu::always_inline]] inline void insert_bits(const uint8_t* __restrict bytes, uint8_t* __restrict q) {
  for (int i = 0; i < n; ++i) {
    q[i] = static_cast<uint8_t>(q[i] | (((bytes[i] >> shift) & ((1 << bits) - 1)) << to));
  }
}

// q[i] = u[i] - zero.
template <int n, int zero>
[[gnu::always_inline]] inline void subtract_zero(const uint8_t* __restrict u, int8_t* __restrict q) {
  for (int i = 0; i < n; ++i) q[i] = static_cast<int8_t>(u[i] - zero);
}

// Sixteen bytes as one value (a vector extension of both compilers, for any instruction set). The legacy formats use it
// because GCC leaves loops of 16 bytes scalar when it could also use vectors of 32.
using Bytes16 [[gnu::vector_size(16)]] = uint8_t;

[[gnu::always_inline]] inline Bytes16 load_16(const uint8_t* bytes) {
  Bytes16 loaded;
  __builtin_memcpy(&loaded, bytes, sizeof(loaded));
  return loaded;
}

[[gnu::always_inline]] inline void store_16(Bytes16 bytes, int8_t* q) {
  __builtin_memcpy(q, &bytes, sizeof(bytes));
}

// ws[g] = d * scales[g].
template <int n, typename Scale>
[[gnu::always_inline]] inline void scale_by(float d, const Scale* __restrict scales, float* __restrict ws) {
  for (int g = 0; g < n; ++g) ws[g] = d * static_cast<float>(scales[g]);
}

template <int n>
[[gnu::always_inline]] inline void fill(float value, float* ws) {
  for (int g = 0; g < n; ++g) ws[g] = value;
}

}  // namespace
}  // namespace lockstep::quant
