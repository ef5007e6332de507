// For tests only: rows of weights in every format, made of random bytes with scales that all differ, or at the bounds.
#pragma once

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "base/half.h"
#include "forge/random_data.h"
#include "quant/blocks.h"
#include "quant/format.h"
#include "quant/unpack.h"

namespace lockstep::forge {

using quant::TensorType;

// kOrdinary: weights of about the size that models have. kHuge, kDenormal: block scales at the ends of their range.
// kAllOnes, kAllZeros: every bit of the integers and of the small scales set (in Q6_K the scale -128), or none.
enum class BlockKind { kOrdinary, kHuge, kDenormal, kAllOnes, kAllZeros };
inline constexpr std::array kBlockKinds = {BlockKind::kOrdinary, BlockKind::kHuge, BlockKind::kDenormal,
                                           BlockKind::kAllOnes, BlockKind::kAllZeros};

inline std::string to_string(BlockKind kind) {
  constexpr std::array kNames = {"ordinary", "huge", "denormal", "all ones", "all zeros"};
  return kNames[static_cast<size_t>(kind)];
}

// A finite number of the size that the kind asks for, of either sign.
inline float random_scale(BlockKind kind, RandomData& random) {
  const float sign = random.below(2) == 0 ? 1.0f : -1.0f;
  switch (kind) {
    case BlockKind::kHuge:
      return sign * random.uniform(30000.0f, 65504.0f);
    case BlockKind::kDenormal:
      return sign * random.uniform(0x1p-24f, 0x1p-14f);
    default:
      return sign * random.uniform(0.001f, 0.02f);
  }
}

// MXFP4's scale is the power of two e - 128; the greatest here leaves room for a sum of products in fp32.
inline uint8_t random_exponent(BlockKind kind, RandomData& random) {
  switch (kind) {
    case BlockKind::kHuge:
      return static_cast<uint8_t>(200 + random.below(20));
    case BlockKind::kDenormal:
      return static_cast<uint8_t>(random.below(4));
    default:
      return static_cast<uint8_t>(115 + random.below(10));
  }
}

template <typename Block>
void set_scales(Block& block, BlockKind kind, RandomData& random) {
  const auto half = [&] { return f32_to_f16(random_scale(kind, random)); };
  if constexpr (requires { block.d; }) block.d = half();
  if constexpr (requires { block.m; }) block.m = half();
  if constexpr (requires { block.dmin; }) block.dmin = half();
  if constexpr (requires { block.e; }) block.e = random_exponent(kind, random);
}

template <TensorType type>
void fill_block(std::byte* out, BlockKind kind, RandomData& random) {
  using Block = typename quant::Form<type>::Block;
  std::array<std::byte, sizeof(Block)> bytes;
  random.fill_bytes(bytes);
  if (kind == BlockKind::kAllOnes) bytes.fill(std::byte{0xff});
  if (kind == BlockKind::kAllZeros) bytes.fill(std::byte{0});
  Block block;
  std::memcpy(&block, bytes.data(), sizeof(block));
  if constexpr (type == TensorType::kQ6_K) {
    if (kind == BlockKind::kAllOnes) std::fill(std::begin(block.scales), std::end(block.scales), int8_t{-128});
  }
  set_scales(block, kind, random);
  std::memcpy(out, &block, sizeof(block));
}

// One element of a float format.
inline void fill_float(TensorType type, std::byte* out, BlockKind kind, RandomData& random) {
  float value = random_scale(kind, random);
  if (kind == BlockKind::kOrdinary) value = 0.05f * random.normal();
  if (kind == BlockKind::kDenormal && type != TensorType::kF16) value *= 0x1p-126f;
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  const auto half = type == TensorType::kF16 ? f32_to_f16(value) : static_cast<uint16_t>(bits >> 16);
  if (type == TensorType::kF32) {
    std::memcpy(out, &value, sizeof(value));
  } else {
    std::memcpy(out, &half, sizeof(half));
  }
}

// n_elements (whole blocks) of `type`.
inline std::vector<std::byte> random_weights(TensorType type, int64_t n_elements, BlockKind kind, RandomData& random) {
  const quant::FormatInfo& format = quant::format_info(type);
  std::vector<std::byte> data(quant::row_bytes(type, static_cast<uint64_t>(n_elements)));
  for (size_t at = 0; at < data.size(); at += format.block_bytes) {
    const bool quantized = quant::visit_form(type, [&](auto tag) { fill_block<tag.type>(&data[at], kind, random); });
    if (!quantized) fill_float(type, &data[at], kind, random);
  }
  return data;
}

// The types that lockstep computes with.
inline std::vector<TensorType> supported_types() {
  std::vector<TensorType> types;
  for (const quant::FormatInfo& format : quant::all_formats()) {
    if (format.supported) types.push_back(format.type);
  }
  return types;
}

inline std::string type_name(const testing::TestParamInfo<TensorType>& info) {
  return std::string(quant::to_string(info.param));
}

}  // namespace lockstep::forge
