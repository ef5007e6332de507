// Fills a table with the vector kernels of the instruction set whose simd/ header was included before.
#pragma once

#include "kernels/body/chunk_attention.h"
#include "kernels/body/float_product.h"
#include "kernels/body/integer_product.h"
#include "kernels/body/vector_ops.h"
#include "kernels/oracle/float_math.h"
#include "kernels/table.h"

namespace lockstep::kernels {
namespace {

template <TensorType... types>
constexpr void add_quantized_products(KernelTable& table) {
  ((table.most_streamed[static_cast<int>(types)] = most_streamed<types>(),
    table.fast[static_cast<int>(types)] = linear_fast<types>,
    table.exact[static_cast<int>(types)] = linear_float<types>),
   ...);
}

template <TensorType... types>
constexpr void add_float_products(KernelTable& table) {
  ((table.most_streamed[static_cast<int>(types)] = kMostStreamedFloats,
    table.fast[static_cast<int>(types)] = linear_float<types>,
    table.exact[static_cast<int>(types)] = linear_float<types>),
   ...);
}

constexpr KernelTable body_table(const char* isa) {
  KernelTable table = {};
  table.isa = isa;
  table.packed = true;
  using enum TensorType;
  add_float_products<kF32, kF16, kBF16>(table);
  add_quantized_products<kQ4_0, kQ4_1, kQ5_0, kQ5_1, kQ8_0, kQ2_K, kQ3_K, kQ4_K, kQ5_K, kQ6_K, kIQ4_NL, kIQ4_XS, kIQ3_S,
                         kTQ1_0, kTQ2_0, kMXFP4>(table);
  table.quantize = quantize_vector;
  table.rms_norm = rms_norm_vector;
  table.swiglu = swiglu_vector;
  table.geglu = geglu_vector;
  table.softcap = softcap_vector;
  table.add = add_vector;
  table.rope = rope;
  table.append_k[static_cast<int>(CacheType::kF16)] = append_k_f16;
  table.append_k[static_cast<int>(CacheType::kF32)] = append_k<F32Element>;
  table.append_k[static_cast<int>(CacheType::kQ8_0)] = append_k_q8;
  table.append_v[static_cast<int>(CacheType::kF16)] = append_v_f16;
  table.append_v[static_cast<int>(CacheType::kF32)] = append_v<F32Element>;
  table.append_v[static_cast<int>(CacheType::kQ8_0)] = append_v_q8;
  table.attend_chunk[static_cast<int>(CacheType::kF16)] = attend_chunk_vector<F16Element>;
  table.attend_chunk[static_cast<int>(CacheType::kF32)] = attend_chunk_vector<F32Element>;
  table.attend_chunk[static_cast<int>(CacheType::kQ8_0)] = attend_chunk_q8_vector;
  table.merge_chunk = merge_chunk_vector;
  table.finish_attention = finish_attention_vector;
  return table;
}

}  // namespace
}  // namespace lockstep::kernels
