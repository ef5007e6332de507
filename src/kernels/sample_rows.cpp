#include "kernels/sample_rows.h"

#include <algorithm>
#include <cstring>

#include "base/half.h"
#include "base/random.h"
#include "quant/format.h"
#include "quant/unpack.h"

namespace lockstep::kernels {
namespace {

using quant::TensorType;

// Words of Philox in their order.
class Words {
 public:
  explicit Words(uint64_t seed) : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)} {}

  uint32_t next() {
    if (used_ == block_.size()) {
      block_ = philox4x32({counter_++, 0, 0, 0}, key_);
      used_ = 0;
    }
    return block_[used_++];
  }
  // -1 <= x < 1
  float unit() { return static_cast<float>(static_cast<int32_t>(next()) >> 8) * 0x1p-23f; }
  // Of either sign, 0.001 to 0.02.
  float scale() {
    const float x = unit();
    return x < 0 ? -0.001f + 0.019f * x : 0.001f + 0.019f * x;
  }

 private:
  PhiloxKey key_;
  PhiloxCounter block_ = {};
  size_t used_ = 4;
  uint32_t counter_ = 0;
};

template <typename Block>
void set_scales(Block& block, Words& words) {
  if constexpr (requires { block.d; }) block.d = f32_to_f16(words.scale());
  if constexpr (requires { block.m; }) block.m = f32_to_f16(words.scale());
  if constexpr (requires { block.dmin; }) block.dmin = f32_to_f16(words.scale());
  if constexpr (requires { block.e; }) block.e = static_cast<uint8_t>(118 + words.next() % 8);  // 2^-10 to 2^-3
}

template <typename Block>
void fill_block(std::byte* out, Words& words) {
  std::byte bytes[sizeof(Block)];
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(words.next() >> 24);
  Block block;
  std::memcpy(&block, bytes, sizeof(block));
  set_scales(block, words);
  std::memcpy(out, &block, sizeof(block));
}

void fill_float(TensorType type, std::byte* out, Words& words) {
  const float value = 0.1f * words.unit();
  if (type == TensorType::kF32) {
    std::memcpy(out, &value, sizeof(value));
    return;
  }
  const auto upper = static_cast<uint16_t>(__builtin_bit_cast(uint32_t, value) >> 16);
  const uint16_t half = type == TensorType::kF16 ? f32_to_f16(value) : upper;
  std::memcpy(out, &half, sizeof(half));
}

}  // namespace

void fill_sample_rows(TensorType type, uint64_t seed, std::span<std::byte> rows) {
  Words words(seed);
  const size_t block_bytes = quant::format_info(type).block_bytes;
  for (size_t at = 0; at + block_bytes <= rows.size(); at += block_bytes) {
    const bool quantized = quant::visit_form(
        type, [&](auto tag) { fill_block<typename quant::Form<decltype(tag)::type>::Block>(rows.data() + at, words); });
    if (!quantized) fill_float(type, rows.data() + at, words);
  }
}

void fill_sample_activations(uint64_t seed, std::span<float> x) {
  Words words(seed);
  std::ranges::generate(x, [&] { return words.unit(); });
}

}  // namespace lockstep::kernels
