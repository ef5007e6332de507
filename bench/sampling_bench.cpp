// What choosing a token among 150,000 logits costs, for the usual chains and with everything on. `make bench-sampling`;
// held against the time of one decode step (`lockstep bench`), the budget is 2 % of it.
#include <benchmark/benchmark.h>

#include <cmath>

#include "base/random.h"
#include "sampling/logits.h"
#include "sampling/sampler.h"

namespace lockstep::sampling {
namespace {

constexpr size_t kVocab = 151936;  // of Qwen2.5

// Like a model's: a bell, and a few tokens far above it.
std::vector<float> made_up_logits() {
  std::vector<float> logits(kVocab);
  for (size_t i = 0; i < kVocab; ++i) {
    const double u = uniform_draw(1, 2 * i);
    const double v = uniform_draw(1, 2 * i + 1);
    logits[i] = static_cast<float>(2.5 * std::sqrt(-2 * std::log(1 - u)) * std::cos(6.283185307179586 * v));
  }
  for (size_t i = 0; i < 12; ++i) logits[i * 9973] = 18.0f - static_cast<float>(i);
  return logits;
}

enum class Look { kAll, kShortlist };

// One token after 200 others, as in an answer under way.
void choose_token(benchmark::State& state, const SamplingParams& params, Look look) {
  const std::vector<float> logits = made_up_logits();
  const std::vector<Candidate> shortlist = top_k_of(logits, Sampler::kShortlist);
  Sampler sampler(params, static_cast<int32_t>(kVocab));
  sampler.reserve(200);
  for (int i = 0; i < 200; ++i) sampler.accept(static_cast<TokenId>(uniform_draw(2, static_cast<uint64_t>(i)) * 5000));
  uint64_t step = 0;
  for (auto _ : state) {
    const TokenId id = look == Look::kAll ? sampler.sample(logits, step) : sampler.sample(logits, shortlist, step);
    benchmark::DoNotOptimize(id);
    ++step;
  }
}

SamplingParams everything() {
  SamplingParams params = {.repeat_penalty = 1.1f};
  params.dry_multiplier = 0.8f;
  params.top_n_sigma = 2;
  params.typical = 0.9f;
  params.xtc_probability = 0.5f;
  params.dynatemp_range = 0.5f;
  params.logit_bias = {{7, 1.0f}};
  return params;
}

// In the engine the forward pass leaves a shortlist; kAll is the same choice without one.
BENCHMARK_CAPTURE(choose_token, greedy, SamplingParams{.temp = 0}, Look::kShortlist)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(choose_token, greedy_without_shortlist, SamplingParams{.temp = 0}, Look::kAll)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(choose_token, default_chain, SamplingParams(), Look::kShortlist)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(choose_token, default_chain_without_shortlist, SamplingParams(), Look::kAll)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(choose_token, penalties, SamplingParams{.repeat_penalty = 1.1f}, Look::kShortlist)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(choose_token, no_top_k, SamplingParams{.top_k = 0}, Look::kShortlist)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(choose_token, temperature_alone, SamplingParams{.stages = {Stage::kTemperature}}, Look::kShortlist)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(choose_token, very_hot, (SamplingParams{.temp = 3, .stages = {Stage::kTemperature}}),
                  Look::kShortlist)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(choose_token, min_p_alone, (SamplingParams{.stages = {Stage::kMinP, Stage::kTemperature}}),
                  Look::kShortlist)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(choose_token, typical_alone,
                  (SamplingParams{.typical = 0.9f, .stages = {Stage::kTypicalP, Stage::kTemperature}}),
                  Look::kShortlist)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(choose_token, mirostat_2, SamplingParams{.mirostat = 2}, Look::kShortlist)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(choose_token, everything, everything(), Look::kShortlist)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace lockstep::sampling

BENCHMARK_MAIN();
