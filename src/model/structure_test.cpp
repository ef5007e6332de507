// Models whose structure differs from the plain one: computed as a slow reference in double precision does, or refused,
// naming the key or tensor.
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/half.h"
#include "forge/model_run.h"
#include "forge/tiny_model.h"
#include "reference/forward_reference.h"

namespace lockstep::model {
namespace {

using forge::TinyModel;
using forge::TinyShape;

constexpr double kExactNmse = 1e-11;

std::filesystem::path written(const TinyModel& tiny) {
  std::filesystem::path path = forge::test_file("tiny.gguf");
  tiny.write(path);
  return path;
}

std::vector<float> logits_of(const TinyModel& tiny, int64_t n_tokens = 12) {
  const Model model = forge::load_model(written(tiny));
  return forge::all_logits(model, forge::random_tokens(n_tokens, tiny.shape().n_vocab, 21));
}

// What loading says; one line, with nothing of the machine in it.
std::string refusal_of(const TinyModel& tiny) {
  try {
    (void)forge::load_model(written(tiny));
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }
  return "loads";
}

void expect_refusal(const TinyModel& tiny, const std::vector<std::string>& words) {
  const std::string message = refusal_of(tiny);
  for (const std::string& word : words)
    EXPECT_NE(message.find(word), std::string::npos) << "no \"" << word << "\" in: " << message;
}

void expect_reference(const TinyModel& tiny, int64_t n_tokens = 12) {
  const std::filesystem::path path = written(tiny);
  const std::vector<int32_t> tokens = forge::random_tokens(n_tokens, tiny.shape().n_vocab, 21);
  const std::vector<float> got = forge::all_logits(forge::load_model(path), tokens);
  EXPECT_LE(forge::nmse(got, reference::ForwardReference(path).logits(tokens)), kExactNmse);
}

TinyShape small(TinyShape shape) {
  shape.n_layers = 2;
  shape.n_ff = 352;
  return shape;
}

gguf::Value list_of(const std::vector<uint32_t>& values) {
  return gguf::ArrayValue(values);
}

TEST(TinyModels, AgreeWithAReferenceInDoublePrecision) {
  expect_reference(TinyModel(small(forge::tiny_llama())), 140);  // two chunks of attention
  expect_reference(TinyModel(small(forge::tiny_qwen2())));
}

TEST(TinyModels, AgreeWithTheReferenceForManyShapesOfHeads) {
  for (const auto& [n_heads, n_kv_heads, head_dim] : std::vector<std::array<int64_t, 3>>{{8, 8, 32},
                                                                                         {8, 1, 32},
                                                                                         {4, 2, 64},
                                                                                         {6, 2, 80},
                                                                                         {2, 1, 128},
                                                                                         {3, 3, 96},
                                                                                         {16, 4, 16},
                                                                                         {2, 2, 40},
                                                                                         {2, 1, 8},
                                                                                         {12, 3, 20}}) {
    for (TinyShape shape : {small(forge::tiny_llama()), small(forge::tiny_qwen2())}) {
      shape.n_heads = n_heads;
      shape.n_kv_heads = n_kv_heads;
      shape.head_dim = head_dim;
      SCOPED_TRACE(fmt::format("{} heads, {} KV heads of {}", n_heads, n_kv_heads, head_dim));
      expect_reference(TinyModel(shape), 5);
    }
  }
}

// Widths that are no multiples of a vector, in float formats.
TEST(TinyModels, AgreeWithTheReferenceForOddWidths) {
  TinyShape shape = small(forge::tiny_llama());
  shape.n_embd = 90;
  shape.n_heads = 3;
  shape.n_kv_heads = 3;
  shape.head_dim = 30;
  shape.n_ff = 77;
  shape.n_vocab = 277;
  for (const quant::TensorType type : {quant::TensorType::kF16, quant::TensorType::kF32}) {
    shape.types = {type};
    expect_reference(TinyModel(shape), 5);
    const Model fast = forge::load_model(written(TinyModel(shape)), {.compute = Compute::kFast});
    EXPECT_EQ(forge::all_logits(fast, forge::random_tokens(5, 277, 21)), logits_of(TinyModel(shape), 5));
  }
}

TEST(TinyModels, AreTheSameBitsWithEveryKernelSetInEverySizeOfHead) {
  for (const int64_t head_dim : {8, 20, 40, 48, 80}) {
    TinyShape shape = small(forge::tiny_llama());
    shape.head_dim = head_dim;
    const std::filesystem::path path = written(TinyModel(shape));
    const std::vector<int32_t> tokens = forge::random_tokens(9, shape.n_vocab, 21);
    for (const auto cache : {kernels::CacheType::kF16, kernels::CacheType::kF32}) {
      const std::vector<float> wanted =
          forge::all_logits(forge::load_model(path, {.cache = cache, .isa = "scalar"}), tokens);
      for (const kernels::KernelTable* table : kernels::available_tables()) {
        const Model model = forge::load_model(path, {.cache = cache, .isa = table->isa});
        EXPECT_EQ(forge::all_logits(model, tokens), wanted) << table->isa << ' ' << head_dim;
        EXPECT_EQ(forge::ModelRun(model, 3, 1, 16).logits(tokens, 1), wanted)
            << table->isa << ' ' << head_dim << " one by one";
      }
    }
  }
}

// ---- B13 ----

TEST(TiedHead, StandsInForAMissingOutputMatrixWithTheSameBits) {
  TinyShape shape = small(forge::tiny_llama());
  shape.tied = true;
  TinyModel tied(shape);
  TinyModel untied(shape);
  forge::TinyTensor copy = untied.tensor("token_embd.weight");
  copy.name = "output.weight";
  untied.add_tensor(copy);
  const std::vector<float> wanted = logits_of(untied);
  EXPECT_EQ(logits_of(tied), wanted);
  EXPECT_NE(logits_of(TinyModel(small(forge::tiny_llama()))), wanted);
  EXPECT_TRUE(forge::load_model(written(tied)).weights.tied);
}

TEST(Tensors, ThatAreMissingAreNamed) {
  for (const std::string name : {"token_embd.weight", "blk.1.ffn_up.weight", "blk.0.attn_q.weight",
                                 "blk.1.attn_norm.weight", "output_norm.weight"}) {
    TinyModel tiny(small(forge::tiny_llama()));
    tiny.erase_tensor(name);
    expect_refusal(tiny, {name, "missing"});
  }
  TinyModel qwen(small(forge::tiny_qwen2()));
  qwen.erase_tensor("blk.1.attn_k.bias");
  expect_refusal(qwen, {"blk.1.attn_k.bias", "missing"});
}

TEST(Tensors, OfAnotherShapeAreRefusedWithBothShapes) {
  TinyModel tiny(small(forge::tiny_llama()));
  std::swap(tiny.tensor("blk.1.ffn_down.weight").shape[0], tiny.tensor("blk.1.ffn_down.weight").shape[1]);
  expect_refusal(tiny, {"blk.1.ffn_down.weight", "[256, 352]", "[352, 256]"});
  TinyModel wide(small(forge::tiny_llama()));
  wide.set("feed_forward_length", uint32_t{384});
  expect_refusal(wide, {"ffn_gate.weight", "352", "384"});
}

TEST(Tensors, ThatTheArchitectureDoesNotHaveAreRefusedRatherThanIgnored) {
  TinyModel tiny(small(forge::tiny_llama()));
  tiny.add_vector("blk.0.attn_q_norm.weight", std::vector<float>(32, 1.0f));
  expect_refusal(tiny, {"blk.0.attn_q_norm.weight", "llama"});
}

TEST(Embedding, MayHaveMoreRowsThanTokensButNotFewer) {
  TinyShape padded = small(forge::tiny_llama());
  TinyModel tiny(padded);
  const std::vector<float> whole = logits_of(tiny);
  tiny.set_key("tokenizer.ggml.tokens", gguf::ArrayValue(std::vector<std::string>(290, "x")));
  const std::filesystem::path path = written(tiny);
  const Model model = forge::load_model(path);
  const std::vector<int32_t> tokens = forge::random_tokens(6, 290, 3);
  EXPECT_EQ(forge::all_logits(model, tokens).size(), size_t{6} * 290);
  tiny.set_key("tokenizer.ggml.tokens", gguf::ArrayValue(std::vector<std::string>(301, "x")));
  expect_refusal(tiny, {"token_embd.weight", "300", "301"});
}

// ---- B14 ----

TEST(KvHeads, MayBeGivenOncePerLayer) {
  TinyModel tiny(small(forge::tiny_llama()));
  const std::vector<float> wanted = logits_of(tiny);
  tiny.set("attention.head_count_kv", list_of({2, 2}));
  EXPECT_EQ(logits_of(tiny), wanted);
}

TEST(KvHeads, OfTheWrongNumberOrDifferingAreRefused) {
  TinyModel tiny(forge::tiny_llama());
  tiny.set("attention.head_count_kv", list_of({2, 2, 2}));
  expect_refusal(tiny, {"llama.attention.head_count_kv", "3", "4"});
  tiny.set("attention.head_count_kv", list_of({2, 2, 2, 2, 2}));
  expect_refusal(tiny, {"llama.attention.head_count_kv", "5", "4"});
  tiny.set("attention.head_count_kv", list_of({2, 2, 4, 2}));
  expect_refusal(tiny, {"llama.attention.head_count_kv", "differs"});
  tiny.set("attention.head_count_kv", list_of({}));
  expect_refusal(tiny, {"llama.attention.head_count_kv"});
  tiny.set("attention.head_count_kv", list_of({2}));
  expect_refusal(tiny, {"llama.attention.head_count_kv", "1", "4"});
}

TEST(HeadSize, OfItsOwnIsComputed) {
  TinyShape shape = small(forge::tiny_llama());
  shape.head_dim = 48;
  expect_reference(TinyModel(shape));
}

TEST(HeadSize, OfZeroOrDifferingForKeysAndValuesIsRefused) {
  TinyModel tiny(small(forge::tiny_llama()));
  tiny.set("attention.key_length", uint32_t{0});
  tiny.set("attention.value_length", uint32_t{32});
  expect_refusal(tiny, {"llama.attention.key_length", "0"});
  tiny.set("attention.key_length", uint32_t{32});
  tiny.set("attention.value_length", uint32_t{0});
  expect_refusal(tiny, {"llama.attention.value_length", "0"});
  tiny.set("attention.value_length", uint32_t{64});
  expect_refusal(tiny, {"llama.attention.key_length", "32", "llama.attention.value_length", "64"});
  tiny.set("attention.key_length", uint32_t{1024});
  expect_refusal(tiny, {"llama.attention.key_length", "1024"});
}

// ---- B15 ----

TEST(RopeFactors, OfOneChangeNothing) {
  TinyModel tiny(small(forge::tiny_llama()));
  const std::vector<float> wanted = logits_of(tiny);
  tiny.add_vector("rope_freqs.weight", std::vector<float>(16, 1.0f));
  EXPECT_EQ(logits_of(tiny), wanted);
}

TEST(RopeFactors, DivideTheAnglesAsInTheReference) {
  TinyModel tiny(small(forge::tiny_llama()));
  const std::vector<float> without = logits_of(tiny);
  forge::RandomData random(8);
  std::vector<float> divisors(16);
  for (float& divisor : divisors) divisor = random.uniform(0.5f, 9.0f);
  tiny.add_vector("rope_freqs.weight", divisors);
  EXPECT_NE(logits_of(tiny), without);
  expect_reference(tiny, 40);
}

TEST(RopeFactors, OfTheWrongLengthOrNotAboveZeroAreRefused) {
  for (const size_t n : {size_t{15}, size_t{17}, size_t{32}}) {
    TinyModel tiny(small(forge::tiny_llama()));
    tiny.add_vector("rope_freqs.weight", std::vector<float>(n, 1.0f));
    expect_refusal(tiny, {"rope_freqs.weight", std::to_string(n), "16"});
  }
  for (const float bad :
       {0.0f, -1.0f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    TinyModel tiny(small(forge::tiny_llama()));
    std::vector<float> divisors(16, 1.0f);
    divisors[3] = bad;
    tiny.add_vector("rope_freqs.weight", divisors);
    expect_refusal(tiny, {"rope_freqs.weight"});
  }
}

TEST(RopeScaling, ByALinearFactorIsComputed) {
  TinyModel tiny(small(forge::tiny_llama()));
  const std::vector<float> without = logits_of(tiny);
  tiny.set("rope.scaling.type", std::string("linear"));
  tiny.set("rope.scaling.factor", 4.0f);
  EXPECT_NE(logits_of(tiny), without);
  expect_reference(tiny, 40);
  tiny.set("rope.scaling.type", std::string("none"));
  EXPECT_EQ(logits_of(tiny), without);
}

TEST(RopeScaling, OfAnotherTypeIsRefusedNeverIgnored) {
  for (const std::string type : {"abc", "longrope", ""}) {
    TinyModel tiny(small(forge::tiny_llama()));
    tiny.set("rope.scaling.type", type);
    tiny.set("rope.scaling.factor", 4.0f);
    expect_refusal(tiny, {"llama.rope.scaling.type", "\"" + type + "\"", "linear"});
  }
  TinyModel tiny(small(forge::tiny_llama()));
  tiny.set("rope.scaling.type", std::string("linear"));
  for (const float factor : {-1.0f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    tiny.set("rope.scaling.factor", factor);
    expect_refusal(tiny, {"llama.rope.scaling.factor"});
  }
}

// ---- experts ----

TinyShape with_experts(int64_t n, int64_t n_used) {
  TinyShape shape = small(forge::tiny_llama());
  shape.n_ff = 48;
  shape.n_experts = n;
  shape.n_experts_used = n_used;
  return shape;
}

TEST(Experts, AgreeWithTheReferenceForManyNumbersOfThem) {
  for (const auto& [n, n_used] :
       std::vector<std::array<int64_t, 2>>{{4, 2}, {1, 1}, {3, 3}, {5, 1}, {17, 4}, {40, 20}}) {
    SCOPED_TRACE(fmt::format("{} of {} experts", n_used, n));
    expect_reference(TinyModel(with_experts(n, n_used)));
  }
}

// All of a batch at one expert, and no token at the others; a whole batch beside one row.
TEST(Experts, MayAllBeTheSame) {
  TinyModel tiny(with_experts(6, 2));
  for (const std::string layer : {"blk.0.", "blk.1."})
    std::ranges::fill(tiny.tensor(layer + "ffn_gate_inp.weight").data, std::byte{0});
  const Model model = forge::load_model(written(tiny));
  const std::vector<int32_t> tokens = forge::random_tokens(12, tiny.shape().n_vocab, 21);
  const std::vector<float> got = forge::all_logits(model, tokens);
  EXPECT_LE(forge::nmse(got, reference::ForwardReference(written(tiny)).logits(tokens)), kExactNmse);
  EXPECT_EQ(forge::ModelRun(model, 3, 1, 12).logits(tokens, 1), got);
  // Of equal experts the first are taken: what the others hold does not matter.
  for (const std::string name : {"blk.0.ffn_up_exps.weight", "blk.1.ffn_down_exps.weight"}) {
    auto& data = tiny.tensor(name).data;
    std::fill(data.begin() + std::ssize(data) / 3, data.end(), std::byte{0});
  }
  EXPECT_EQ(logits_of(tiny), got);
}

TEST(Experts, AreWeighedWithTheFilesScale) {
  TinyModel tiny(with_experts(4, 2));
  TinyModel doubled(with_experts(4, 2));
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    auto& data = doubled.tensor(layer + "ffn_down_exps.weight").data;
    auto* halves = reinterpret_cast<uint16_t*>(data.data());
    for (size_t i = 0; i < data.size() / 2; ++i) halves[i] = f32_to_f16(2.0f * f16_to_f32(halves[i]));
  }
  const std::vector<float> wanted = logits_of(doubled);
  EXPECT_NE(logits_of(tiny), wanted);
  tiny.set("expert_weights_scale", 2.0f);
  EXPECT_EQ(logits_of(tiny), wanted);
}

TEST(Experts, WithoutTheirTensorsOrOfOtherShapesAreRefused) {
  for (const std::string name : {"gate_inp", "gate_exps", "up_exps", "down_exps"}) {
    TinyModel tiny(with_experts(4, 2));
    tiny.erase_tensor("blk.1.ffn_" + name + ".weight");
    expect_refusal(tiny, {"blk.1.ffn_" + name + ".weight", "missing"});
  }
  TinyModel tiny(with_experts(4, 2));
  tiny.set("expert_count", uint32_t{5});
  expect_refusal(tiny, {"blk.0.ffn_gate_inp.weight", "[256, 4]", "[256, 5]"});
  tiny.set("expert_count", uint32_t{4});
  tiny.set("expert_feed_forward_length", uint32_t{32});
  expect_refusal(tiny, {"blk.0.ffn_gate_exps.weight", "[256, 48, 4]", "[256, 32, 4]"});
  TinyModel dense(small(forge::tiny_llama()));
  dense.set("expert_count", uint32_t{4});
  dense.set("expert_used_count", uint32_t{2});
  expect_refusal(dense, {"blk.0.ffn_gate_inp.weight", "missing"});
}

}  // namespace
}  // namespace lockstep::model
