// Fills a table with the scalar definitions. Included by each unit that compiles them with its own flags.
#pragma once

#include "kernels/oracle/float_math.h"
#include "kernels/oracle/oracle_attention.h"
#include "kernels/oracle/oracle_linear.h"
#include "kernels/oracle/oracle_quantize.h"
#include "kernels/table.h"

namespace lockstep::kernels {
namespace {

template <TensorType T>
constexpr void add_quantized(KernelTable& table) {
  table.fast[static_cast<int>(T)] = linear_fast<T>;
  table.exact[static_cast<int>(T)] = linear_exact<T>;
}

template <TensorType T>
constexpr void add_float(KernelTable& table) {
  table.fast[static_cast<int>(T)] = linear_exact<T>;
  table.exact[static_cast<int>(T)] = linear_exact<T>;
}

constexpr KernelTable oracle_table(const char* isa) {
  KernelTable table = {};
  table.isa = isa;
  using enum TensorType;
  add_float<kF32>(table);
  add_float<kF16>(table);
  add_float<kBF16>(table);
  add_quantized<kQ4_0>(table);
  add_quantized<kQ4_1>(table);
  add_quantized<kQ5_0>(table);
  add_quantized<kQ5_1>(table);
  add_quantized<kQ8_0>(table);
  add_quantized<kQ2_K>(table);
  add_quantized<kQ3_K>(table);
  add_quantized<kQ4_K>(table);
  add_quantized<kQ5_K>(table);
  add_quantized<kQ6_K>(table);
  add_quantized<kIQ4_NL>(table);
  add_quantized<kIQ4_XS>(table);
  add_quantized<kIQ3_S>(table);
  add_quantized<kTQ1_0>(table);
  add_quantized<kTQ2_0>(table);
  add_quantized<kMXFP4>(table);
  table.quantize = quantize;
  table.rms_norm = rms_norm;
  table.swiglu = swiglu;
  table.geglu = geglu;
  table.softcap = softcap;
  table.add = add;
  table.rope = rope;
  table.append_k[static_cast<int>(CacheType::kF16)] = append_k<F16Element>;
  table.append_k[static_cast<int>(CacheType::kF32)] = append_k<F32Element>;
  table.append_k[static_cast<int>(CacheType::kQ8_0)] = append_k_q8;
  table.append_v[static_cast<int>(CacheType::kF16)] = append_v<F16Element>;
  table.append_v[static_cast<int>(CacheType::kF32)] = append_v<F32Element>;
  table.append_v[static_cast<int>(CacheType::kQ8_0)] = append_v_q8;
  table.attend_chunk[static_cast<int>(CacheType::kF16)] = attend_chunk<F16Element>;
  table.attend_chunk[static_cast<int>(CacheType::kF32)] = attend_chunk<F32Element>;
  table.attend_chunk[static_cast<int>(CacheType::kQ8_0)] = attend_chunk_q8;
  table.merge_chunk = merge_chunk;
  table.finish_attention = finish_attention;
  return table;
}

}  // namespace
}  // namespace lockstep::kernels
