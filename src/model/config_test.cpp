// Hyper-parameters: defaults, and every value that cannot be computed with refused by key and value.
#include "model/config.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"

namespace lockstep::model {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// The keys of a small model, to be changed by a test.
class Keys {
 public:
  explicit Keys(std::string arch = "llama") : arch_(std::move(arch)) {
    entries_.push_back({"general.architecture", arch_});
    set("block_count", uint32_t{4});
    set("context_length", uint32_t{4096});
    set("embedding_length", uint32_t{256});
    set("feed_forward_length", uint32_t{704});
    set("attention.head_count", uint32_t{8});
    set("attention.layer_norm_rms_epsilon", 1e-5f);
  }
  Keys& set(const std::string& name, gguf::Value value) {
    erase(name);
    entries_.push_back({arch_ + "." + name, std::move(value)});
    return *this;
  }
  Keys& erase(const std::string& name) {
    std::erase_if(entries_, [&](const auto& entry) { return entry.key == arch_ + "." + name; });
    return *this;
  }
  [[nodiscard]] Config load() const { return load_config(gguf::Metadata(entries_, "tiny.gguf"), 300); }

 private:
  std::string arch_;
  std::vector<gguf::Metadata::Entry> entries_;
};

void expect_refusal(const Keys& keys, ErrorCode code, const std::vector<std::string>& words) {
  try {
    (void)keys.load();
    ADD_FAILURE() << "loads in spite of " << words[0];
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(error.code(), code) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    for (const std::string& word : words)
      EXPECT_NE(message.find(word), std::string::npos) << "no \"" << word << "\" in: " << message;
  }
}

TEST(LoadConfig, FillsInTheDefaults) {
  const Config c = Keys().load();
  EXPECT_EQ(c.n_kv_heads, 8);
  EXPECT_EQ(c.head_dim, 32);
  EXPECT_EQ(c.rope.n_rot, 32);
  EXPECT_EQ(c.rope.freq_base, 10000.0f);
  EXPECT_EQ(c.rope.freq_scale, 1.0f);
  EXPECT_EQ(c.n_vocab, 300);
  EXPECT_EQ(c.n_layers, 4);
  EXPECT_EQ(c.n_ff, 704);
  EXPECT_EQ(c.attention_scale, 1.0f / std::sqrt(32.0f));
  EXPECT_EQ(c.family->pairing, kernels::RopePairing::kAdjacent);
  EXPECT_EQ(Keys("qwen2").load().family->pairing, kernels::RopePairing::kHalves);
}

TEST(LoadConfig, TakesIntegersOfAnyWidth) {
  EXPECT_EQ(Keys().set("attention.head_count_kv", uint64_t{2}).load().n_kv_heads, 2);
  EXPECT_EQ(Keys().set("attention.head_count_kv", int32_t{2}).load().n_kv_heads, 2);
  EXPECT_EQ(Keys().set("attention.head_count_kv", uint8_t{4}).load().n_kv_heads, 4);
}

TEST(LoadConfig, RefusesHeadCountsThatDivideNothing) {
  expect_refusal(Keys().set("attention.head_count", uint32_t{0}), ErrorCode::kBadFile,
                 {"llama.attention.head_count", "is 0"});
  expect_refusal(Keys().set("attention.head_count", uint32_t{7}), ErrorCode::kBadFile,
                 {"llama.attention.head_count", "is 7", "256"});
  expect_refusal(Keys().set("attention.head_count", uint32_t{512}), ErrorCode::kBadFile,
                 {"llama.attention.head_count", "512"});
  for (const uint32_t n : {0u, 3u, 16u}) {
    expect_refusal(Keys().set("attention.head_count_kv", n), ErrorCode::kBadFile,
                   {"llama.attention.head_count_kv", "is " + std::to_string(n)});
  }
  expect_refusal(Keys().set("attention.head_count_kv", int32_t{-2}), ErrorCode::kBadFile,
                 {"llama.attention.head_count_kv", "-2"});
}

TEST(LoadConfig, RefusesBlockCountsOutOfRangeMissingOrInWords) {
  expect_refusal(Keys().set("block_count", uint32_t{0}), ErrorCode::kBadFile, {"llama.block_count", "is 0"});
  expect_refusal(Keys().set("block_count", uint32_t{1} << 31), ErrorCode::kBadFile,
                 {"llama.block_count", "2147483648"});
  expect_refusal(Keys().set("block_count", uint64_t{1} << 63), ErrorCode::kBadFile,
                 {"llama.block_count", "9223372036854775808"});
  expect_refusal(Keys().erase("block_count"), ErrorCode::kNotFound, {"llama.block_count"});
  expect_refusal(Keys().set("block_count", std::string("four")), ErrorCode::kBadFile, {"llama.block_count", "string"});
  expect_refusal(Keys().set("block_count", 4.0f), ErrorCode::kBadFile, {"llama.block_count", "f32"});
}

TEST(LoadConfig, RefusesOtherCountsThatAreZeroMissingOrHuge) {
  for (const std::string name : {"embedding_length", "feed_forward_length", "context_length"}) {
    expect_refusal(Keys().set(name, uint32_t{0}), ErrorCode::kBadFile, {"llama." + name, "is 0"});
    expect_refusal(Keys().set(name, uint64_t{1} << 62), ErrorCode::kBadFile, {"llama." + name, "4611686018427387904"});
    expect_refusal(Keys().erase(name), ErrorCode::kNotFound, {"llama." + name});
  }
}

TEST(LoadConfig, RefusesAnEpsilonThatIsNotAboveZero) {
  const std::string name = "attention.layer_norm_rms_epsilon";
  for (const auto& [value, text] : std::vector<std::pair<float, std::string>>{
           {0.0f, "is 0"}, {-1.0f, "is -1"}, {kNaN, "is nan"}, {std::numeric_limits<float>::infinity(), "is inf"}}) {
    expect_refusal(Keys().set(name, value), ErrorCode::kBadFile, {"llama." + name, text});
  }
  expect_refusal(Keys().erase(name), ErrorCode::kNotFound, {"llama." + name});
}

TEST(LoadConfig, RefusesRotationsThatDoNotFitTheHead) {
  expect_refusal(Keys().set("rope.dimension_count", uint32_t{7}), ErrorCode::kBadFile,
                 {"llama.rope.dimension_count", "is 7", "32"});
  expect_refusal(Keys().set("rope.dimension_count", uint32_t{0}), ErrorCode::kBadFile,
                 {"llama.rope.dimension_count", "is 0"});
  expect_refusal(Keys().set("rope.dimension_count", uint32_t{64}), ErrorCode::kBadFile,
                 {"llama.rope.dimension_count", "is 64"});
  expect_refusal(Keys().set("attention.key_length", uint32_t{33}).set("attention.value_length", uint32_t{33}),
                 ErrorCode::kBadFile, {"33", "odd"});
  for (const float base : {0.0f, -1.0f, kNaN, std::numeric_limits<float>::infinity()}) {
    expect_refusal(Keys().set("rope.freq_base", base), ErrorCode::kBadFile, {"llama.rope.freq_base"});
  }
}

TEST(LoadConfig, RefusesAnotherArchitectureWithTheListOfThoseSupported) {
  expect_refusal(Keys("mamba"), ErrorCode::kUnsupported, {"general.architecture", "mamba", "llama", "qwen2"});
  expect_refusal(Keys("Llama"), ErrorCode::kUnsupported, {"Llama"});
  expect_refusal(Keys("a\nb"), ErrorCode::kUnsupported, {"a\\x0Ab"});
  expect_refusal(Keys(""), ErrorCode::kUnsupported, {"general.architecture"});
}

TEST(LoadConfig, RefusesKeysWhoseArithmeticIsNotComputed) {
  for (const std::string name : {"expert_count", "attention.sliding_window"}) {
    expect_refusal(Keys("qwen2").set(name, uint32_t{4}), ErrorCode::kUnsupported, {"qwen2." + name, "is 4"});
    EXPECT_EQ(Keys("qwen2").set(name, uint32_t{0}).load().n_layers, 4);
  }
  for (const std::string name :
       {"logit_scale", "residual_scale", "attn_logit_softcapping", "final_logit_softcapping"}) {
    expect_refusal(Keys().set(name, 2.0f), ErrorCode::kUnsupported, {"llama." + name, "is 2"});
  }
  expect_refusal(Keys().set("attention.causal", false), ErrorCode::kUnsupported, {"llama.attention.causal"});
}

TEST(LoadConfig, ReadsHowManyExpertsThereAreAndHowWide) {
  EXPECT_FALSE(Keys().load().has_experts());
  EXPECT_EQ(Keys().load().n_branches(), 1);
  Keys mixtral;
  const Config c = mixtral.set("expert_count", uint32_t{8}).set("expert_used_count", uint32_t{2}).load();
  EXPECT_EQ(c.n_experts, 8);
  EXPECT_EQ(c.n_branches(), 2);
  EXPECT_EQ(c.n_ff, 704);
  EXPECT_EQ(c.expert_weights_scale, 1.0f);
  EXPECT_EQ(Keys(mixtral).set("expert_weights_scale", 2.5f).load().expert_weights_scale, 2.5f);
  EXPECT_EQ(Keys(mixtral).set("expert_weights_scale", 0.0f).load().expert_weights_scale, 1.0f);
  Keys qwen("qwen3moe");
  qwen.set("expert_count", uint32_t{8}).set("expert_used_count", uint32_t{4});
  EXPECT_EQ(qwen.load().n_ff, 704 / 4);
  EXPECT_EQ(Keys(qwen).set("expert_feed_forward_length", uint32_t{96}).erase("feed_forward_length").load().n_ff, 96);
}

TEST(LoadConfig, RefusesExpertsThatCannotBe) {
  expect_refusal(Keys("qwen3moe"), ErrorCode::kNotFound, {"qwen3moe.expert_count"});
  expect_refusal(Keys("qwen3moe").set("expert_count", uint32_t{0}), ErrorCode::kBadFile,
                 {"qwen3moe.expert_count", "is 0"});
  expect_refusal(Keys().set("expert_count", uint32_t{8}), ErrorCode::kNotFound, {"llama.expert_used_count"});
  expect_refusal(Keys().set("expert_count", uint32_t{5000}), ErrorCode::kBadFile, {"llama.expert_count", "5000"});
  Keys keys;
  keys.set("expert_count", uint32_t{8});
  for (const uint32_t n : {0u, 9u}) {
    expect_refusal(Keys(keys).set("expert_used_count", n), ErrorCode::kBadFile,
                   {"llama.expert_used_count", "is " + std::to_string(n), "1 to 8"});
  }
  keys.set("expert_used_count", uint32_t{2});
  expect_refusal(Keys(keys).set("feed_forward_length", uint32_t{700}), ErrorCode::kUnsupported, {"700", "16"});
  expect_refusal(Keys(keys).set("expert_weights_scale", -1.0f), ErrorCode::kBadFile, {"llama.expert_weights_scale"});
  expect_refusal(Keys(keys).set("expert_weights_norm", false), ErrorCode::kUnsupported, {"llama.expert_weights_norm"});
  EXPECT_EQ(Keys(keys).set("expert_gating_func", uint32_t{1}).load().n_experts, 8);
  for (const std::string name :
       {"expert_gating_func", "expert_group_count", "expert_shared_count", "expert_shared_feed_forward_length"}) {
    expect_refusal(Keys(keys).set(name, uint32_t{2}), ErrorCode::kUnsupported, {"llama." + name, "is 2"});
  }
}

TEST(LoadConfig, ReadsTheScalesOfAFamilyThatHasThem) {
  Keys keys("granite");
  expect_refusal(keys, ErrorCode::kNotFound, {"granite.logit_scale"});
  keys.set("logit_scale", 8.0f).set("residual_scale", 0.25f).set("embedding_scale", 12.0f);
  const Config c = keys.load();
  EXPECT_EQ(c.logit_factor, 0.125f);
  EXPECT_EQ(c.residual_scale, 0.25f);
  EXPECT_EQ(c.embedding_scale, 12.0f);
  for (const float bad : {-1.0f, kNaN, std::numeric_limits<float>::infinity()}) {
    expect_refusal(Keys(keys).set("residual_scale", bad), ErrorCode::kBadFile, {"granite.residual_scale"});
  }
  expect_refusal(Keys(keys).set("attention.temperature_scale", 2.0f), ErrorCode::kUnsupported,
                 {"granite.attention.temperature_scale"});
  const Config plain = Keys().load();
  EXPECT_EQ(plain.logit_factor * plain.residual_scale * plain.embedding_scale, 1.0f);
}

TEST(LoadConfig, KnowsTheLayersThatHaveAWindowAndTheirRotation) {
  const Config gemma3 =
      Keys("gemma3").set("block_count", uint32_t{6}).set("attention.sliding_window", uint32_t{512}).load();
  EXPECT_TRUE(gemma3.is_windowed(4));
  EXPECT_FALSE(gemma3.is_windowed(5));
  EXPECT_EQ(gemma3.first_attended(4, 511), 0);
  EXPECT_EQ(gemma3.first_attended(4, 512), 1);
  EXPECT_EQ(gemma3.first_attended(5, 512), 0);
  EXPECT_EQ(gemma3.local_rope.freq_base, 10000.0f);
  EXPECT_TRUE(gemma3.has_local_rope());
  const Config no_window = Keys("gemma3").load();
  EXPECT_FALSE(no_window.is_windowed(0));
  EXPECT_FALSE(no_window.has_local_rope());
  const Config gemma2 = Keys("gemma2").load();
  EXPECT_EQ(gemma2.window, 4096);
  EXPECT_TRUE(gemma2.is_windowed(0));
  EXPECT_FALSE(gemma2.is_windowed(1));
  EXPECT_EQ(gemma2.attn_softcap, 50.0f);
  EXPECT_EQ(gemma2.final_softcap, 30.0f);
  EXPECT_EQ(gemma2.embedding_scale, 16.0f);
  Keys large("gemma3");
  large.set("block_count", uint32_t{62}).set("attention.key_length", uint32_t{64});
  EXPECT_EQ(large.set("attention.value_length", uint32_t{64}).load().attention_scale, 1.0f / std::sqrt(32.0f));
}

TEST(LoadConfig, RefusesWindowsAndCapsThatAreNotComputed) {
  expect_refusal(Keys("gemma3").set("attn_logit_softcapping", 50.0f), ErrorCode::kUnsupported,
                 {"gemma3.attn_logit_softcapping", "50"});
  expect_refusal(Keys("gemma2").set("final_logit_softcapping", kNaN), ErrorCode::kBadFile,
                 {"gemma2.final_logit_softcapping", "nan"});
  expect_refusal(Keys("gemma2").set("rope.freq_base_swa", 20000.0f), ErrorCode::kUnsupported,
                 {"gemma2.rope.freq_base_swa", "20000"});
  expect_refusal(
      Keys("gemma3").set("attention.sliding_window_pattern", gguf::ArrayValue(std::vector<bool>{true, false, true})),
      ErrorCode::kBadFile, {"gemma3.attention.sliding_window_pattern", "3 values", "4"});
  expect_refusal(
      Keys("gemma3").set("attention.sliding_window_pattern", gguf::ArrayValue(std::vector<float>{1, 0, 1, 1})),
      ErrorCode::kBadFile, {"gemma3.attention.sliding_window_pattern"});
  expect_refusal(Keys("olmo2").set("rope.freq_base_swa", -1.0f), ErrorCode::kBadFile, {"olmo2.rope.freq_base_swa"});
  expect_refusal(Keys("qwen3").set("attention.sliding_window", uint32_t{512}), ErrorCode::kUnsupported,
                 {"qwen3.attention.sliding_window"});
}

TEST(LoadConfig, TakesWindowedLayersFromAList) {
  Keys keys("gemma3");
  keys.set("attention.sliding_window", uint32_t{40});
  keys.set("attention.sliding_window_pattern", gguf::ArrayValue(std::vector<bool>{false, true, true, false}));
  const Config c = keys.load();
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(c.is_windowed(i), i == 1 || i == 2) << i;
}

TEST(LoadConfig, RotatesWindowedLayersOfOlmoWithoutScaling) {
  Keys keys("olmo2");
  keys.set("rope.scaling.type", std::string("yarn")).set("rope.scaling.factor", 4.0f);
  keys.set("rope.scaling.original_context_length", uint32_t{512}).set("rope.freq_base", 500000.0f);
  EXPECT_FALSE(keys.load().has_local_rope());
  const Config c = keys.set("attention.sliding_window", uint32_t{64}).load();
  EXPECT_TRUE(c.is_windowed(2));
  EXPECT_FALSE(c.is_windowed(3));
  EXPECT_TRUE(c.has_local_rope());
  EXPECT_EQ(c.local_rope.freq_base, 500000.0f);
  EXPECT_EQ(c.local_rope.freq_scale, 1.0f);
  EXPECT_EQ(c.local_rope.magnitude, 1.0f);
  EXPECT_FALSE(c.local_rope.has_ramp);
  EXPECT_TRUE(c.rope.has_ramp);
}

TEST(LoadConfig, WarnsOfAWindowThatIsNotAppliedNamingTheKey) {
  Keys keys("phi3");
  EXPECT_EQ(keys.set("attention.sliding_window", uint32_t{4096}).load().warning, "");
  const std::string warning = keys.set("attention.sliding_window", uint32_t{2047}).load().warning;
  EXPECT_NE(warning.find("phi3.attention.sliding_window is 2047"), std::string::npos) << warning;
  EXPECT_EQ(keys.load().window, 0);
  EXPECT_EQ(Keys("gemma3").set("attention.sliding_window", uint32_t{40}).load().warning, "");
}

TEST(LoadConfig, ReadsTheTemperatureOfQueries) {
  Keys keys("mistral3");
  EXPECT_EQ(keys.load().query_temperature, 0.0f);
  EXPECT_EQ(keys.set("attention.temperature_scale", 0.1f).load().query_temperature, 0.1f);
  EXPECT_EQ(keys.load().original_context, 4096);
  expect_refusal(Keys(keys).set("attention.temperature_scale", kNaN), ErrorCode::kBadFile,
                 {"mistral3.attention.temperature_scale"});
  keys.set("rope.scaling.type", std::string("yarn")).set("rope.scaling.factor", 16.0f);
  EXPECT_NEAR(keys.load().rope.magnitude, 1 + 0.1 * std::log(16.0), 1e-6);
  EXPECT_EQ(Keys(keys).set("rope.scaling.yarn_log_multiplier", 1.0f).load().rope.magnitude, 1.0f);
  expect_refusal(Keys(keys).set("rope.scaling.yarn_log_multiplier", -1.0f), ErrorCode::kBadFile,
                 {"mistral3.rope.scaling.yarn_log_multiplier"});
  expect_refusal(Keys(keys).set("attention.sliding_window", uint32_t{64}), ErrorCode::kUnsupported,
                 {"mistral3.attention.sliding_window"});
}

TEST(LoadConfig, KnowsTheLayersWithoutARotation) {
  const Config c = Keys("smollm3").load();
  EXPECT_TRUE(c.is_rotated(2));
  EXPECT_FALSE(c.is_rotated(3));
  EXPECT_TRUE(Keys().load().is_rotated(3));
  Keys granite("granite");
  granite.set("logit_scale", 8.0f).set("rope.scaling.finetuned", false);
  EXPECT_FALSE(granite.load().is_rotated(0));
}

TEST(LoadConfig, ReadsYarn) {
  Keys keys;
  keys.set("rope.scaling.type", std::string("yarn")).set("rope.scaling.factor", 4.0f);
  keys.set("rope.scaling.original_context_length", uint32_t{512});
  const RopeConfig rope = keys.load().rope;
  EXPECT_TRUE(rope.has_ramp);
  EXPECT_EQ(rope.freq_scale, 0.25f);
  // 32 ln(512 / (32 * 2 pi)) / (2 ln 10000) = 1.6 and 32 ln(512 / 2 pi) / (2 ln 10000) = 7.6
  EXPECT_EQ(rope.ramp_begin, 1.0f);
  EXPECT_EQ(rope.ramp_end, 8.0f);
  EXPECT_NEAR(rope.magnitude, 1.0 + 0.1 * std::log(4.0), 1e-6);
  for (const std::string name : {"yarn_ext_factor", "yarn_attn_factor", "yarn_log_multiplier"}) {
    expect_refusal(Keys(keys).set("rope.scaling." + name, 0.5f), ErrorCode::kUnsupported, {name, "0.5"});
  }
  expect_refusal(Keys(keys).set("rope.scaling.yarn_beta_fast", 0.0f), ErrorCode::kBadFile, {"yarn_beta_fast"});
  expect_refusal(Keys(keys).set("rope.freq_base", 1.0f), ErrorCode::kBadFile, {"rope.freq_base"});
}

TEST(LoadConfig, ReadsTheMagnitudeOfRotatedVectors) {
  EXPECT_EQ(Keys().load().rope.magnitude, 1.0f);
  EXPECT_EQ(Keys().set("rope.scaling.attn_factor", 1.2f).load().rope.magnitude, 1.2f);
  EXPECT_FALSE(Keys().load().rope.has_ramp);
  expect_refusal(Keys().set("rope.scaling.attn_factor", -1.0f), ErrorCode::kBadFile, {"rope.scaling.attn_factor"});
}

}  // namespace
}  // namespace lockstep::model
