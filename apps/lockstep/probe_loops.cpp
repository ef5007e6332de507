#include "probe_loops.h"

#include "base/cpu.h"

// Assembly says exactly what is measured: a compiler may neither drop, merge nor vectorise it.
namespace lockstep {
namespace {

// How far ahead of the loads lines are asked for: 2 to 8 KiB measure alike, and past the end of a page it does no harm.
constexpr uint64_t kPrefetchAhead = 4096;
constexpr uint64_t kLine = 64;
enum class Prefetch { kNone, kAhead };

template <typename Word>
[[gnu::always_inline]] inline Word load(const std::byte* at) noexcept {
  Word word;
  __builtin_memcpy(&word, at, sizeof(word));
  return word;
}

template <Prefetch prefetch>
uint64_t read_words(const std::byte* data, uint64_t bytes) noexcept {
  uint64_t sum[4] = {};
  for (const std::byte* end = data + bytes; data < end; data += kReadStep) {
    if constexpr (prefetch == Prefetch::kAhead) {
      for (uint64_t at = 0; at < kReadStep; at += kLine) __builtin_prefetch(data + kPrefetchAhead + at);
    }
    for (uint64_t at = 0; at < kReadStep; at += sizeof(sum)) {
      for (uint64_t i = 0; i < 4; ++i) sum[i] |= load<uint64_t>(data + at + i * sizeof(uint64_t));
    }
  }
  return sum[0] | sum[1] | sum[2] | sum[3];
}

#if defined(__x86_64__)

// kReadStep bytes with loads of whole vectors into four sums. A macro: a function for one instruction set cannot be
// inlined into one for another, and these loops are nothing but their loads.
#define LOCKSTEP_READ_LOOP(name, target_features, Vector)                                                  \
  template <Prefetch prefetch>                                                                             \
  [[gnu::target(target_features)]] uint64_t name(const std::byte* data, uint64_t bytes) noexcept {         \
    Vector a = {}, b = {}, c = {}, d = {};                                                                 \
    for (const std::byte* end = data + bytes; data < end; data += kReadStep) {                             \
      if constexpr (prefetch == Prefetch::kAhead) {                                                        \
        for (uint64_t at = 0; at < kReadStep; at += kLine) __builtin_prefetch(data + kPrefetchAhead + at); \
      }                                                                                                    \
      for (uint64_t at = 0; at < kReadStep; at += 4 * sizeof(Vector)) {                                    \
        const auto* from = reinterpret_cast<const Vector*>(data + at);                                     \
        a |= from[0];                                                                                      \
        b |= from[1];                                                                                      \
        c |= from[2];                                                                                      \
        d |= from[3];                                                                                      \
      }                                                                                                    \
    }                                                                                                      \
    a |= b | c | d;                                                                                        \
    uint64_t all = 0;                                                                                      \
    for (uint64_t i = 0; i < sizeof(Vector) / sizeof(uint64_t); ++i) all |= static_cast<uint64_t>(a[i]);   \
    return all;                                                                                            \
  }

using Words256 [[gnu::vector_size(32), gnu::may_alias]] = uint64_t;
using Words512 [[gnu::vector_size(64), gnu::may_alias]] = uint64_t;
LOCKSTEP_READ_LOOP(read_avx2, "avx2", Words256)
LOCKSTEP_READ_LOOP(read_avx512, "avx512f", Words512)
#undef LOCKSTEP_READ_LOOP

// Twelve independent sums: two units with a latency of four or five cycles need ten in flight.
#define LOCKSTEP_TWELVE(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define LOCKSTEP_TWELVE_CLOBBERS                                                                                      \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", \
      "xmm14", "xmm15", "cc"
#define LOCKSTEP_RATE_LOOP(name, twelve_operations, clear)                                              \
  void name(uint64_t rounds) noexcept {                                                                 \
    asm volatile("vpxor %%xmm12, %%xmm12, %%xmm12\n vpxor %%xmm13, %%xmm13, %%xmm13\n" LOCKSTEP_TWELVE( \
                     clear) "1:\n" twelve_operations "dec %0\n jnz 1b\n vzeroupper\n"                   \
                 : "+r"(rounds)                                                                         \
                 :                                                                                      \
                 : LOCKSTEP_TWELVE_CLOBBERS);                                                           \
  }
#define LOCKSTEP_CLEAR(n) "vpxor %%xmm" #n ", %%xmm" #n ", %%xmm" #n "\n"
#define LOCKSTEP_DPBUSD_ZMM(n) "vpdpbusd %%zmm12, %%zmm13, %%zmm" #n "\n"
#define LOCKSTEP_DPBUSD_YMM(n) "%{vex%} vpdpbusd %%ymm12, %%ymm13, %%ymm" #n "\n"
#define LOCKSTEP_FMA_ZMM(n) "vfmadd231ps %%zmm12, %%zmm13, %%zmm" #n "\n"
#define LOCKSTEP_FMA_YMM(n) "vfmadd231ps %%ymm12, %%ymm13, %%ymm" #n "\n"
// Without a dot product of bytes: pairs to 16 bits, pairs of those to 32, and an addition.
#define LOCKSTEP_MADDUBS(n, t)                                                                              \
  "vpmaddubsw %%ymm12, %%ymm13, %%ymm" #t "\n vpmaddwd %%ymm12, %%ymm" #t ", %%ymm" #t "\n vpaddd %%ymm" #t \
  ", %%ymm" #n ", %%ymm" #n "\n"
#define LOCKSTEP_SIX_MADDUBS \
  LOCKSTEP_MADDUBS(0, 6)     \
  LOCKSTEP_MADDUBS(1, 7) LOCKSTEP_MADDUBS(2, 8) LOCKSTEP_MADDUBS(3, 9) LOCKSTEP_MADDUBS(4, 10) LOCKSTEP_MADDUBS(5, 11)

LOCKSTEP_RATE_LOOP(dot_avx512, LOCKSTEP_TWELVE(LOCKSTEP_DPBUSD_ZMM), LOCKSTEP_CLEAR)
LOCKSTEP_RATE_LOOP(dot_avxvnni, LOCKSTEP_TWELVE(LOCKSTEP_DPBUSD_YMM), LOCKSTEP_CLEAR)
LOCKSTEP_RATE_LOOP(dot_avx2, LOCKSTEP_SIX_MADDUBS, LOCKSTEP_CLEAR)
LOCKSTEP_RATE_LOOP(fma_avx512, LOCKSTEP_TWELVE(LOCKSTEP_FMA_ZMM), LOCKSTEP_CLEAR)
LOCKSTEP_RATE_LOOP(fma_avx2, LOCKSTEP_TWELVE(LOCKSTEP_FMA_YMM), LOCKSTEP_CLEAR)

#endif

// Empty assembly that might have changed the number: the compiler may not work out the loop beforehand or vectorise it.
[[gnu::always_inline]] inline void hide(int32_t& number) noexcept {
  asm volatile("" : "+r"(number));
}
[[gnu::always_inline]] inline void hide(float& number) noexcept {
#if defined(__x86_64__)
  asm volatile("" : "+x"(number));
#else
  asm volatile("" : "+w"(number));
#endif
}

constexpr int kScalarSums = 8;  // independent of one another

template <typename Number>
void multiply_add_scalars(uint64_t rounds) noexcept {
  Number sums[kScalarSums] = {};
  Number a = 3;
  for (uint64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 8
    for (Number& sum : sums) {
      hide(a);
      sum += a * a;
      hide(sum);
    }
  }
}

constexpr uint64_t kRounds = 20000;
constexpr RateLoop kScalarInt8 = {"scalar", kScalarSums, kRounds, multiply_add_scalars<int32_t>};
constexpr RateLoop kScalarFp32 = {"scalar", kScalarSums, kRounds, multiply_add_scalars<float>};

}  // namespace

std::array<ReadLoop, 2> widest_read_loops() {
  using enum Prefetch;
#if defined(__x86_64__)
  const CpuFeatures cpu = cpu_features();
  if (cpu.avx512_vnni) return {read_avx512<kNone>, read_avx512<kAhead>};
  if (cpu.fma) return {read_avx2<kNone>, read_avx2<kAhead>};
#endif
  return {read_words<kNone>, read_words<kAhead>};
}

std::vector<RateLoop> int8_loops() {
  std::vector<RateLoop> loops = {kScalarInt8};
#if defined(__x86_64__)
  const CpuFeatures cpu = cpu_features();
  if (cpu.fma) loops.push_back({"avx2", 6 * 32, kRounds, dot_avx2});
  if (cpu.avx_vnni) loops.push_back({"avxvnni", 12 * 32, kRounds, dot_avxvnni});
  if (cpu.avx512_vnni) loops.push_back({"avx512", 12 * 64, kRounds, dot_avx512});
#endif
  return loops;
}

std::vector<RateLoop> fp32_loops() {
  std::vector<RateLoop> loops = {kScalarFp32};
#if defined(__x86_64__)
  const CpuFeatures cpu = cpu_features();
  if (cpu.fma) loops.push_back({"avx2", 12 * 8, kRounds, fma_avx2});
  if (cpu.avx512_vnni) loops.push_back({"avx512", 12 * 16, kRounds, fma_avx512});
#endif
  return loops;
}

void run_add_chain(uint64_t rounds) noexcept {
  int64_t x = 1;
  for (uint64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 8
    for (uint64_t i = 0; i < kChainAdds; ++i) {
      x += 1;
      asm volatile("" : "+r"(x));
    }
  }
}

}  // namespace lockstep
