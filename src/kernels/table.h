// The contract between the model and its kernels: plain data in, plain data out, one function pointer per operation.
//
// A kernel set (one per instruction set) fills a KernelTable. Every set gives the same bits: the scalar definition in
// oracle/ is the meaning of each entry (NUMERICS.md), the others must equal it by memcmp. Kernels know no threads,
// allocate nothing, never throw; a caller hands disjoint row or unit ranges to its threads. This header is included by
// units compiled for one instruction set: plain data only, no standard library templates.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep::kernels {

// Elements that share one activation scale.
inline constexpr int64_t kScaleGroup = 32;
// Elements per sum of quantized activations.
inline constexpr int64_t kSumGroup = 16;
// Exact products are chains over this many elements; the chains' results are added in order.
inline constexpr int64_t kExactChunk = 256;
// No kernel set multiplies rows as they stream by for more tokens than this (KernelTable::most_streamed).
inline constexpr int64_t kMostStreamed = 32;
// Positions per block of the K cache: lanes of one vector.
inline constexpr int64_t kPositionsPerBlock = 16;
// Positions per attention chunk, and per allocation of the KV cache.
inline constexpr int64_t kChunk = 128;
// Upper bound of query heads per KV head, and of the head size, that attention kernels accept.
inline constexpr int64_t kMaxHeadDim = 512;
inline constexpr int64_t kMaxGroup = 64;

// A weight matrix [n_rows, n_cols]: row after row as in the file, or in groups of 16 packed rows (packed.h), which take
// the same bytes.
struct WeightMatrix {
  const std::byte* data;
  uint64_t row_bytes;
  int64_t n_rows;
  int64_t n_cols;
};

// Rows of activations [n_tokens, n], as fp32 and (compute mode fast) as int8 with scales.
struct Activations {
  const float* x;  // [n_tokens, x_stride]
  int64_t x_stride;
  const int8_t* q;  // [n_tokens, q_stride]; |q| <= 127
  int64_t q_stride;
  const float* scale;  // [n_tokens, scale_stride]: one per kScaleGroup elements
  int64_t scale_stride;
  const int32_t* sum;  // [n_tokens, sum_stride]: sum of q per kSumGroup elements
  int64_t sum_stride;
  int64_t n_tokens;
};

// out[t, r] = (or += when `add`) the product of weight row r and activation row t, for r in [row_begin, row_end).
struct LinearJob {
  WeightMatrix w;
  int64_t row_begin, row_end;
  Activations a;
  float* out;
  int64_t out_stride;
  bool add;
  std::byte* scratch;  // linear_scratch_bytes() of memory of the calling thread's own, 64-byte aligned
};

// What a product may need besides its operands: a panel of unpacked rows and per-token corrections.
[[gnu::always_inline]] constexpr uint64_t linear_scratch_bytes(int64_t n_cols, int64_t n_tokens) {
  return static_cast<uint64_t>(48 * (n_cols + 256) + n_tokens * (n_cols / 2 + 512) + 65536);
}

// How keys and values are kept. Q8_0: 32 elements of a head share an f16 scale (head sizes that are multiples of 32).
enum class CacheType : int { kF16 = 0, kF32 = 1, kQ8_0 = 2 };
inline constexpr int kCacheTypes = 3;

// Bytes of kChunk positions of one head's keys, or values.
[[gnu::always_inline]] constexpr int64_t cache_chunk_bytes(CacheType type, int64_t head_dim) {
  if (type == CacheType::kQ8_0) return kChunk * (head_dim / kScaleGroup) * (kScaleGroup + 2);
  return kChunk * head_dim * (type == CacheType::kF16 ? 2 : 4);
}

// Query heads that share a KV head, of one token or of several, against one chunk of at most kChunk positions.
struct AttentionJob {
  const float* q;  // [n_group, head_dim]
  int64_t n_group;
  int64_t head_dim;
  // F16, F32: blocks [kChunk / 16][head_dim][16]. Q8_0: [kChunk / 16][head_dim / 32] packed units of 16 positions: f16
  // scale[16], then 8 lines of 16 x 4 bytes (packed.h).
  const void* k;
  // F16, F32: [kChunk][head_dim]. Q8_0: [kChunk][head_dim / 32] blocks of an f16 scale and 32 bytes.
  const void* v;
  int64_t n_positions;  // attend to no position of the chunk from here on, 1..kChunk (but see heads_per_token)
  float scale;
  const void* next_k;          // the keys that this thread reads next, or null: fetched meanwhile
  int64_t first_position = 0;  // attend from here on, below n_positions: what is before is out of the window
  float softcap = 0.0f;        // scores s become cap * tanh(s / cap); 0: they stay
  // Where the tokens themselves are in the chunk: q is of tokens that follow one another, so many heads of each, and a
  // token sees one position more than the one before it; n_positions is for the first. 0: all see the same.
  int64_t heads_per_token = 0;

  // n_positions for query g.
  [[nodiscard, gnu::always_inline]] int64_t seen_by(int64_t g) const {
    return heads_per_token == 0 ? n_positions : n_positions + g / heads_per_token;
  }
  [[nodiscard, gnu::always_inline]] int64_t seen_by_any() const { return seen_by(n_group - 1); }
};

// The result of one chunk for one query head: maximum score, sum of exponentials, and the weighted sum of V (not yet
// divided).
struct AttentionPartial {
  float max;
  float sum;
};

// Adjacent pairs (x[2i], x[2i+1]) or halves (x[i], x[i + n_rot/2]).
enum class RopePairing : int { kAdjacent, kHalves };

struct KernelTable {
  const char* isa;
  bool packed;  // weights are in the R16 layout (packed.h), row ranges begin at multiples of 16; otherwise as in the
                // file
  // For how many tokens `fast` multiplies the rows of a type as they stream by, by tensor type number; for more they
  // are unpacked into a panel first. `exact` streams F32, F16 and BF16 as `fast` does, other types never.
  int64_t most_streamed[48];
  // By tensor type number; null where a type is not supported. `exact` works on a.x, `fast` on a.q (F32, F16, BF16: on
  // a.x, the same function).
  void (*fast[48])(const LinearJob&) noexcept;
  void (*exact[48])(const LinearJob&) noexcept;

  // q, scale, sum of n elements (a multiple of kScaleGroup). False when an element is not finite; its group then counts
  // as zero.
  bool (*quantize)(const float* x, int64_t n, int8_t* q, float* scale, int32_t* sum) noexcept;
  // out[i] = (x[i] * 1/sqrt(mean(x^2) + eps)) * weight[i]. out may be x.
  void (*rms_norm)(const float* x, const float* weight, int64_t n, float eps, float* out) noexcept;
  // out[i] = silu(gate[i]) * up[i]. out may be gate.
  void (*swiglu)(const float* gate, const float* up, int64_t n, float* out) noexcept;
  // out[i] = gelu(gate[i]) * up[i]. out may be gate.
  void (*geglu)(const float* gate, const float* up, int64_t n, float* out) noexcept;
  // x[i] = cap * tanh(x[i] / cap).
  void (*softcap)(float* x, int64_t n, float cap) noexcept;
  // x[i] += y[i].
  void (*add)(float* x, const float* y, int64_t n) noexcept;
  // Rotates the first n_rot elements of a head by the angles whose cos and sin interleave in cos_sin [n_rot / 2][2].
  void (*rope)(float* head, const float* cos_sin, int64_t n_rot, RopePairing pairing) noexcept;
  // One position's key into block storage (k points at the chunk, position 0..kChunk-1), and value into its row. By
  // CacheType.
  void (*append_k[kCacheTypes])(void* k, int64_t position, const float* head, int64_t head_dim) noexcept;
  void (*append_v[kCacheTypes])(void* v, int64_t position, const float* head, int64_t head_dim) noexcept;
  // partial [n_group], o [n_group, head_dim]. By CacheType.
  void (*attend_chunk[kCacheTypes])(const AttentionJob&, AttentionPartial* partial, float* o) noexcept;
  // Folds the next chunk's (part, o) into (total, acc). The first chunk is copied by the caller.
  void (*merge_chunk)(AttentionPartial& total, float* acc, const AttentionPartial& part, const float* o,
                      int64_t head_dim) noexcept;
  // acc[i] /= total.sum.
  void (*finish_attention)(const AttentionPartial& total, float* acc, int64_t head_dim) noexcept;
};

}  // namespace lockstep::kernels
