// Numbers that are not finite: refused when a file has them, reported when a computation makes them (B17).
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/half.h"
#include "forge/model_run.h"
#include "forge/tiny_model.h"

namespace lockstep::model {
namespace {

using forge::TinyModel;
using forge::TinyShape;

constexpr uint16_t kHalfNaN = 0x7e01;
constexpr uint16_t kHalfInfinity = 0xfc00;

TinyShape quantized_shape() {
  TinyShape shape = forge::tiny_llama();
  shape.n_layers = 2;
  shape.types = {quant::TensorType::kQ4_0};
  return shape;
}

std::string refusal_of(const TinyModel& tiny) {
  const std::filesystem::path path = forge::test_file("tiny.gguf");
  tiny.write(path);
  try {
    (void)forge::load_model(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFinite) << error.what();
    return error.what();
  }
  return "loads";
}

void set_scale(TinyModel& tiny, const std::string& tensor, size_t block, uint16_t half) {
  std::memcpy(&tiny.tensor(tensor).data[block * sizeof(quant::BlockQ4_0)], &half, sizeof(half));
}

TEST(NotFinite, BlockScalesAreRefusedByTensorName) {
  for (const std::string name : {"blk.1.ffn_up.weight", "blk.0.attn_k.weight", "output.weight", "token_embd.weight"}) {
    for (const uint16_t half : {kHalfNaN, kHalfInfinity}) {
      for (const bool last : {false, true}) {
        TinyModel tiny(quantized_shape());
        const size_t n_blocks = tiny.tensor(name).data.size() / sizeof(quant::BlockQ4_0);
        set_scale(tiny, name, last ? n_blocks - 1 : 0, half);
        EXPECT_NE(refusal_of(tiny).find(name), std::string::npos) << refusal_of(tiny);
      }
    }
  }
}

TEST(NotFinite, ValuesOfVectorsAndFloatMatricesAreRefusedByTensorName) {
  for (const std::string name : {"blk.1.attn_norm.weight", "output_norm.weight"}) {
    TinyModel tiny(quantized_shape());
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(&tiny.tensor(name).data[4], &nan, sizeof(nan));
    EXPECT_NE(refusal_of(tiny).find(name), std::string::npos) << refusal_of(tiny);
  }
  TinyModel tiny(forge::tiny_llama());
  std::memcpy(&tiny.tensor("blk.2.ffn_down.weight").data[2000], &kHalfInfinity, 2);
  EXPECT_NE(refusal_of(tiny).find("blk.2.ffn_down.weight"), std::string::npos) << refusal_of(tiny);
}

// Finite weights whose products overflow.
void expect_fault(TinyModel& tiny, const std::string& vector, Compute compute, const std::string& wanted) {
  std::vector<float> huge(tiny.tensor(vector).shape[0], 3e38f);
  std::memcpy(tiny.tensor(vector).data.data(), huge.data(), huge.size() * sizeof(float));
  const std::filesystem::path path = forge::test_file("tiny.gguf");
  tiny.write(path);
  const Model model = forge::load_model(path, {.compute = compute});
  for (const size_t chunk : {size_t{1}, size_t{5}}) {
    try {
      (void)forge::ModelRun(model, 2, 5, 16).logits({5, 6, 7, 8, 9}, chunk);
      ADD_FAILURE() << vector << ": no fault found";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kNotFinite);
      EXPECT_NE(std::string(error.what()).find(wanted), std::string::npos) << error.what();
    }
  }
}

TEST(NotFinite, ActivationsAreReportedByTheFirstTensorInFastMode) {
  TinyModel first(quantized_shape());
  expect_fault(first, "blk.1.attn_norm.weight", Compute::kFast, "-1");
  TinyModel second(quantized_shape());
  expect_fault(second, "blk.0.ffn_norm.weight", Compute::kFast, "-0");
}

TEST(NotFinite, ActivationsAreReportedInExactMode) {
  TinyModel first(quantized_shape());
  expect_fault(first, "blk.1.attn_norm.weight", Compute::kExact, "-1");
  TinyModel second(quantized_shape());
  expect_fault(second, "blk.0.ffn_norm.weight", Compute::kExact, "-0");
}

// Powers of a base so small make angles that no integer can count the turns of.
TEST(NotFinite, AnglesBeyondEveryUseAreReportedAsWhatTheyMake) {
  TinyShape shape = quantized_shape();
  shape.freq_base = 1e-30f;
  const std::filesystem::path path = forge::test_file("tiny.gguf");
  TinyModel(shape).write(path);
  for (const auto compute : {Compute::kExact, Compute::kFast}) {
    const Model model = forge::load_model(path, {.compute = compute});
    try {
      (void)forge::ModelRun(model, 2, 5, 16).logits({5, 6, 7, 8, 9}, 5);
      ADD_FAILURE() << "no fault found";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kNotFinite) << error.what();
    }
  }
}

TEST(NotFinite, AFaultOfOnePassDoesNotOutliveIt) {
  TinyShape shape = quantized_shape();
  shape.types = {quant::TensorType::kF32};
  TinyModel tiny(shape);
  // Only token 17 has something in the column that the norm's weight makes infinite.
  constexpr size_t kColumn = 7;
  const auto set = [&tiny](const std::string& name, size_t i, float value) {
    std::memcpy(&tiny.tensor(name).data[i * sizeof(value)], &value, sizeof(value));
  };
  for (size_t token = 0; token < 300; ++token)
    set("token_embd.weight", token * 256 + kColumn, token == 17 ? 100.0f : 0.0f);
  set("blk.0.attn_norm.weight", kColumn, 3e38f);
  const std::filesystem::path path = forge::test_file("tiny.gguf");
  tiny.write(path);
  for (const auto compute : {Compute::kExact, Compute::kFast}) {
    const Model model = forge::load_model(path, {.compute = compute});
    forge::ModelRun run(model, 2, 8, 16);
    const std::vector<float> wanted = run.logits({5, 6, 7}, 3);
    for (const float logit : wanted) ASSERT_TRUE(std::isfinite(logit));
    try {
      (void)run.logits({5, 17, 7}, 3);
      ADD_FAILURE() << "no fault found";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "activation attn_norm-0 holds a NaN or infinite value");
    }
    EXPECT_EQ(run.logits({5, 6, 7}, 3), wanted);
  }
}

}  // namespace
}  // namespace lockstep::model
