#include "verify/base_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "forge/load_engine.h"
#include "forge/tiny_model.h"
#include "verify/perplexity.h"

namespace lockstep::verify {
namespace {

std::string letters(int seed) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += static_cast<char>('a' + i * i * seed % 26);
  return text;
}

std::unique_ptr<engine::Engine> tiny_engine(const std::string& name, const forge::TinyShape& shape) {
  engine::EngineOptions options;
  options.threads = 1;
  options.ctx_size = 20;
  return forge::load_engine(forge::TinyModel(shape), name, options);
}

forge::TinyShape small_shape() {
  forge::TinyShape shape = forge::tiny_quantized(forge::tiny_llama());
  shape.n_layers = 2;
  return shape;
}

class BaseFile : public testing::Test {
 protected:
  void SetUp() override {
    engine_ = tiny_engine("tiny.gguf", small_shape());
    windows_ = windows_of(letters(7), 20, 3);
    path_ = forge::test_file("tiny.base");
    BaseWriter writer(path_, *engine_, windows_);
    const PerplexityOptions keep = {nullptr, [&](std::span<const float> rows) { writer.write(rows); }, nullptr};
    (void)measure_perplexity(*engine_, windows_, keep);
    writer.commit();
    bytes_ = read_text_file(path_);
  }

  [[nodiscard]] TextWindows windows_of(const std::string& text, int64_t size, int64_t count) const {
    return cut_windows(engine_->tokenizer(), text, size, count);
  }

  // What reading a changed file says, or "" when nothing is wrong with it.
  std::string complaint(const std::string& bytes, const TextWindows& windows, engine::Engine& engine) const {
    NewFile file(path_);
    file.write(std::as_bytes(std::span(bytes)));
    file.commit();
    try {
      BaseReader reader(path_, engine, windows);
      const PerplexityOptions options = {[&](int64_t n) { return reader.next(n); }, nullptr, nullptr};
      EXPECT_EQ(measure_perplexity(engine, windows, options).divergence.result().max, 0);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("tiny.base"), std::string::npos) << error.what();
      return error.what();
    }
    return "";
  }
  std::string complaint(const std::string& bytes) const { return complaint(bytes, windows_, *engine_); }

  [[nodiscard]] std::string with_byte(size_t at, char value) const {
    std::string bytes = bytes_;
    bytes[at] = value;
    return bytes;
  }

  std::unique_ptr<engine::Engine> engine_;
  TextWindows windows_;
  std::filesystem::path path_;
  std::string bytes_;
};

#define EXPECT_SAYS(text, word) EXPECT_NE((text).find(word), std::string::npos) << (text)

TEST_F(BaseFile, GivesBackWhatWasWrittenBitForBit) {
  EXPECT_EQ(complaint(bytes_), "");
  EXPECT_EQ(complaint(bytes_, windows_of(letters(7), 20, 2), *engine_), "") << "the first windows of a longer base";
}

TEST_F(BaseFile, IsRefusedAtEveryLengthButItsOwn) {
  for (size_t n = 0; n < bytes_.size(); n += n < 300 ? 1 : 997) EXPECT_NE(complaint(bytes_.substr(0, n)), "") << n;
  EXPECT_SAYS(complaint(bytes_.substr(0, bytes_.size() - 1)), "cut off");
  EXPECT_SAYS(complaint(bytes_ + "x"), "cut off");
}

TEST_F(BaseFile, IsRefusedWhenAnyOfItsBytesWasChanged) {
  for (size_t at = 0; at < bytes_.size(); at += at < 300 ? 1 : 997) {
    EXPECT_NE(complaint(with_byte(at, static_cast<char>(bytes_[at] ^ 1))), "") << at;
  }
  EXPECT_SAYS(complaint(with_byte(24, 1)), "were changed");
  EXPECT_SAYS(complaint(with_byte(0, 'x')), "not a base");
  EXPECT_SAYS(complaint(with_byte(8, 9)), "version 9");
}

TEST_F(BaseFile, WithHugeCountsIsRefusedBeforeAnythingIsReserved) {
  std::string bytes = bytes_;
  for (size_t at = 20; at < 24; ++at) bytes[at] = static_cast<char>(0xff);  // windows
  EXPECT_SAYS(complaint(bytes), "cut off");
}

TEST_F(BaseFile, HoldingNotANumberIsRefusedByPlace) {
  std::string bytes = bytes_;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const size_t first_window = bytes.size() - 3 * (9 * 300 * 4 + 16);
  std::memcpy(&bytes[first_window + 40], &nan, sizeof(nan));
  EXPECT_SAYS(complaint(bytes), "byte " + std::to_string(first_window + 40));
}

TEST_F(BaseFile, OfAnotherTextOrOtherWindowsIsRefused) {
  EXPECT_SAYS(complaint(bytes_, windows_of(letters(11), 20, 3), *engine_), "another text");
  EXPECT_SAYS(complaint(bytes_, windows_of(letters(7), 19, 3), *engine_), "windows of 20 tokens, expected 19");
  EXPECT_SAYS(complaint(bytes_, windows_of(letters(7), 20, 4), *engine_), "has 3 windows");
}

TEST_F(BaseFile, OfAnotherModelIsRefusedButOfOtherWeightsIsWhatItIsFor) {
  forge::TinyShape deeper = small_shape();
  deeper.n_layers = 3;
  EXPECT_SAYS(complaint(bytes_, windows_, *tiny_engine("deeper.gguf", deeper)), "another model");
  forge::TinyShape larger = small_shape();
  larger.n_vocab = 301;
  EXPECT_SAYS(complaint(bytes_, windows_, *tiny_engine("larger.gguf", larger)), "another model");
  forge::TinyShape other_weights = small_shape();
  other_weights.types = {quant::TensorType::kF16};
  const auto engine = tiny_engine("weights.gguf", other_weights);
  EXPECT_EQ(model_identity(*engine), model_identity(*engine_));
  BaseReader reader(path_, *engine, windows_);
  const PerplexityOptions options = {[&](int64_t n) { return reader.next(n); }, nullptr, nullptr};
  EXPECT_GT(measure_perplexity(*engine, windows_, options).divergence.result().mean, 0);
}

TEST_F(BaseFile, ThatIsNotFinishedLeavesNothing) {
  const auto path = forge::test_file("unfinished.base");
  { const BaseWriter writer(path, *engine_, windows_); }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(BaseFile, TakesNoOtherFilesPlace) {
  const auto path = forge::test_file("letter.txt");
  std::ofstream(path) << "Dear reader,";
  EXPECT_THROW((BaseWriter{path, *engine_, windows_}), Error);
  EXPECT_EQ(read_text_file(path), "Dear reader,");
}

}  // namespace
}  // namespace lockstep::verify
