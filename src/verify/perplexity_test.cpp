#include "verify/perplexity.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "forge/tiny_model.h"

namespace lockstep::verify {
namespace {

std::string a_text() {
  std::string text;
  for (int i = 0; i < 400; ++i) text += static_cast<char>('a' + i * i * 7 % 26);
  return text;
}

class PerplexityOfTiny : public testing::Test {
 protected:
  void SetUp() override {
    path_ = forge::test_file("tiny.gguf");
    forge::TinyShape shape = forge::tiny_quantized(forge::tiny_llama());
    shape.n_layers = 2;
    forge::TinyModel(shape).write(path_);
    engine_ = load(64);
    windows_ = cut_windows(engine_->tokenizer(), a_text(), 30, 5);
  }

  [[nodiscard]] std::unique_ptr<engine::Engine> load(int64_t batch_size) const {
    engine::EngineOptions options;
    options.threads = 2;
    options.ctx_size = 30;
    options.batch_size = batch_size;
    return engine::Engine::load(path_, options);
  }

  std::filesystem::path path_;
  std::unique_ptr<engine::Engine> engine_;
  TextWindows windows_;
};

TEST_F(PerplexityOfTiny, CutsWholeWindowsThatBeginWithBos) {
  EXPECT_EQ(windows_.count(), 5);
  EXPECT_EQ(windows_.first_scored(), 15);
  EXPECT_EQ(windows_.n_scored(), 14);
  const auto all = engine_->tokenizer().encode(a_text(), {.add_special = true});
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(windows_.window(i)[0], 1) << i;
    EXPECT_TRUE(std::ranges::equal(windows_.window(i).subspan(1), std::span(all).subspan(i * 30 + 1, 29))) << i;
  }
  EXPECT_EQ(cut_windows(engine_->tokenizer(), a_text(), 30, 0).count(), static_cast<int64_t>(all.size()) / 30);
  EXPECT_THROW((void)cut_windows(engine_->tokenizer(), "abc", 30, 0), Error);
  EXPECT_THROW((void)cut_windows(engine_->tokenizer(), a_text(), 3, 0), Error);
}

// Against the plain way: every window alone, all its logits.
TEST_F(PerplexityOfTiny, IsThatOfEveryWindowComputedAlone) {
  LikelihoodSum wanted;
  for (int64_t i = 0; i < windows_.count(); ++i) {
    engine::Session session(*engine_);
    session.sync_all(windows_.window(i), [&](int64_t position, std::span<const float> logits) {
      if (position < 15 || position > 28) return;
      wanted.add(logits, windows_.window(i)[static_cast<size_t>(position + 1)]);
    });
  }
  for (const int64_t batch_size : {64, 30, 7, 1}) {
    const auto engine = load(batch_size);
    int n_reports = 0;
    const PerplexityResult got =
        measure_perplexity(*engine, windows_, {nullptr, nullptr, [&](const PerplexityProgress&) { ++n_reports; }});
    EXPECT_EQ(got.likelihood.count(), 5 * 14);
    EXPECT_EQ(got.likelihood.perplexity(), wanted.perplexity()) << batch_size;
    EXPECT_EQ(got.likelihood.standard_error(), wanted.standard_error()) << batch_size;
    EXPECT_EQ(static_cast<uint64_t>(n_reports), engine->n_forward());
    EXPECT_TRUE(got.divergence.empty());
  }
}

TEST_F(PerplexityOfTiny, AgainstTheSameModeDivergesByNothingAndAgainstExactByLittle) {
  const auto against = [&](model::Compute mode) {
    return measure_perplexity(*engine_, windows_, {base_of_mode(*engine_, mode, windows_, {}), nullptr, nullptr});
  };
  const PerplexityResult same = against(model::Compute::kFast);
  EXPECT_EQ(same.divergence.result().max, 0);
  EXPECT_EQ(same.divergence.result().same_top, 1);
  EXPECT_EQ(same.base_likelihood.perplexity(), same.likelihood.perplexity());
  const PerplexityResult exact = against(model::Compute::kExact);
  EXPECT_EQ(exact.likelihood.perplexity(), same.likelihood.perplexity());
  EXPECT_GT(exact.divergence.result().mean, 1e-7);
  EXPECT_LT(exact.divergence.result().mean, 0.05);
  engine_->set_compute(model::Compute::kExact);
  EXPECT_EQ(measure_perplexity(*engine_, windows_, {}).likelihood.perplexity(), exact.base_likelihood.perplexity());
}

TEST_F(PerplexityOfTiny, LeavesTheComputeModeAsItWasWhenSomebodyGivesUp) {
  const auto give_up = [] { fail(ErrorCode::kIo, "given up"); };
  const PerplexityOptions options = {base_of_mode(*engine_, model::Compute::kExact, windows_, give_up), nullptr,
                                     nullptr};
  EXPECT_THROW((void)measure_perplexity(*engine_, windows_, options), Error);
  EXPECT_EQ(engine_->model().compute, model::Compute::kFast);
}

TEST_F(PerplexityOfTiny, NeedsAContextThatHoldsAWindow) {
  const TextWindows large = cut_windows(engine_->tokenizer(), a_text(), 31, 1);
  EXPECT_THROW((void)measure_perplexity(*engine_, large, {}), Error);
}

}  // namespace
}  // namespace lockstep::verify
