// The bit contract of the whole forward pass: the logits of a position depend on the tokens before it, the compute mode
// and the cache type, and on nothing else (NUMERICS.md section 6).
#include <gtest/gtest.h>

#include "forge/model_run.h"
#include "forge/tiny_model.h"

namespace lockstep::model {
namespace {

using forge::ModelRun;
using forge::RunOptions;
using kernels::CacheType;

// Three chunks of 128 positions, the last not full.
constexpr int64_t kTokens = 301;

struct Variant {
  std::string name;
  Compute compute;
  CacheType cache;
  bool quantized;
  std::string family = {};
};

// Float weights are multiplied by the same functions in both modes.
std::vector<Variant> variants() {
  return {{"f16_cache16", Compute::kExact, CacheType::kF16, false},
          {"f16_cache32", Compute::kExact, CacheType::kF32, false},
          {"f16_cache8", Compute::kExact, CacheType::kQ8_0, false},
          {"quantized_exact_cache16", Compute::kExact, CacheType::kF16, true},
          {"quantized_exact_cache32", Compute::kExact, CacheType::kF32, true},
          {"quantized_fast_cache16", Compute::kFast, CacheType::kF16, true},
          {"quantized_fast_cache32", Compute::kFast, CacheType::kF32, true},
          {"quantized_fast_cache8", Compute::kFast, CacheType::kQ8_0, true},
          {"qwen3", Compute::kFast, CacheType::kF16, true, "qwen3"},
          {"qwen3moe", Compute::kFast, CacheType::kF16, true, "qwen3moe"},
          {"mixtral", Compute::kExact, CacheType::kF32, false, "mixtral"},
          {"mistral3", Compute::kFast, CacheType::kF16, true, "mistral3"},
          {"smollm3", Compute::kFast, CacheType::kF16, true, "smollm3"},
          {"granite", Compute::kFast, CacheType::kF16, true, "granite"},
          {"olmo2", Compute::kFast, CacheType::kF16, true, "olmo2"},
          {"phi3", Compute::kFast, CacheType::kF16, true, "phi3"},
          {"gemma2", Compute::kFast, CacheType::kF16, true, "gemma2"},
          {"gemma2_cache8", Compute::kFast, CacheType::kQ8_0, true, "gemma2"},
          {"gemma3", Compute::kExact, CacheType::kF32, true, "gemma3"}};
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

class Invariance : public testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    forge::TinyShape shape = GetParam().quantized ? forge::tiny_quantized(forge::tiny_llama()) : forge::tiny_qwen2();
    if (!GetParam().family.empty()) {
      const forge::TinyShape of_family = forge::tiny_family(GetParam().family);
      shape.arch = of_family.arch;
      shape.n_experts = of_family.n_experts;
      shape.n_experts_used = of_family.n_experts_used;
    }
    shape.n_layers = shape.arch == "smollm3" ? 4 : 2;  // one of them without a rotation
    if (shape.arch == "gemma3") shape.n_layers = 6;    // one of them without a window
    shape.n_ff = GetParam().quantized ? 256 : 352;
    path_ = forge::test_file("tiny.gguf");
    forge::TinyModel(shape).write(path_);
    tokens_ = forge::random_tokens(kTokens, shape.n_vocab, 11);
    n_vocab_ = static_cast<size_t>(shape.n_vocab);
  }

  [[nodiscard]] Model load(const std::string& isa) const {
    return forge::load_model(path_, {.compute = GetParam().compute, .cache = GetParam().cache, .isa = isa});
  }

  // The reference: one thread, one token after another.
  [[nodiscard]] std::vector<float> reference(const std::vector<int32_t>& tokens,
                                             const std::string& isa = "auto") const {
    const Model model = load(isa);
    return ModelRun(model, 1, 1, kTokens).logits(tokens, 1);
  }

  std::filesystem::path path_;
  std::vector<int32_t> tokens_;
  size_t n_vocab_ = 0;
};

TEST_P(Invariance, LogitsAreTheSameForEveryKernelSetThreadCountAndCuttingOfThePrompt) {
  const std::vector<float> wanted = reference(tokens_, "scalar");
  ASSERT_EQ(wanted.size(), tokens_.size() * n_vocab_);
  for (const float logit : wanted) ASSERT_TRUE(std::isfinite(logit));
  forge::expect_varied<float>(std::span(wanted).last(n_vocab_), 0.99);
  for (const kernels::KernelTable* table : kernels::available_tables()) {
    const Model model = load(table->isa);
    for (const int threads : {1, 2, 3, 4}) {
      ModelRun run(model, threads, kTokens, kTokens);
      for (const size_t chunk : {tokens_.size(), size_t{64}, size_t{7}, size_t{1}}) {
        // The scalar sets are slow: a sample of the combinations.
        const bool sampled = (threads == 2 && chunk == tokens_.size()) || (threads == 3 && chunk == 7);
        if (!table->packed && !sampled) continue;
        EXPECT_TRUE(same_bits(run.logits(tokens_, chunk), wanted))
            << table->isa << ", " << threads << " threads, chunks of " << chunk;
      }
    }
  }
}

TEST_P(Invariance, LogitsAreTheSameWithMoreThreadsThanHeads) {
  const std::vector<int32_t> tokens(tokens_.begin(), tokens_.begin() + 140);
  const std::vector<float> wanted = reference(tokens);
  const Model model = load("auto");
  ModelRun run(model, 14, kTokens, kTokens);  // 12 heads are listed
  for (const size_t chunk : {140, 3, 1}) EXPECT_TRUE(same_bits(run.logits(tokens, chunk), wanted)) << chunk;
}

// Rows of three sequences of different lengths in the same passes, taking turns.
TEST_P(Invariance, LogitsAreTheSameBesideOtherSequences) {
  const Model model = load("auto");
  for (const int threads : {1, 3}) {
    ModelRun run(model, threads, 64, kTokens);
    std::vector<std::vector<int32_t>> sequences = {tokens_, forge::random_tokens(150, 300, 5),
                                                   forge::random_tokens(40, 300, 6)};
    std::vector<exec::KvCache> caches;
    for (int i = 0; i < 3; ++i) caches.push_back(run.new_cache());
    std::vector<std::vector<float>> got(3);
    forge::RandomData random(7);
    while (true) {
      std::vector<model::BatchRow> rows;
      std::vector<size_t> owner;
      for (size_t s = 0; s < 3; ++s) {
        const auto left = static_cast<int64_t>(sequences[s].size()) - caches[s].length();
        for (int64_t i = 0; i < std::min(left, random.below(20)); ++i) {
          const int64_t position = caches[s].length() + i;
          rows.push_back({sequences[s][static_cast<size_t>(position)], position, &caches[s], true});
          owner.push_back(s);
        }
      }
      if (rows.empty() && got[0].size() + got[1].size() + got[2].size() == (kTokens + 190) * n_vocab_) break;
      if (rows.empty()) continue;
      const std::vector<float> logits = run.pass(rows);
      for (size_t i = 0; i < owner.size(); ++i) {
        got[owner[i]].insert(got[owner[i]].end(), logits.begin() + static_cast<int64_t>(i * n_vocab_),
                             logits.begin() + static_cast<int64_t>((i + 1) * n_vocab_));
      }
    }
    for (size_t s = 0; s < 3; ++s)
      EXPECT_TRUE(same_bits(got[s], reference(sequences[s]))) << "sequence " << s << ", " << threads << " threads";
  }
}

TEST_P(Invariance, LogitsAreTheSameAfterAReusedPrefixWithLeftoversBehindIt) {
  const std::vector<float> wanted = reference(tokens_);
  const Model model = load("auto");
  ModelRun run(model, 2, kTokens, kTokens);
  for (const int64_t kept : {1, 16, 127, 128, 129, 250, 300}) {
    exec::KvCache cache = run.new_cache();
    std::vector<int32_t> other(tokens_.begin(), tokens_.begin() + kept);
    const std::vector<int32_t> different = forge::random_tokens(kTokens - kept, 300, 99);
    other.insert(other.end(), different.begin(), different.end());
    (void)run.logits(other, cache, 64);
    ASSERT_EQ(cache.cut(kept), kept);
    const std::vector<int32_t> rest(tokens_.begin() + kept, tokens_.end());
    EXPECT_TRUE(same_bits(run.logits(rest, cache, 50), std::span(wanted).subspan(static_cast<size_t>(kept) * n_vocab_)))
        << kept;
  }
}

TEST_P(Invariance, LogitsAreTheSameWhenOnlySomeRowsWantThem) {
  const std::vector<float> wanted = reference(tokens_);
  const Model model = load("auto");
  for (const size_t stride : {size_t{2}, size_t{37}, tokens_.size()}) {
    ModelRun run(model, 3, kTokens, kTokens);
    exec::KvCache cache = run.new_cache();
    std::vector<model::BatchRow> rows;
    std::vector<float> some;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const bool wants = i % stride == stride - 1;
      rows.push_back({tokens_[i], static_cast<int64_t>(i), &cache, wants});
      if (wants)
        some.insert(some.end(), wanted.begin() + static_cast<int64_t>(i * n_vocab_),
                    wanted.begin() + static_cast<int64_t>((i + 1) * n_vocab_));
    }
    EXPECT_TRUE(same_bits(run.pass(rows), some)) << "every " << stride;
  }
}

TEST_P(Invariance, ACacheFilledWithoutLogitsIsTheSame) {
  const std::vector<float> wanted = reference(tokens_);
  const Model model = load("auto");
  ModelRun run(model, 2, kTokens, kTokens);
  exec::KvCache cache = run.new_cache();
  std::vector<model::BatchRow> rows;
  for (size_t i = 0; i + 1 < tokens_.size(); ++i) rows.push_back({tokens_[i], static_cast<int64_t>(i), &cache, false});
  EXPECT_TRUE(run.pass(rows).empty());
  EXPECT_TRUE(same_bits(run.logits({tokens_.back()}, cache, 1), std::span(wanted).last(n_vocab_)));
}

INSTANTIATE_TEST_SUITE_P(Variants, Invariance, testing::ValuesIn(variants()),
                         [](const auto& parameter) { return parameter.param.name; });

TEST(ForwardPass, MeetsFiveTimesALayerForOneToken) {
  const std::filesystem::path path = forge::test_file("tiny.gguf");
  forge::TinyModel(forge::tiny_llama()).write(path);
  const Model model = forge::load_model(path);
  for (const int threads : {1, 2, 4}) {
    ModelRun run(model, threads, 8, 64);
    exec::KvCache cache = run.new_cache();
    for (int64_t n = 0; n < 5; ++n) {
      const uint64_t before = run.team().n_syncs();
      (void)run.logits({static_cast<int32_t>(n)}, cache, 1);
      // One after the embedding, one at the end of the program.
      EXPECT_EQ(run.team().n_syncs() - before, static_cast<uint64_t>(5 * model.config.n_layers + 2)) << threads;
    }
  }
}

// The router's logits cost a meeting of their own.
TEST(ForwardPass, MeetsSixTimesALayerForOneTokenWithExperts) {
  const std::filesystem::path path = forge::test_file("tiny.gguf");
  forge::TinyModel(forge::tiny_family("qwen3moe")).write(path);
  const Model model = forge::load_model(path);
  ModelRun run(model, 3, 8, 64);
  exec::KvCache cache = run.new_cache();
  for (int64_t n = 0; n < 5; ++n) {
    const uint64_t before = run.team().n_syncs();
    (void)run.logits({static_cast<int32_t>(n)}, cache, 1);
    EXPECT_EQ(run.team().n_syncs() - before, static_cast<uint64_t>(6 * model.config.n_layers + 2));
  }
}

TEST(ForwardPass, MixesTheSameF32F16AndBF16BitsInBothModes) {
  for (const quant::TensorType type : {quant::TensorType::kF32, quant::TensorType::kF16, quant::TensorType::kBF16}) {
    forge::TinyShape shape = forge::tiny_llama();
    shape.types = {type};
    const std::filesystem::path path = forge::test_file("tiny.gguf");
    forge::TinyModel(shape).write(path);
    const std::vector<int32_t> tokens = forge::random_tokens(20, shape.n_vocab, 3);
    const std::vector<float> exact = forge::all_logits(forge::load_model(path, {.compute = Compute::kExact}), tokens);
    EXPECT_TRUE(same_bits(forge::all_logits(forge::load_model(path, {.compute = Compute::kFast}), tokens), exact));
  }
}

}  // namespace
}  // namespace lockstep::model
