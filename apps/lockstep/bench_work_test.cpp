#include "bench_work.h"

#include <gtest/gtest.h>

#include "bench_sequences.h"
#include "forge/load_engine.h"
#include "forge/tiny_model.h"

namespace lockstep {
namespace {

// The matrices of forge::tiny_llama(): 4 layers, width 256, 8 heads and 2 KV heads of 32, feed-forward 704, 300 tokens.
constexpr double kQkv = (256 + 64 + 64) * 256;
constexpr double kRest = 256 * 256 + 3 * 704 * 256;
constexpr double kHead = 300 * 256;
constexpr double kWeightBytes = 2;                          // F16
constexpr double kKvBytesPerPosition = 4 * 2 * 2 * 32 * 2;  // layers, K and V, heads, size, F16

std::unique_ptr<engine::Engine> tiny_engine(const forge::TinyShape& shape, const std::string& name) {
  engine::EngineOptions options;
  options.threads = 2;
  options.ctx_size = 1024;
  options.batch_size = 100;
  return forge::load_engine(forge::TinyModel(shape), name, options);
}

TEST(PassWork, CountsEachMatrixOnceAndEachTokensMultiplyAdds) {
  const auto engine = tiny_engine(forge::tiny_llama(), "llama.gguf");
  const PassWork one = pass_work(engine->model(), 1, 1);
  EXPECT_EQ(one.macs, 4 * (kQkv + kRest) + kHead);
  EXPECT_EQ(one.weight_bytes, kWeightBytes * one.macs);
  const PassWork four = pass_work(engine->model(), 4, 4);
  EXPECT_EQ(four.macs, 4 * one.macs);
  EXPECT_EQ(four.weight_bytes, one.weight_bytes);
}

TEST(PassWork, FollowsOnlyTheWantedRowsPastTheLastAttention) {
  const auto engine = tiny_engine(forge::tiny_llama(), "llama.gguf");
  const PassWork prompt = pass_work(engine->model(), 10, 1);
  EXPECT_EQ(prompt.macs, 10 * (4 * kQkv + 3 * kRest) + kRest + kHead);
  EXPECT_EQ(prompt.weight_bytes, pass_work(engine->model(), 1, 1).weight_bytes);
  const PassWork unwanted = pass_work(engine->model(), 10, 0);
  EXPECT_EQ(unwanted.macs, 10 * (4 * kQkv + 3 * kRest));
  EXPECT_EQ(unwanted.weight_bytes, kWeightBytes * (4 * kQkv + 3 * kRest));
}

TEST(PassWork, CountsATiedHeadOnceAndNoEmbeddingRows) {
  forge::TinyShape shape = forge::tiny_llama();
  shape.tied = true;
  const auto engine = tiny_engine(shape, "tied.gguf");
  EXPECT_EQ(pass_work(engine->model(), 1, 1).weight_bytes, kWeightBytes * (4 * (kQkv + kRest) + kHead));
}

TEST(PassWork, CountsTheExpertsThatTokensUse) {
  forge::TinyShape shape = forge::tiny_family("mixtral");
  shape.n_layers = 1;
  const auto engine = tiny_engine(shape, "mixtral.gguf");
  constexpr double kOutside = kQkv + 256 * 256 + 4 * 256 + kHead;  // four experts' router
  constexpr double kExpert = 3 * 704 * 256;
  const PassWork one = pass_work(engine->model(), 1, 1);
  EXPECT_EQ(one.macs, kOutside + 2 * kExpert);
  EXPECT_EQ(one.weight_bytes, kWeightBytes * one.macs);
  const PassWork two = pass_work(engine->model(), 2, 2);
  EXPECT_EQ(two.macs, 2 * one.macs);
  EXPECT_EQ(two.weight_bytes, kWeightBytes * (kOutside + 3 * kExpert));  // the second finds half of its two in use
  EXPECT_EQ(pass_work(engine->model(), 1000, 1000).weight_bytes, kWeightBytes * (kOutside + 4 * kExpert));
}

TEST(BenchSequences, DecodeOneTokenOfEachInAPassAndReadTheirCaches) {
  const auto engine = tiny_engine(forge::tiny_llama(), "llama.gguf");
  BenchSequences sequences(*engine, 2);
  const double weights = pass_work(engine->model(), 1, 1).weight_bytes;
  const BenchSequences::Measured at_start = sequences.decode(3, 2);
  EXPECT_EQ(engine->n_forward(), 3u);
  EXPECT_EQ(at_start.tokens, 6);
  EXPECT_EQ(at_start.bytes, 3 * weights);
  EXPECT_EQ(at_start.macs, 6 * pass_work(engine->model(), 1, 1).macs);
  EXPECT_GT(at_start.seconds, 0);
  sequences.fill(130);
  EXPECT_EQ(engine->n_forward(), 3u + 2 * 2);  // each in passes of 100 and 30
  const BenchSequences::Measured deep = sequences.decode(2, 2);
  EXPECT_EQ(deep.bytes, 2 * weights + 2 * (131 + 132) * kKvBytesPerPosition);
}

TEST(BenchSequences, FillADeeperCacheFromWhereItIs) {
  const auto engine = tiny_engine(forge::tiny_llama(), "llama.gguf");
  BenchSequences sequences(*engine, 1);
  sequences.fill(90);
  EXPECT_EQ(engine->n_forward(), 1u);
  (void)sequences.decode(20, 1);
  (void)sequences.prefill(150);
  EXPECT_EQ(engine->n_forward(), 1u + 20 + 2);
  sequences.fill(190);
  EXPECT_EQ(engine->n_forward(), 1u + 20 + 2 + 1);
  sequences.fill(190);
  EXPECT_EQ(engine->n_forward(), 1u + 20 + 2 + 1);
}

TEST(BenchSequences, PrefillWantsTheLogitsOfTheLastTokenAlone) {
  const auto engine = tiny_engine(forge::tiny_llama(), "llama.gguf");
  BenchSequences sequences(*engine, 1);
  const BenchSequences::Measured m = sequences.prefill(150);
  PassWork wanted = pass_work(engine->model(), 100, 0);
  wanted += pass_work(engine->model(), 50, 1);
  EXPECT_EQ(m.macs, wanted.macs);
  EXPECT_EQ(m.bytes, wanted.weight_bytes);
  EXPECT_EQ(m.tokens, 150);
  sequences.fill(40);
  EXPECT_EQ(sequences.prefill(150).bytes, wanted.weight_bytes + (140 + 190) * kKvBytesPerPosition);
}

}  // namespace
}  // namespace lockstep
