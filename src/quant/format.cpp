#include "quant/format.h"

#include <algorithm>
#include <array>

#include "quant/blocks.h"

namespace lockstep::quant {
namespace {

using enum TensorType;

constexpr std::array kFormats = {
    FormatInfo{kF32, "F32", 1, sizeof(float), true},
    FormatInfo{kF16, "F16", 1, sizeof(uint16_t), true},
    FormatInfo{kQ4_0, "Q4_0", 32, sizeof(BlockQ4_0), true},
    FormatInfo{kQ4_1, "Q4_1", 32, sizeof(BlockQ4_1), true},
    FormatInfo{kQ5_0, "Q5_0", 32, sizeof(BlockQ5_0), true},
    FormatInfo{kQ5_1, "Q5_1", 32, sizeof(BlockQ5_1), true},
    FormatInfo{kQ8_0, "Q8_0", 32, sizeof(BlockQ8_0), true},
    FormatInfo{kQ8_1, "Q8_1", 32, sizeof(BlockQ8_1), false},
    FormatInfo{kQ2_K, "Q2_K", kSuperBlock, sizeof(BlockQ2_K), true},
    FormatInfo{kQ3_K, "Q3_K", kSuperBlock, sizeof(BlockQ3_K), true},
    FormatInfo{kQ4_K, "Q4_K", kSuperBlock, sizeof(BlockQ4_K), true},
    FormatInfo{kQ5_K, "Q5_K", kSuperBlock, sizeof(BlockQ5_K), true},
    FormatInfo{kQ6_K, "Q6_K", kSuperBlock, sizeof(BlockQ6_K), true},
    FormatInfo{kQ8_K, "Q8_K", kSuperBlock, sizeof(BlockQ8_K), false},
    FormatInfo{kIQ2_XXS, "IQ2_XXS", kSuperBlock, sizeof(BlockIQ2_XXS), false},
    FormatInfo{kIQ2_XS, "IQ2_XS", kSuperBlock, sizeof(BlockIQ2_XS), false},
    FormatInfo{kIQ3_XXS, "IQ3_XXS", kSuperBlock, sizeof(BlockIQ3_XXS), false},
    FormatInfo{kIQ1_S, "IQ1_S", kSuperBlock, sizeof(BlockIQ1_S), false},
    FormatInfo{kIQ4_NL, "IQ4_NL", 32, sizeof(BlockIQ4_NL), true},
    FormatInfo{kIQ3_S, "IQ3_S", kSuperBlock, sizeof(BlockIQ3_S), true},
    FormatInfo{kIQ2_S, "IQ2_S", kSuperBlock, sizeof(BlockIQ2_S), false},
    FormatInfo{kIQ4_XS, "IQ4_XS", kSuperBlock, sizeof(BlockIQ4_XS), true},
    FormatInfo{kI8, "I8", 1, sizeof(int8_t), false},
    FormatInfo{kI16, "I16", 1, sizeof(int16_t), false},
    FormatInfo{kI32, "I32", 1, sizeof(int32_t), false},
    FormatInfo{kI64, "I64", 1, sizeof(int64_t), false},
    FormatInfo{kF64, "F64", 1, sizeof(double), false},
    FormatInfo{kIQ1_M, "IQ1_M", kSuperBlock, sizeof(BlockIQ1_M), false},
    FormatInfo{kBF16, "BF16", 1, sizeof(uint16_t), true},
    FormatInfo{kTQ1_0, "TQ1_0", kSuperBlock, sizeof(BlockTQ1_0), true},
    FormatInfo{kTQ2_0, "TQ2_0", kSuperBlock, sizeof(BlockTQ2_0), true},
    FormatInfo{kMXFP4, "MXFP4", 32, sizeof(BlockMXFP4), true},
    FormatInfo{kNVFP4, "NVFP4", 64, sizeof(BlockNVFP4), false},
    FormatInfo{kQ1_0, "Q1_0", 128, sizeof(BlockQ1_0), false},
    FormatInfo{kQ2_0, "Q2_0", 64, sizeof(BlockQ2_0), false},
};

constexpr size_t kTypeNumbers = 43;  // one past the largest type number
constexpr uint8_t kNone = 0xff;

// Index into kFormats by type number.
constexpr auto kIndex = [] {
  std::array<uint8_t, kTypeNumbers> index{};
  index.fill(kNone);
  for (size_t i = 0; i < kFormats.size(); ++i) {
    index[static_cast<size_t>(kFormats[i].type)] = static_cast<uint8_t>(i);
  }
  return index;
}();

}  // namespace

const FormatInfo* find_format(uint32_t type_number) {
  if (type_number >= kTypeNumbers || kIndex[type_number] == kNone) return nullptr;
  return &kFormats[kIndex[type_number]];
}

const FormatInfo& format_info(TensorType type) {
  return kFormats[kIndex[static_cast<size_t>(type)]];
}

std::string_view to_string(TensorType type) {
  return format_info(type).name;
}

const FormatInfo* find_format_by_name(std::string_view name) {
  const auto found =
      std::find_if(kFormats.begin(), kFormats.end(), [&](const FormatInfo& f) { return f.name == name; });
  return found == kFormats.end() ? nullptr : &*found;
}

std::span<const FormatInfo> all_formats() {
  return kFormats;
}

uint64_t row_bytes(TensorType type, uint64_t n) {
  const FormatInfo& format = format_info(type);
  return n / format.block_size * format.block_bytes;
}

}  // namespace lockstep::quant
