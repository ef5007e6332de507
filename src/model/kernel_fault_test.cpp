// A kernel that computes wrongly on this machine is found when a model is loaded, and the logits are right all the
// same.
#include <gtest/gtest.h>

#include "forge/model_run.h"
#include "forge/tiny_model.h"
#include "kernels/start_check.h"

namespace lockstep::model {
namespace {

using kernels::KernelTable;

const KernelTable& best() {
  return *kernels::available_tables().front();
}

void wrong_product(const kernels::LinearJob& job) noexcept {
  best().fast[static_cast<int>(quant::TensorType::kQ4_K)](job);
  job.out[job.row_end - 1] *= 1.0000001f;
}

void wrong_attention(const kernels::AttentionJob& job, kernels::AttentionPartial* partial, float* o) noexcept {
  best().attend_chunk[static_cast<int>(kernels::CacheType::kF32)](job, partial, o);
  std::swap(o[0], o[1]);
}

class KernelFault : public testing::Test {
 protected:
  void SetUp() override {
    path_ = forge::test_file("tiny.gguf");
    forge::TinyShape shape = forge::tiny_quantized(forge::tiny_llama());
    forge::TinyModel(shape).write(path_);
    tokens_ = forge::random_tokens(20, shape.n_vocab, 3);
  }

  [[nodiscard]] Model load(const KernelTable& table) const {
    const gguf::ModelFile file = gguf::ModelFile::open(path_);
    exec::Team team(2);
    ModelOptions options;
    options.cache_type = kernels::CacheType::kF32;
    options.table = &table;
    return load_model(file, forge::vocabulary_size(file), options, team);
  }

  std::filesystem::path path_;
  std::vector<int32_t> tokens_;
};

TEST_F(KernelFault, IsNotSeenWhereThereIsNone) {
  for (const KernelTable* table : kernels::available_tables()) {
    const Model model = load(*table);
    EXPECT_TRUE(model.start_check->ok()) << table->isa;
    EXPECT_GE(model.start_check->checks, 15) << "fifteen types";
    EXPECT_EQ(model.kernels, table);
  }
}

TEST_F(KernelFault, IsNamedAndTheLogitsAreTheSameBits) {
  const std::vector<float> wanted = forge::all_logits(load(best()), tokens_);
  KernelTable product = best();
  product.fast[static_cast<int>(quant::TensorType::kQ4_K)] = wrong_product;
  KernelTable attention = best();
  attention.attend_chunk[static_cast<int>(kernels::CacheType::kF32)] = wrong_attention;
  for (const auto& [broken, word] : {std::pair{&product, "fast Q4_K"}, std::pair{&attention, "attention"}}) {
    Model model = load(*broken);
    ASSERT_EQ(model.start_check->faults.size(), 1u) << word;
    EXPECT_NE(model.start_check->faults[0].find(word), std::string::npos) << model.start_check->faults[0];
    EXPECT_NE(model.kernels, broken);
    EXPECT_EQ(forge::all_logits(model, tokens_), wanted) << word;
    model.kernels = broken;
    EXPECT_NE(forge::all_logits(model, tokens_), wanted) << word << ": the fault shows where nobody looks for it";
  }
}

}  // namespace
}  // namespace lockstep::model
