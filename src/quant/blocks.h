// The tensor formats of GGUF as plain structs, byte for byte as they lie in the file (little-endian). They are packed,
// so that a block may start at any address. Layouts: ggml-common.h of llama.cpp. Only structs here: units for any
// instruction set may include this header.
#pragma once

#include <cstdint>

namespace lockstep::quant {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "blocks are read in place");

// Elements in one block of the K, IQ and TQ families.
constexpr int kSuperBlock = 256;

// Legacy formats: 32 elements; of 16 bytes of nibbles the low ones are elements 0..15, the high ones 16..31.
struct [[gnu::packed]] BlockQ4_0 {
  uint16_t d;  // f16, like every d, m and dmin below
  uint8_t qs[16];
};

struct [[gnu::packed]] BlockQ4_1 {
  uint16_t d;
  uint16_t m;
  uint8_t qs[16];
};

struct [[gnu::packed]] BlockQ5_0 {
  uint16_t d;
  uint8_t qh[4];  // bit i: the fifth bit of element i
  uint8_t qs[16];
};

struct [[gnu::packed]] BlockQ5_1 {
  uint16_t d;
  uint16_t m;
  uint8_t qh[4];
  uint8_t qs[16];
};

struct [[gnu::packed]] BlockQ8_0 {
  uint16_t d;
  int8_t qs[32];
};

struct [[gnu::packed]] BlockQ8_1 {
  uint16_t d;
  uint16_t s;  // d times the sum of qs
  int8_t qs[32];
};

// K formats: 256 elements in groups of 16 or 32 with small integer scales.
struct [[gnu::packed]] BlockQ2_K {
  uint8_t scales[16];  // low nibble: scale, high nibble: minimum
  uint8_t qs[64];
  uint16_t d;
  uint16_t dmin;
};

struct [[gnu::packed]] BlockQ3_K {
  uint8_t hmask[32];
  uint8_t qs[64];
  uint8_t scales[12];  // 16 scales of 6 bits
  uint16_t d;
};

struct [[gnu::packed]] BlockQ4_K {
  uint16_t d;
  uint16_t dmin;
  uint8_t scales[12];  // 8 scales and 8 minima of 6 bits
  uint8_t qs[128];
};

struct [[gnu::packed]] BlockQ5_K {
  uint16_t d;
  uint16_t dmin;
  uint8_t scales[12];  // as in Q4_K
  uint8_t qh[32];
  uint8_t qs[128];
};

struct [[gnu::packed]] BlockQ6_K {
  uint8_t ql[128];
  uint8_t qh[64];
  int8_t scales[16];
  uint16_t d;
};

struct [[gnu::packed]] BlockQ8_K {
  float d;
  int8_t qs[256];
  int16_t bsums[16];
};

// IQ formats: the integers come from tables.
struct [[gnu::packed]] BlockIQ2_XXS {
  uint16_t d;
  uint16_t qs[32];
};

struct [[gnu::packed]] BlockIQ2_XS {
  uint16_t d;
  uint16_t qs[32];
  uint8_t scales[8];
};

struct [[gnu::packed]] BlockIQ2_S {
  uint16_t d;
  uint8_t qs[64];
  uint8_t qh[8];
  uint8_t scales[8];
};

struct [[gnu::packed]] BlockIQ3_XXS {
  uint16_t d;
  uint8_t qs[96];
};

struct [[gnu::packed]] BlockIQ3_S {
  uint16_t d;
  uint8_t qs[64];
  uint8_t qh[8];  // the ninth bits of the table indices
  uint8_t signs[32];
  uint8_t scales[4];
};

struct [[gnu::packed]] BlockIQ1_S {
  uint16_t d;
  uint8_t qs[32];
  uint16_t qh[8];
};

// d is spread over the upper four bits of the four 16-bit words of scales.
struct [[gnu::packed]] BlockIQ1_M {
  uint8_t qs[32];
  uint8_t qh[16];
  uint8_t scales[8];
};

struct [[gnu::packed]] BlockIQ4_NL {
  uint16_t d;
  uint8_t qs[16];
};

struct [[gnu::packed]] BlockIQ4_XS {
  uint16_t d;
  uint16_t scales_h;
  uint8_t scales_l[4];
  uint8_t qs[128];
};

// Ternary, binary and microscaling formats.
struct [[gnu::packed]] BlockTQ1_0 {
  uint8_t qs[48];  // five elements a byte
  uint8_t qh[4];   // four elements a byte
  uint16_t d;
};

struct [[gnu::packed]] BlockTQ2_0 {
  uint8_t qs[64];
  uint16_t d;
};

struct [[gnu::packed]] BlockMXFP4 {
  uint8_t e;  // the scale is a power of two
  uint8_t qs[16];
};

struct [[gnu::packed]] BlockNVFP4 {
  uint8_t d[4];  // ue4m3, one per 16 elements
  uint8_t qs[32];
};

struct [[gnu::packed]] BlockQ1_0 {
  uint16_t d;
  uint8_t qs[16];
};

struct [[gnu::packed]] BlockQ2_0 {
  uint16_t d;
  uint8_t qs[16];
};

// Bytes per block as the file format has them.
static_assert(sizeof(BlockQ4_0) == 18 && sizeof(BlockQ4_1) == 20 && sizeof(BlockQ5_0) == 22 && sizeof(BlockQ5_1) == 24);
static_assert(sizeof(BlockQ8_0) == 34 && sizeof(BlockQ8_1) == 36 && sizeof(BlockQ8_K) == 292);
static_assert(sizeof(BlockQ2_K) == 84 && sizeof(BlockQ3_K) == 110 && sizeof(BlockQ4_K) == 144);
static_assert(sizeof(BlockQ5_K) == 176 && sizeof(BlockQ6_K) == 210);
static_assert(sizeof(BlockIQ2_XXS) == 66 && sizeof(BlockIQ2_XS) == 74 && sizeof(BlockIQ2_S) == 82);
static_assert(sizeof(BlockIQ3_XXS) == 98 && sizeof(BlockIQ3_S) == 110);
static_assert(sizeof(BlockIQ1_S) == 50 && sizeof(BlockIQ1_M) == 56);
static_assert(sizeof(BlockIQ4_NL) == 18 && sizeof(BlockIQ4_XS) == 136);
static_assert(sizeof(BlockTQ1_0) == 54 && sizeof(BlockTQ2_0) == 66 && sizeof(BlockMXFP4) == 17);
static_assert(sizeof(BlockNVFP4) == 36 && sizeof(BlockQ1_0) == 18 && sizeof(BlockQ2_0) == 18);
static_assert(alignof(BlockQ4_0) == 1 && alignof(BlockQ8_K) == 1 && alignof(BlockIQ4_XS) == 1);

}  // namespace lockstep::quant
