// The same blocks and activations through every instruction set of this machine: the scalar definition's bits.
#include <algorithm>
#include <bit>
#include <cmath>

#include "forge/attention_case.h"
#include "forge/linear_case.h"
#include "fuzz/fuzz_input.h"
#include "kernels/select.h"
#include "quant/dequantize.h"

namespace lockstep::fuzz {
namespace {

using forge::LinearCase;
using kernels::KernelTable;
using quant::TensorType;

constexpr int64_t kMostRows = 36;                            // two groups of 16 and a part of one
constexpr int64_t kMostTokens = kernels::kMostStreamed + 8;  // streamed, and by panel
// Products of two stay finite, and heads fit the f16 of a cache: where a NaN can arise the pass is refused, and kernel
// sets may differ (NUMERICS.md section 5).
constexpr float kLargest = 0x1p60f;
constexpr float kLargestInCache = 0x1p15f;

// Equal bits; where the definition has a NaN, which instruction sets write with different signs, any NaN.
void require_equal(std::span<const float> got, std::span<const float> wanted, std::string_view property) {
  require(got.size() == wanted.size(), property);
  for (size_t i = 0; i < got.size(); ++i) {
    const bool same = std::bit_cast<uint32_t>(got[i]) == std::bit_cast<uint32_t>(wanted[i]);
    require(same || (std::isnan(got[i]) && std::isnan(wanted[i])), property);
  }
}

float finite(float value, float largest) {
  return std::isfinite(value) ? std::clamp(value, -largest, largest) : 1.0f;
}

// Bytes of the input, and behind its end bytes that follow from them.
void fill(FuzzInput& input, std::span<std::byte> out) {
  const auto own = input.bytes(std::min<size_t>(out.size(), input.number<uint16_t>()));
  std::ranges::copy(std::as_bytes(own), out.begin());
  forge::RandomData random(input.number<uint32_t>());
  random.fill_bytes(out.subspan(own.size()));
}

std::vector<float> floats(FuzzInput& input, int64_t n, float largest = kLargest) {
  std::vector<float> values(static_cast<size_t>(n));
  fill(input, std::as_writable_bytes(std::span(values)));
  const int shift = input.number<int8_t>() / 4;
  if (input.flag()) {  // ordinary sizes instead of any bits
    for (float& value : values) value = std::ldexp(static_cast<float>(std::bit_cast<int32_t>(value) >> 8), shift - 23);
  }
  for (float& value : values) value = finite(value, largest);
  return values;
}

LinearCase linear_case(FuzzInput& input, TensorType type) {
  const quant::FormatInfo& format = quant::format_info(type);
  const int64_t unit = std::max<int64_t>(32, format.block_size);
  const int64_t n_cols = unit * (1 + input.below(type == TensorType::kF32 ? 17 : 4));
  const int64_t n_rows = 1 + input.below(kMostRows);
  LinearCase c = {type, n_rows, n_cols, {}, forge::ActivationRows(n_cols, 1 + input.below(kMostTokens))};
  c.weights.resize(static_cast<uint64_t>(n_rows) * c.row_bytes());
  fill(input, c.weights);
  for (int64_t t = 0; t < c.a.n_tokens; ++t) std::ranges::copy(floats(input, n_cols), c.a.row(t));
  return c;
}

void check_product(FuzzInput& input, std::span<const KernelTable* const> tables) {
  const auto types = forge::supported_types();
  LinearCase c = linear_case(input, types[static_cast<size_t>(input.below(static_cast<int64_t>(types.size())))]);
  if (!quant::scales_are_finite(c.type, c.weights.data(), c.weights.size() / quant::format_info(c.type).block_bytes))
    return;  // the loader refuses these
  const KernelTable& definition = *tables.back();
  require(c.a.quantize(definition), "finite activations are quantized");
  for (const bool fast : {true, false}) {
    const std::vector<float> wanted = c.product(definition, fast);
    for (const KernelTable* table : tables) require_equal(c.product(*table, fast), wanted, "products are equal");
  }
  forge::ActivationRows again = c.a;
  for (const KernelTable* table : tables) {
    (void)again.quantize(*table);
    require(again.q == c.a.q && again.sum == c.a.sum, "quantized activations are equal");
    for (int64_t t = 0; t < c.a.n_tokens; ++t) {
      const auto at = [t](const forge::ActivationRows& a) {
        return a.scale.data() + t * a.stride / kernels::kScaleGroup;
      };
      require_equal({at(again), static_cast<size_t>(c.n_cols / kernels::kScaleGroup)},
                    {at(c.a), static_cast<size_t>(c.n_cols / kernels::kScaleGroup)}, "scales are equal");
    }
  }
}

// f(table) -> vector<float> for every table.
template <typename F>
void compare(std::span<const KernelTable* const> tables, const F& f, std::string_view property) {
  const std::vector<float> wanted = f(*tables.back());
  for (const KernelTable* table : tables) require_equal(f(*table), wanted, property);
}

void check_vectors(FuzzInput& input, std::span<const KernelTable* const> tables) {
  const int64_t n = 2 + 2 * input.below(100);
  const std::vector<float> x = floats(input, n);
  const std::vector<float> y = floats(input, n);
  const float cap = 1.0f + static_cast<float>(input.below(100));
  const auto on_copy = [&](const auto& change) {
    return [&x, change](const KernelTable& t) {
      std::vector<float> out = x;
      change(t, out.data());
      return out;
    };
  };
  compare(tables, on_copy([&](auto& t, float* o) { t.rms_norm(x.data(), y.data(), n, 1e-5f, o); }),
          "rms_norm is equal");
  compare(tables, on_copy([&](auto& t, float* o) { t.swiglu(x.data(), y.data(), n, o); }), "swiglu is equal");
  compare(tables, on_copy([&](auto& t, float* o) { t.geglu(x.data(), y.data(), n, o); }), "geglu is equal");
  compare(tables, on_copy([&](auto& t, float* o) { t.softcap(o, n, cap); }), "softcap is equal");
  compare(tables, on_copy([&](auto& t, float* o) { t.add(o, y.data(), n); }), "add is equal");
  for (const auto pairing : {kernels::RopePairing::kAdjacent, kernels::RopePairing::kHalves}) {
    compare(tables, on_copy([&](auto& t, float* o) { t.rope(o, y.data(), n, pairing); }), "rope is equal");
  }
}

void check_attention(FuzzInput& input, std::span<const KernelTable* const> tables) {
  const int64_t head_dim = 32 * (1 + input.below(4));
  const int64_t n_group = 1 + input.below(5);
  const int64_t n_positions = 1 + input.below(kernels::kChunk);
  const int64_t first = input.below(n_positions);
  const auto type = static_cast<kernels::CacheType>(input.below(kernels::kCacheTypes));
  const std::vector<float> heads = floats(input, head_dim * 8, kLargestInCache);
  const std::vector<float> q = floats(input, head_dim * n_group, kLargestInCache);
  const auto attend = [&](const KernelTable& table) {
    const auto bytes = static_cast<size_t>(kernels::cache_chunk_bytes(type, head_dim));
    std::vector<std::byte> k(bytes), v(bytes);
    for (int64_t p = 0; p < n_positions; ++p) {
      const float* head = heads.data() + p % 8 * head_dim;
      table.append_k[static_cast<int>(type)](k.data(), p, head, head_dim);
      table.append_v[static_cast<int>(type)](v.data(), p, head, head_dim);
    }
    std::vector<kernels::AttentionPartial> partial(static_cast<size_t>(n_group));
    std::vector<float> o(static_cast<size_t>(n_group * head_dim));
    table.attend_chunk[static_cast<int>(type)](
        {q.data(), n_group, head_dim, k.data(), v.data(), n_positions, 0.125f, nullptr, first}, partial.data(),
        o.data());
    for (const auto& part : partial) o.insert(o.end(), {part.max, part.sum});
    return o;
  };
  compare(tables, attend, "attention is equal");
}

}  // namespace
}  // namespace lockstep::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep;
  fuzz::FuzzInput input(data, size);
  const auto tables = kernels::available_tables();
  switch (input.below(4)) {
    case 0:
      fuzz::check_vectors(input, tables);
      break;
    case 1:
      fuzz::check_attention(input, tables);
      break;
    default:
      fuzz::check_product(input, tables);
  }
  return 0;
}
