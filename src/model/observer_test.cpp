// What an observer sees of a pass, and that it changes nothing.
#include "model/observer.h"

#include <gtest/gtest.h>

#include <map>

#include "forge/model_run.h"
#include "forge/tiny_model.h"

namespace lockstep::model {
namespace {

struct Seen {
  std::string name;
  std::string op;
  std::array<int64_t, 4> ne;
  std::vector<float> data;
};

class Recorder : public Observer {
 public:
  void see(const TensorView& tensor) noexcept override {
    Seen seen = {tensor.name, std::string(tensor.op), tensor.ne, {}};
    for (int64_t i = 0; i < tensor.n_elements(); ++i) seen.data.push_back(tensor.at(i));
    all.push_back(std::move(seen));
  }

  [[nodiscard]] const Seen& find(const std::string& name, const std::string& op) const {
    return *std::ranges::find_if(all, [&](const Seen& s) { return s.name == name && s.op == op; });
  }

  std::vector<Seen> all;
};

forge::TinyShape two_layers(forge::TinyShape shape) {
  shape.n_layers = 2;
  return shape;
}

std::filesystem::path written(const forge::TinyShape& shape) {
  const std::filesystem::path path = forge::test_file(shape.arch + ".gguf");
  forge::TinyModel(shape).write(path);
  return path;
}

// Tokens in one pass of which the last row alone wants logits.
std::vector<float> last_logits(forge::ModelRun& run, const std::vector<int32_t>& tokens) {
  exec::KvCache cache = run.new_cache();
  std::vector<BatchRow> rows;
  for (size_t i = 0; i < tokens.size(); ++i)
    rows.push_back({tokens[i], static_cast<int64_t>(i), &cache, i + 1 == tokens.size()});
  return run.pass(std::move(rows));
}

// What two threads show of a pass of five tokens.
Recorder record(const Model& model) {
  forge::ModelRun run(model, 2, 5, 5);
  Recorder recorder;
  run.set_observer(&recorder);
  last_logits(run, forge::random_tokens(5, model.config.n_vocab, 3));
  return recorder;
}

std::vector<std::string> names_and_ops(const Recorder& recorder) {
  std::vector<std::string> names;
  for (const Seen& seen : recorder.all) names.push_back(seen.name + " " + seen.op);
  return names;
}

TEST(Observer, ChangesNoBitOfTheLogits) {
  for (const auto& shape : {two_layers(forge::tiny_qwen2()), two_layers(forge::tiny_quantized(forge::tiny_llama())),
                            two_layers(forge::tiny_family("qwen3")), two_layers(forge::tiny_family("granite")),
                            two_layers(forge::tiny_family("olmo2")), two_layers(forge::tiny_family("gemma2")),
                            two_layers(forge::tiny_family("gemma3")), two_layers(forge::tiny_family("qwen3moe")),
                            two_layers(forge::tiny_quantized(forge::tiny_family("mixtral")))}) {
    const auto tokens = forge::random_tokens(19, shape.n_vocab, 3);
    for (const auto compute : {Compute::kFast, Compute::kExact}) {
      const Model model = forge::load_model(written(shape), {.compute = compute});
      for (const size_t chunk : {tokens.size(), size_t{1}}) {
        for (const int threads : {1, 3}) {
          forge::ModelRun run(model, threads, 19, 19);
          const std::vector<float> alone = run.logits(tokens, chunk);
          Recorder recorder;
          run.set_observer(&recorder);
          EXPECT_EQ(run.logits(tokens, chunk), alone);
          const Seen& result =
              recorder.find("result_output", shape.arch == "granite" || shape.arch == "gemma2" ? "SCALE" : "MUL_MAT");
          EXPECT_EQ(result.data, std::vector<float>(alone.begin(), alone.begin() + std::ssize(result.data)));
        }
      }
    }
  }
}

TEST(Observer, SeesTheSameForEveryNumberOfThreads) {
  const auto shape = two_layers(forge::tiny_qwen2());
  const Model model = forge::load_model(written(shape));
  const auto tokens = forge::random_tokens(7, shape.n_vocab, 3);
  std::vector<Recorder> recorders(3);
  for (size_t i = 0; i < recorders.size(); ++i) {
    forge::ModelRun run(model, static_cast<int>(i) + 1, 7, 7);
    run.set_observer(&recorders[i]);
    last_logits(run, tokens);
    ASSERT_EQ(recorders[i].all.size(), recorders[0].all.size());
    for (size_t k = 0; k < recorders[i].all.size(); ++k) {
      EXPECT_EQ(recorders[i].all[k].name, recorders[0].all[k].name);
      EXPECT_EQ(recorders[i].all[k].data, recorders[0].all[k].data) << recorders[0].all[k].name;
    }
  }
}

TEST(Observer, SeesTheLayerInTheOrderAndUnderTheNamesOfLlamaCpp) {
  const auto shape = two_layers(forge::tiny_qwen2());
  const Recorder recorder = record(forge::load_model(written(shape)));
  std::vector<std::string> wanted = {"embd GET_ROWS"};
  for (const std::string layer : {"-0 ", "-1 "}) {
    for (const std::string name :
         {"norm/RMS_NORM",    "attn_norm/MUL",    "Qcur/MUL_MAT",      "Qcur/ADD",        "Qcur/ROPE",
          "Vcur/MUL_MAT",     "Vcur/ADD",         "Kcur/MUL_MAT",      "Kcur/ADD",        "Kcur/ROPE",
          "kqv_out/CONT",     "attn_out/MUL_MAT", "ffn_inp/ADD",       "norm/RMS_NORM",   "ffn_norm/MUL",
          "ffn_gate/MUL_MAT", "ffn_up/MUL_MAT",   "ffn_swiglu/SWIGLU", "ffn_out/MUL_MAT", "l_out/ADD"}) {
      wanted.push_back(name.substr(0, name.find('/')) + layer + name.substr(name.find('/') + 1));
    }
  }
  for (const std::string name : {"norm RMS_NORM", "result_norm MUL", "result_output MUL_MAT"}) wanted.push_back(name);
  EXPECT_EQ(names_and_ops(recorder), wanted);
}

TEST(Observer, SeesALayerWithMoreNormsUnderTheNamesOfLlamaCpp) {
  forge::TinyShape shape = two_layers(forge::tiny_family("gemma3"));
  const Recorder recorder = record(forge::load_model(written(shape)));
  std::vector<std::string> wanted = {"embd GET_ROWS", "inp_scaled SCALE"};
  for (const std::string layer : {"-0 ", "-1 "}) {
    for (const std::string name :
         {"norm/RMS_NORM",   "attn_norm/MUL",   "Qcur/MUL_MAT",     "norm/RMS_NORM",     "Qcur_normed/MUL",
          "Qcur/ROPE",       "Kcur/MUL_MAT",    "norm/RMS_NORM",    "Kcur_normed/MUL",   "Kcur/ROPE",
          "Vcur/MUL_MAT",    "kqv_out/CONT",    "attn_out/MUL_MAT", "norm/RMS_NORM",     "attn_post_norm/MUL",
          "sa_out/ADD",      "norm/RMS_NORM",   "ffn_norm/MUL",     "ffn_gate/MUL_MAT",  "ffn_up/MUL_MAT",
          "ffn_geglu/GEGLU", "ffn_out/MUL_MAT", "norm RMS_NORM",    "ffn_post_norm/MUL", "l_out/ADD"}) {
      const size_t slash = name.find('/');
      wanted.push_back(slash == name.npos ? name : name.substr(0, slash) + layer + name.substr(slash + 1));
    }
  }
  for (const std::string name : {"norm RMS_NORM", "result_norm MUL", "result_output MUL_MAT"}) wanted.push_back(name);
  EXPECT_EQ(names_and_ops(recorder), wanted);
  EXPECT_EQ(recorder.find("Qcur_normed-1", "MUL").ne, (std::array<int64_t, 4>{32, 8, 5, 1}));
  EXPECT_EQ(recorder.find("attn_post_norm-1", "MUL").ne, (std::array<int64_t, 4>{256, 1, 1, 1}));
}

TEST(Observer, SeesExpertsUnderTheNamesOfLlamaCppAndInTheRoutersOrder) {
  forge::TinyShape shape = two_layers(forge::tiny_family("mixtral"));
  const Model model = forge::load_model(written(shape));
  forge::ModelRun run(model, 2, 5, 5);
  Recorder recorder;
  run.set_observer(&recorder);
  last_logits(run, forge::random_tokens(5, shape.n_vocab, 3));
  std::vector<std::string> names;
  for (const Seen& seen : recorder.all) {
    if (seen.name.starts_with("ffn_moe") && seen.name.ends_with("-0")) names.push_back(seen.name + " " + seen.op);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"ffn_moe_logits-0 MUL_MAT", "ffn_moe_probs-0 SOFT_MAX", "ffn_moe_topk-0 VIEW",
                                      "ffn_moe_weights-0 GET_ROWS", "ffn_moe_weights_sum-0 SUM_ROWS",
                                      "ffn_moe_weights_sum_clamped-0 CLAMP", "ffn_moe_weights_norm-0 DIV",
                                      "ffn_moe_gate-0 MUL_MAT_ID", "ffn_moe_up-0 MUL_MAT_ID", "ffn_moe_swiglu-0 SWIGLU",
                                      "ffn_moe_down-0 MUL_MAT_ID", "ffn_moe_weighted-0 MUL", "ffn_moe_out-0 ADD"}));
  using Extents = std::array<int64_t, 4>;
  EXPECT_EQ(recorder.find("ffn_moe_probs-0", "SOFT_MAX").ne, (Extents{4, 5, 1, 1}));
  EXPECT_EQ(recorder.find("ffn_moe_weights-0", "GET_ROWS").ne, (Extents{1, 2, 5, 1}));
  EXPECT_EQ(recorder.find("ffn_moe_swiglu-0", "SWIGLU").ne, (Extents{704, 2, 5, 1}));
  EXPECT_EQ(recorder.find("ffn_moe_swiglu-1", "SWIGLU").ne, (Extents{704, 2, 1, 1}));
  const Seen& topk = recorder.find("ffn_moe_topk-0", "VIEW");
  const Seen& probs = recorder.find("ffn_moe_probs-0", "SOFT_MAX");
  const Seen& weights = recorder.find("ffn_moe_weights-0", "GET_ROWS");
  ASSERT_EQ(topk.data.size(), 10u);
  for (size_t i = 0; i < 10; ++i)
    EXPECT_EQ(weights.data[i], probs.data[i / 2 * 4 + static_cast<size_t>(topk.data[i])]) << i;
  for (size_t i = 0; i < 10; i += 2) EXPECT_GE(weights.data[i], weights.data[i + 1]) << i;
}

TEST(Observer, SeesAfterTheLastAttentionOnlyTheRowsThatWantLogits) {
  const auto shape = two_layers(forge::tiny_llama());
  const Recorder recorder = record(forge::load_model(written(shape)));
  using Extents = std::array<int64_t, 4>;
  EXPECT_EQ(recorder.find("Qcur-1", "MUL_MAT").ne, (Extents{256, 5, 1, 1}));
  EXPECT_EQ(recorder.find("Qcur-1", "ROPE").ne, (Extents{32, 8, 5, 1}));
  EXPECT_EQ(recorder.find("Kcur-1", "ROPE").ne, (Extents{32, 2, 5, 1}));
  EXPECT_EQ(recorder.find("attn_out-1", "MUL_MAT").ne, (Extents{256, 5, 1, 1}));
  EXPECT_EQ(recorder.find("ffn_inp-1", "ADD").ne, (Extents{256, 1, 1, 1}));
  EXPECT_EQ(recorder.find("ffn_gate-1", "MUL_MAT").ne, (Extents{704, 1, 1, 1}));
  EXPECT_EQ(recorder.find("result_output", "MUL_MAT").ne, (Extents{300, 1, 1, 1}));
  EXPECT_EQ(recorder.find("l_out-0", "ADD").ne, (Extents{256, 5, 1, 1}));
}

TEST(Observer, SeesPartsThatMakeTheWhole) {
  const Model model = forge::load_model(written(two_layers(forge::tiny_llama())));
  const Recorder recorder = record(model);
  const Seen& norm = recorder.find("norm-0", "RMS_NORM");
  const Seen& attn_norm = recorder.find("attn_norm-0", "MUL");
  const Vector& weight = model.weights.layers[0].attn_norm;
  for (size_t i = 0; i < norm.data.size(); ++i)
    ASSERT_EQ(attn_norm.data[i], norm.data[i] * weight[i % weight.size()]) << i;
  const Seen& before = recorder.find("embd", "GET_ROWS");
  const Seen& product = recorder.find("attn_out-0", "MUL_MAT");
  const Seen& after = recorder.find("ffn_inp-0", "ADD");
  for (size_t i = 0; i < after.data.size(); ++i) ASSERT_EQ(after.data[i], before.data[i] + product.data[i]) << i;
}

}  // namespace
}  // namespace lockstep::model
