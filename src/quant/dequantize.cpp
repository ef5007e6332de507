#include "quant/dequantize.h"

#include <cstring>

#include "base/error.h"
#include "quant/format.h"
#include "quant/unpack.h"

namespace lockstep::quant {
namespace {

// One element of a row of numbers, at any address.
template <typename Bits>
struct [[gnu::packed]] Element {
  Bits bits;
};

[[noreturn]] void fail_unsupported(TensorType type) {
  fail(ErrorCode::kUnsupported, "tensor type {} is not one that lockstep computes with", to_string(type));
}

template <TensorType type>
void dequantize_block(const typename Form<type>::Block& block, float* __restrict out) {
  using F = Form<type>;
  Unpacked unpacked;
  unpack<type>(block, unpacked);
  for (int g = 0; g < F::kGroups; ++g) {
    const int8_t* q = unpacked.q + g * F::kGroup;
    float* group_out = out + g * F::kGroup;
    const float ws = unpacked.ws[g];
    if constexpr (F::kHasMin) {
      const float wm = unpacked.wm[g];
      for (int i = 0; i < F::kGroup; ++i) group_out[i] = ws * static_cast<float>(q[i]) + wm;
    } else {
      for (int i = 0; i < F::kGroup; ++i) group_out[i] = ws * static_cast<float>(q[i]);
    }
  }
}

// Not 0 if an f16 is infinite or NaN: its exponent is all ones, and one more carries. Numbers rather than bool: the
// loops below have no branch.
[[nodiscard]] constexpr unsigned not_finite(uint16_t f16) {
  return ((f16 & 0x7c00u) + 0x0400u) & 0x8000u;
}

// The loop must not leave early: it is then one of vector instructions.
template <typename Bits>
bool exponents_are_finite(const Element<Bits>* values, uint64_t n, Bits exponent) {
  Bits found = 0;
  for (uint64_t i = 0; i < n; ++i) {
    const Bits is_full = (values[i].bits & exponent) == exponent ? 1 : 0;
    found = static_cast<Bits>(found | is_full);
  }
  return found == 0;
}

template <typename Block>
unsigned block_not_finite(const Block& block) {
  if constexpr (requires { block.dmin; }) {
    return not_finite(block.d) | not_finite(block.dmin);
  } else if constexpr (requires { block.m; }) {
    return not_finite(block.d) | not_finite(block.m);
  } else {
    return not_finite(block.d);
  }
}

template <typename Block>
bool blocks_are_finite(const Block* blocks, uint64_t n_blocks) {
  unsigned found = 0;
  for (uint64_t i = 0; i < n_blocks; ++i) found |= block_not_finite(blocks[i]);
  return found == 0;
}

}  // namespace

void dequantize_row(TensorType type, const std::byte* row, uint64_t n, float* out) {
  if (type == TensorType::kF32) {
    std::memcpy(out, row, n * sizeof(float));
  } else if (type == TensorType::kF16) {
    const auto* values = reinterpret_cast<const Element<uint16_t>*>(row);
    for (uint64_t i = 0; i < n; ++i) out[i] = f16_to_f32(values[i].bits);
  } else if (type == TensorType::kBF16) {
    const auto* values = reinterpret_cast<const Element<uint16_t>*>(row);
    for (uint64_t i = 0; i < n; ++i) out[i] = bf16_to_f32(values[i].bits);
  } else {
    const bool known = visit_form(type, [&](auto tag) {
      using F = Form<tag.type>;
      const auto* blocks = reinterpret_cast<const typename F::Block*>(row);
      for (uint64_t i = 0; i < n / F::kBlock; ++i) dequantize_block<tag.type>(blocks[i], out + i * F::kBlock);
    });
    if (!known) fail_unsupported(type);
  }
}

bool scales_are_finite(TensorType type, const std::byte* blocks, uint64_t n_blocks) {
  if (type == TensorType::kF32) {
    return exponents_are_finite(reinterpret_cast<const Element<uint32_t>*>(blocks), n_blocks, 0x7f800000u);
  }
  if (type == TensorType::kF16 || type == TensorType::kBF16) {
    const uint16_t exponent = type == TensorType::kF16 ? 0x7c00 : 0x7f80;
    return exponents_are_finite(reinterpret_cast<const Element<uint16_t>*>(blocks), n_blocks, exponent);
  }
  bool finite = true;
  const bool known = visit_form(type, [&](auto tag) {
    using Block = typename Form<tag.type>::Block;
    if constexpr (tag.type != TensorType::kMXFP4) {
      finite = blocks_are_finite(reinterpret_cast<const Block*>(blocks), n_blocks);
    }
  });
  if (!known) fail_unsupported(type);
  return finite;
}

}  // namespace lockstep::quant
