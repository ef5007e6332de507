// The self-check finds no fault on this machine: on SmolLM2 and on a small model of every number format.
#include <gtest/gtest.h>

#include "golden/golden_files.h"
#include "verify/self_check.h"

namespace lockstep {
namespace {

void expect_equal(const std::filesystem::path& file, model::Compute compute, model::CacheType cache) {
  verify::SelfCheckOptions options;
  options.compute = compute;
  options.cache_type = cache;
  const verify::SelfCheckResult result = verify::self_check(file.string(), options);
  EXPECT_TRUE(result.equal) << file;
  EXPECT_GE(result.paths.size(), 3u);
  for (const verify::CheckedPath& path : result.paths)
    EXPECT_EQ(path.fault, "") << file << " " << path.isa << ", " << path.shape.threads << " threads";
}

TEST(SelfCheckOfModels, IsEqualOnSmolLm2) {
  const std::filesystem::path models = golden::folder_of("LOCKSTEP_MODELS");
  LOCKSTEP_NEEDS_FOLDER(models, "LOCKSTEP_MODELS");
  expect_equal(models / "SmolLM2-135M-Instruct.Q4_1.gguf", model::Compute::kFast, model::CacheType::kF16);
}

TEST(SelfCheckOfModels, IsEqualOnEveryNumberFormat) {
  const std::filesystem::path folder = golden::folder_of("LOCKSTEP_GOLDEN");
  LOCKSTEP_NEEDS_FOLDER(folder, "LOCKSTEP_GOLDEN");
  int n_models = 0;
  for (const char* type : {"F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K_S", "Q4_K_S",
                           "Q5_K_S", "Q6_K", "IQ4_NL", "IQ4_XS", "IQ3_S", "TQ1_0", "TQ2_0", "MXFP4_MOE"}) {
    const std::filesystem::path file = folder / "mini" / (std::string("mini-llama.") + type + ".gguf");
    expect_equal(file, n_models % 3 == 2 ? model::Compute::kExact : model::Compute::kFast,
                 n_models % 2 == 0 ? model::CacheType::kF16 : model::CacheType::kQ8_0);
    ++n_models;
  }
  EXPECT_EQ(n_models, 19);
}

}  // namespace
}  // namespace lockstep
