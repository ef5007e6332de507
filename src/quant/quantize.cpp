#include "quant/quantize.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/half.h"
#include "quant/blocks.h"
#include "quant/format.h"

namespace lockstep::quant {
namespace {

constexpr int kElements = 32;  // in a block of every type here

float inverse_or_zero(float d) {
  return d != 0.0f ? 1.0f / d : 0.0f;
}

// The element of largest magnitude, with its sign; the first of equals.
float extreme(const float* x) {
  float largest = 0.0f;
  for (int i = 0; i < kElements; ++i) {
    if (std::fabs(largest) < std::fabs(x[i])) largest = x[i];
  }
  return largest;
}

// Toward zero, into 0..max. Zero for NaN.
uint8_t truncate(float value, int max) {
  if (!(value > 0.0f)) return 0;
  return static_cast<uint8_t>(std::min(value, static_cast<float>(max)));
}

void pack_nibbles(const uint8_t* codes, uint8_t* qs) {
  for (int i = 0; i < 16; ++i) qs[i] = static_cast<uint8_t>((codes[i] & 15) | ((codes[i + 16] & 15) << 4));
}

void pack_fifth_bits(const uint8_t* codes, uint8_t* qh) {
  std::fill_n(qh, 4, uint8_t{0});
  for (int i = 0; i < kElements; ++i) qh[i / 8] = static_cast<uint8_t>(qh[i / 8] | ((codes[i] >> 4) << (i % 8)));
}

// Q4_0 (half = 8) and Q5_0 (half = 16): the element of largest magnitude becomes code 0, that is -half times d.
float encode_symmetric(const float* x, int half, uint8_t* codes) {
  const float d = extreme(x) / static_cast<float>(-half);
  const float inverse = inverse_or_zero(d);
  const float offset = static_cast<float>(half) + 0.5f;
  for (int i = 0; i < kElements; ++i) codes[i] = truncate(x[i] * inverse + offset, 2 * half - 1);
  return d;
}

struct ScaleAndMin {
  float d;
  float m;
};

// Q4_1 (max = 15) and Q5_1 (max = 31): from the least to the greatest element in max steps.
ScaleAndMin encode_with_min(const float* x, int max, uint8_t* codes) {
  const auto [least, greatest] = std::minmax_element(x, x + kElements);
  const float d = (*greatest - *least) / static_cast<float>(max);
  const float inverse = inverse_or_zero(d);
  for (int i = 0; i < kElements; ++i) codes[i] = truncate((x[i] - *least) * inverse + 0.5f, max);
  return {d, *least};
}

void quantize_block(const float* x, BlockQ4_0& block) {
  uint8_t codes[kElements];
  block.d = f32_to_f16(encode_symmetric(x, 8, codes));
  pack_nibbles(codes, block.qs);
}

void quantize_block(const float* x, BlockQ5_0& block) {
  uint8_t codes[kElements];
  block.d = f32_to_f16(encode_symmetric(x, 16, codes));
  pack_nibbles(codes, block.qs);
  pack_fifth_bits(codes, block.qh);
}

void quantize_block(const float* x, BlockQ4_1& block) {
  uint8_t codes[kElements];
  const ScaleAndMin found = encode_with_min(x, 15, codes);
  block.d = f32_to_f16(found.d);
  block.m = f32_to_f16(found.m);
  pack_nibbles(codes, block.qs);
}

void quantize_block(const float* x, BlockQ5_1& block) {
  uint8_t codes[kElements];
  const ScaleAndMin found = encode_with_min(x, 31, codes);
  block.d = f32_to_f16(found.d);
  block.m = f32_to_f16(found.m);
  pack_nibbles(codes, block.qs);
  pack_fifth_bits(codes, block.qh);
}

// Halves are rounded away from zero here (roundf).
void quantize_block(const float* x, BlockQ8_0& block) {
  const float d = std::fabs(extreme(x)) / 127.0f;
  const float inverse = inverse_or_zero(d);
  block.d = f32_to_f16(d);
  for (int i = 0; i < kElements; ++i) {
    const float scaled = x[i] * inverse;
    block.qs[i] = std::isnan(scaled) ? int8_t{0} : static_cast<int8_t>(std::round(std::clamp(scaled, -127.0f, 127.0f)));
  }
}

template <typename Block>
void quantize_blocks(const float* x, uint64_t n, std::byte* out) {
  for (uint64_t i = 0; i < n / kElements; ++i) {
    Block block;
    quantize_block(x + i * kElements, block);
    std::memcpy(out + i * sizeof(Block), &block, sizeof(Block));
  }
}

template <typename Round>
void round_to_16_bits(const float* x, uint64_t n, std::byte* out, Round round) {
  for (uint64_t i = 0; i < n; ++i) {
    const uint16_t rounded = round(x[i]);
    std::memcpy(out + i * sizeof(rounded), &rounded, sizeof(rounded));
  }
}

}  // namespace

uint16_t f32_to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  const uint32_t half_minus_one_if_even = 0x7fffu + ((bits >> 16) & 1u);
  return static_cast<uint16_t>((bits + half_minus_one_if_even) >> 16);
}

void quantize_row(TensorType type, const float* x, uint64_t n, std::byte* out) {
  switch (type) {
    case TensorType::kF32:
      std::memcpy(out, x, n * sizeof(float));
      return;
    case TensorType::kF16:
      return round_to_16_bits(x, n, out, [](float v) { return f32_to_f16(v); });
    case TensorType::kBF16:
      return round_to_16_bits(x, n, out, f32_to_bf16);
    case TensorType::kQ4_0:
      return quantize_blocks<BlockQ4_0>(x, n, out);
    case TensorType::kQ4_1:
      return quantize_blocks<BlockQ4_1>(x, n, out);
    case TensorType::kQ5_0:
      return quantize_blocks<BlockQ5_0>(x, n, out);
    case TensorType::kQ5_1:
      return quantize_blocks<BlockQ5_1>(x, n, out);
    case TensorType::kQ8_0:
      return quantize_blocks<BlockQ8_0>(x, n, out);
    default:
      fail(ErrorCode::kUnsupported, "lockstep has no quantizer for tensor type {}", to_string(type));
  }
}

}  // namespace lockstep::quant
