// Mistakes that everyone makes once, planted into a copy of a model: a comparison with the right one must name the
// tensor where each begins. The faults sit in tables of kernels and in weights; the engine has no switch for them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "forge/model_run.h"
#include "forge/tiny_model.h"
#include "verify/compare.h"
#include "verify/hints.h"
#include "verify/trace.h"

namespace lockstep::verify {
namespace {

using kernels::AttentionJob;
using kernels::AttentionPartial;

constexpr int64_t kTokens = 9;
constexpr auto kCache = static_cast<int>(kernels::CacheType::kF32);

// What the wrong kernels call and look up; one test at a time uses it.
struct Planted {
  const kernels::KernelTable* right;
  exec::KvCache* cache;
};
Planted planted;

void rotate_other_pairs(float* head, const float* cos_sin, int64_t n_rot, kernels::RopePairing pairing) noexcept {
  using enum kernels::RopePairing;
  planted.right->rope(head, cos_sin, n_rot, pairing == kAdjacent ? kHalves : kAdjacent);
}

// Query head h with KV head h modulo the number of KV heads. Which heads a job is of, its keys' place in the cache
// says.
void attend_by_modulo(const AttentionJob& job, AttentionPartial* partial, float* o) noexcept {
  const exec::KvCache::Shape& shape = planted.cache->shape();
  for (int64_t layer = 0; layer < shape.n_layers; ++layer) {
    for (int64_t kv_head = 0; kv_head < shape.n_kv_heads; ++kv_head) {
      if (planted.cache->k(0, layer, kv_head) != job.k) continue;
      const int64_t n_heads = job.heads_per_token == 0 ? job.n_group : job.heads_per_token;
      for (int64_t g = 0; g < job.n_group; ++g) {
        const int64_t wrong = (kv_head * n_heads + g % n_heads) % shape.n_kv_heads;
        AttentionJob one = job;
        one.n_positions = job.seen_by(g);
        one.heads_per_token = 0;
        one.q = job.q + g * job.head_dim;
        one.n_group = 1;
        one.k = planted.cache->k(0, layer, wrong);
        one.v = planted.cache->v(0, layer, wrong);
        planted.right->attend_chunk[kCache](one, partial + g, o + g * job.head_dim);
      }
    }
  }
}

void norm_without_weight(const float* x, const float*, int64_t n, float eps, float* out) noexcept {
  const std::vector<float> ones(static_cast<size_t>(n), 1.0f);
  planted.right->rms_norm(x, ones.data(), n, eps, out);
}

void norm_with_epsilon_outside(const float* x, const float* weight, int64_t n, float eps, float* out) noexcept {
  planted.right->rms_norm(x, weight, n, 1000 * eps, out);
}

void activate_up(const float* gate, const float* up, int64_t n, float* out) noexcept {
  const std::vector<float> kept(gate, gate + n);
  planted.right->swiglu(up, kept.data(), n, out);
}

class PlantedFault : public testing::Test {
 protected:
  PlantedFault() : tokens_(forge::random_tokens(kTokens, forge::tiny_llama().n_vocab, 5)) {
    const std::filesystem::path path = forge::test_file("tiny.gguf");
    forge::TinyModel(forge::tiny_llama()).write(path);
    model_ = std::make_unique<model::Model>(forge::load_model(path));
    table_ = *model_->kernels;
    planted = {model_->kernels, nullptr};
    Trace trace({});
    run(trace);
    trace.finish();
    std::string text = R"({"ids":[1]})";
    for (const TraceRecord& record : trace.records()) text += fmt::format("\n{}", to_json(record).dump());
    reference_ = parse_trace(text, "trace");
    model_->kernels = &table_;
  }

  void run(model::Observer& observer) {
    forge::ModelRun run(*model_, 2, kTokens, kTokens);
    exec::KvCache cache = run.new_cache();
    planted.cache = &cache;
    run.set_observer(&observer);
    std::vector<model::BatchRow> rows;
    for (int64_t i = 0; i < kTokens; ++i)
      rows.push_back({tokens_[static_cast<size_t>(i)], i, &cache, i + 1 == kTokens});
    run.pass(std::move(rows));
  }

  [[nodiscard]] Report compare() {
    Comparison comparison(reference_, 2e-5);
    run(comparison);
    return comparison.finish();
  }

  // The first tensor that diverges, and a word of the hint.
  void expect_first(const std::string& name, const std::string& op, const std::string& word) {
    const Report report = compare();
    EXPECT_FALSE(report.passed());
    EXPECT_EQ(std::ssize(report.compared), report.n_required);
    ASSERT_NE(report.first_divergent(), nullptr);
    EXPECT_EQ(report.first_divergent()->name, name);
    EXPECT_EQ(report.first_divergent()->op, op);
    EXPECT_NE(hint_for(name, op).find(word), std::string_view::npos) << hint_for(name, op);
  }

  std::vector<int32_t> tokens_;
  std::unique_ptr<model::Model> model_;
  kernels::KernelTable table_ = {};
  Reference reference_;
};

TEST_F(PlantedFault, NoneIsFoundInTheModelItself) {
  const Report report = compare();
  EXPECT_TRUE(report.passed());
  EXPECT_EQ(report.n_required, 4 * 17 + 4);
  EXPECT_EQ(report.worst()->rel, 0);
}

TEST_F(PlantedFault, SwappedRotationPairsAreFoundInTheFirstRotatedQueries) {
  table_.rope = rotate_other_pairs;
  expect_first("Qcur-0", "ROPE", "halves");
}

TEST_F(PlantedFault, KvHeadsByModuloAreFoundInTheFirstHeads) {
  table_.attend_chunk[kCache] = attend_by_modulo;
  expect_first("kqv_out-0", "CONT", "modulo");
}

TEST_F(PlantedFault, EachSkippedNormWeightIsFoundInItsProduct) {
  for (size_t layer = 0; layer < model_->weights.layers.size(); ++layer) {
    model::LayerWeights& weights = model_->weights.layers[layer];
    for (auto& [weight, name] : {std::pair{&weights.attn_norm, "attn_norm"}, {&weights.ffn_norm, "ffn_norm"}}) {
      const model::Vector right = std::exchange(*weight, model::Vector(weight->size(), 1.0f));
      expect_first(fmt::format("{}-{}", name, layer), "MUL", "weight");
      *weight = right;
    }
  }
  model_->weights.output_norm.assign(model_->weights.output_norm.size(), 1.0f);
  expect_first("result_norm", "MUL", "weight");
}

TEST_F(PlantedFault, NormsWithoutWeightsAreFoundInTheFirst) {
  table_.rms_norm = norm_without_weight;
  expect_first("attn_norm-0", "MUL", "weight");
}

TEST_F(PlantedFault, AWrongEpsilonIsFoundInTheNormBeforeItsWeight) {
  table_.rms_norm = norm_with_epsilon_outside;
  expect_first("norm-0", "RMS_NORM", "epsilon");
}

TEST_F(PlantedFault, GateAndUpExchangedAreFound) {
  std::swap(model_->weights.layers[2].gate.data, model_->weights.layers[2].up.data);
  expect_first("ffn_gate-2", "MUL_MAT", "exchanged");
}

TEST_F(PlantedFault, TheActivationOnTheWrongSideIsFound) {
  table_.swiglu = activate_up;
  expect_first("ffn_swiglu-0", "SWIGLU", "activation");
}

TEST_F(PlantedFault, TheEmbeddingTakenForTheHeadIsFoundInTheLogits) {
  model_->weights.output.data = model_->weights.token_embd.data;
  expect_first("result_output", "MUL_MAT", "tied");
}

}  // namespace
}  // namespace lockstep::verify
