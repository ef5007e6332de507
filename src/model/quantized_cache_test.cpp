// The q8_0 KV cache in whole models: close to f16, half its size, refused where it cannot be. That its bits are the
// same for every cutting of the work is in invariance_test.cpp.
#include <gtest/gtest.h>

#include "base/error.h"
#include "forge/model_run.h"
#include "forge/tiny_model.h"

namespace lockstep::model {
namespace {

using kernels::CacheType;

// Three chunks of 128 positions, the last not full.
constexpr int64_t kTokens = 301;

std::filesystem::path write_tiny(int64_t head_dim) {
  forge::TinyShape shape = forge::tiny_llama();
  shape.n_layers = 2;
  shape.head_dim = head_dim;
  const std::filesystem::path path = forge::test_file("tiny" + std::to_string(head_dim) + ".gguf");
  forge::TinyModel(shape).write(path);
  return path;
}

Model load(const std::filesystem::path& path, CacheType cache) {
  return forge::load_model(path, {.compute = Compute::kExact, .cache = cache});
}

TEST(QuantizedCache, LogitsAreCloseToThoseOfF16AndNotTheSame) {
  const std::vector<int32_t> tokens = forge::random_tokens(kTokens, 300, 11);
  for (const int64_t head_dim : {32, 64, 96}) {
    const std::filesystem::path path = write_tiny(head_dim);
    const std::vector<float> wanted = forge::all_logits(load(path, CacheType::kF16), tokens);
    const std::vector<float> got = forge::all_logits(load(path, CacheType::kQ8_0), tokens);
    const double error = forge::nmse(got, wanted);
    EXPECT_LT(error, 1e-3) << "head size " << head_dim;
    EXPECT_GT(error, 1e-9) << "head size " << head_dim << ": was the cache quantized at all?";
    // Also where only the cache decides: the last position, which looks at all others.
    const auto last = [](const std::vector<float>& all) { return std::vector<float>(all.end() - 300, all.end()); };
    EXPECT_LT(forge::nmse(last(got), last(wanted)), 1e-3) << "head size " << head_dim;
  }
}

TEST(QuantizedCache, SingleTokensAreAsCloseAsAPrompt) {
  const std::vector<int32_t> tokens = forge::random_tokens(140, 300, 12);
  const std::filesystem::path path = write_tiny(32);
  const std::vector<float> wanted = forge::all_logits(load(path, CacheType::kF16), tokens);
  const Model model = load(path, CacheType::kQ8_0);
  EXPECT_LT(forge::nmse(forge::ModelRun(model, 2, 140, 140).logits(tokens, 1), wanted), 1e-3);
}

TEST(QuantizedCache, TakesLittleMoreThanHalfOfF16) {
  const std::filesystem::path path = write_tiny(64);
  const auto bytes = [&](CacheType cache) {
    return static_cast<double>(exec::KvCache(cache_shape(load(path, cache), 1000)).block_bytes());
  };
  EXPECT_DOUBLE_EQ(bytes(CacheType::kQ8_0) / bytes(CacheType::kF16), 34.0 / 64.0);
}

TEST(QuantizedCache, AHeadSizeThatIsNoMultipleOf32IsRefusedByName) {
  for (const int64_t head_dim : {16, 48, 80}) {
    const std::filesystem::path path = write_tiny(head_dim);
    EXPECT_NO_THROW((void)load(path, CacheType::kF16));
    try {
      (void)load(path, CacheType::kQ8_0);
      ADD_FAILURE() << head_dim;
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_EQ(error.code(), ErrorCode::kBadRequest);
      EXPECT_NE(message.find("q8_0"), std::string::npos) << message;
      EXPECT_NE(message.find("head size " + std::to_string(head_dim)), std::string::npos) << message;
    }
  }
}

}  // namespace
}  // namespace lockstep::model
