// Whole small models, damaged or packed in another way: what is wrong is named before any weight is used, what is right
// has the same logits, and a file that changes while it is read or used is an error at most.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "engine/generate.h"
#include "forge/model_run.h"
#include "forge/tiny_model.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using forge::TinyModel;

const std::vector<int32_t> kTokens = forge::random_tokens(7, 300, 3);

TinyModel two_layers() {
  forge::TinyShape shape = forge::tiny_llama();
  shape.n_layers = 2;
  return TinyModel(shape);
}

fs::path written(const TinyModel& model, const std::string& name = "tiny.gguf") {
  const fs::path path = forge::test_file(name);
  model.write(path);
  return path;
}

std::vector<float> logits_of(const fs::path& path) {
  return forge::all_logits(forge::load_model(path), kTokens);
}

std::unique_ptr<engine::Engine> load(const fs::path& path, int threads, model::Progress progress = {}) {
  engine::EngineOptions options;
  options.threads = threads;
  options.ctx_size = 128;
  options.progress = std::move(progress);
  return engine::Engine::load(path, options);
}

// What is said when the file is opened; loading is never begun.
std::string refusal_of(const fs::path& path) {
  try {
    (void)gguf::ModelFile::open(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "opens";
}

void expect_words(const std::string& message, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    EXPECT_NE(message.find(word), std::string::npos) << "no \"" << word << "\" in: " << message;
}

TEST(ModelInAnotherForm, OfAlignment64Or1HasTheSameLogits) {
  const TinyModel model = two_layers();
  const std::vector<float> wanted = logits_of(written(model));
  for (const uint32_t alignment : {1u, 64u, 4096u}) {
    gguf::Writer writer;
    writer.set_alignment(alignment);
    model.add_keys_to(writer);
    model.add_tensors_to(writer, 0, model.n_tensors());
    const fs::path path = forge::test_file("aligned.gguf");
    writer.write(path);
    EXPECT_EQ(logits_of(path), wanted) << alignment;
  }
}

fs::path write_shard(const TinyModel& model, uint16_t index, uint16_t count) {
  gguf::Writer writer;
  if (index == 0) model.add_keys_to(writer);
  writer.add_split_keys(index, count, static_cast<int32_t>(model.n_tensors()));
  model.add_tensors_to(writer, model.n_tensors() * index / count, model.n_tensors() * (index + 1u) / count);
  fs::path path = forge::test_file(fmt::format("shard-{:05}-of-{:05}.gguf", index + 1, count));
  writer.write(path);
  return path;
}

TEST(ModelInAnotherForm, OfShardsHasTheLogitsOfTheWhole) {
  const TinyModel model = two_layers();
  const std::vector<float> wanted = logits_of(written(model));
  for (const uint16_t count : {uint16_t{1}, uint16_t{2}, uint16_t{5}}) {
    const fs::path first = write_shard(model, 0, count);
    for (uint16_t i = 1; i < count; ++i) write_shard(model, i, count);
    EXPECT_EQ(logits_of(first), wanted) << count;
  }
}

TEST(DamagedModel, CutAnywhereBeforeItsDataIsRefused) {
  const fs::path path = written(two_layers());
  const uint64_t data_start = gguf::ModelFile::open(path).data_start();
  ASSERT_GT(data_start, 5000u);
  for (uint64_t size = data_start; size-- > 0;) {
    fs::resize_file(path, size);
    const std::string message = refusal_of(path);
    ASSERT_NE(message, "opens") << size;
    ASSERT_TRUE(message.find("ends early") != message.npos || message.find("bytes left") != message.npos ||
                message.find("missing") != message.npos)
        << size << ": " << message;
  }
}

TEST(DamagedModel, CutInItsDataIsRefusedByTensorAndMissingBytes) {
  const TinyModel model = two_layers();
  const fs::path path = written(model);
  const uint64_t size = fs::file_size(path);
  fs::resize_file(path, size - 1);
  expect_words(refusal_of(path), {"output.weight", "1 missing"});
  fs::resize_file(path, size / 2);
  expect_words(refusal_of(path), {"tensor \"blk.", "missing"});
}

// Every number of the header in the other order: magic, version, counts.
TEST(DamagedModel, OfTheOtherByteOrderIsSaidToBe) {
  const fs::path path = written(two_layers());
  std::string bytes = read_text_file(path);
  std::reverse(bytes.begin() + 4, bytes.begin() + 8);
  std::reverse(bytes.begin() + 8, bytes.begin() + 16);
  std::reverse(bytes.begin() + 16, bytes.begin() + 24);
  std::ofstream(path, std::ios::binary) << bytes;
  expect_words(refusal_of(path), {"big-endian"});
}

TEST(ChangingModel, CutWhileItIsReadIsAnError) {
  forge::TinyShape shape = forge::tiny_llama();
  shape.n_layers = 8;  // several slices
  const fs::path path = written(TinyModel(shape));
  ASSERT_GT(fs::file_size(path), 9u << 20);
  bool was_cut = false;
  try {
    // One thread: others would go on reading while this one stands still.
    (void)load(path, 1, [&](uint64_t done, uint64_t total) {
      if (was_cut) return;
      EXPECT_LT(done, total);
      fs::resize_file(path, total / 2);
      was_cut = true;
    });
    EXPECT_FALSE(was_cut) << "loads though half of it is missing";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadFile);
    expect_words(error.what(), {path.native(), "bytes missing"});
  }
}

// A model of several slices, another one of the same form, and what happens to the first after its first slice is read.
class WhileItIsRead : public testing::Test {
 protected:
  void SetUp() override {
    TinyModel(shape(1)).write(path_);
    TinyModel(shape(2)).write(other_);
    original_ = load(path_, 1)->model().weights.tree_hash;
    ASSERT_NE(original_, load(other_, 1)->model().weights.tree_hash);
  }

  static forge::TinyShape shape(uint64_t seed) {
    forge::TinyShape shape = forge::tiny_llama();
    shape.n_layers = 8;
    shape.seed = seed;
    return shape;
  }

  // One thread: others would go on reading while this one stands still.
  [[nodiscard]] std::unique_ptr<engine::Engine> load_while(const std::function<void()>& change) const {
    bool was_changed = false;
    auto engine = load(path_, 1, [&](uint64_t done, uint64_t total) {
      if (std::exchange(was_changed, true)) return;
      EXPECT_LT(done, total);
      change();
    });
    EXPECT_TRUE(was_changed);
    return engine;
  }

  const fs::path path_ = forge::test_file("changing.gguf");
  const fs::path other_ = forge::test_file("other.gguf");
  std::string original_;
};

// Half of one file and half of the other must never pass for a model, least of all for either of them.
TEST_F(WhileItIsRead, AFileThatIsOverwrittenIsRefused) {
  const std::string other = read_text_file(other_);
  const auto overwrite = [&] { std::fstream(path_, std::ios::binary | std::ios::in | std::ios::out) << other; };
  try {
    (void)load_while(overwrite);
    ADD_FAILURE() << "a mixture of two files loads";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadFile);
    expect_words(error.what(), {path_.native(), "written to while it was read"});
  }
  EXPECT_EQ(load(path_, 1)->model().weights.tree_hash, load(other_, 1)->model().weights.tree_hash);
}

TEST_F(WhileItIsRead, AFileThatAnotherTakesThePlaceOfIsReadToItsEnd) {
  const fs::path kept = forge::test_file("kept.gguf");
  fs::copy_file(path_, kept, fs::copy_options::overwrite_existing);
  const auto engine = load_while([&] { fs::rename(other_, path_); });
  EXPECT_EQ(engine->model().weights.tree_hash, original_);
  EXPECT_EQ(forge::all_logits(engine->model(), kTokens), forge::all_logits(load(kept, 1)->model(), kTokens));
}

// Weights are read, never mapped: what happens to the file later is no fault of memory.
TEST(ChangingModel, CutReplacedOrRemovedWhileItIsUsedChangesNothing) {
  const TinyModel model = two_layers();
  const fs::path path = written(model);
  const auto engine = load(path, 2);
  engine::GenerateOptions options;
  options.n_predict = 60;
  options.ignore_eos = true;
  options.sampling.temp = 0;
  const auto answer = [&](const std::function<void()>& meanwhile) {
    engine::Session session(*engine);
    int n = 0;
    return engine::generate(session, *engine, kTokens, options,
                            [&](engine::TokenId) -> std::optional<engine::FinishReason> {
                              if (++n == 5) meanwhile();
                              return std::nullopt;
                            })
        .ids;
  };
  const auto wanted = answer([] {});
  EXPECT_EQ(wanted.size(), 60u);
  EXPECT_EQ(answer([&] { fs::resize_file(path, fs::file_size(path) / 2); }), wanted);
  EXPECT_EQ(answer([&] { std::ofstream(path) << "something else"; }), wanted);
  EXPECT_EQ(answer([&] { fs::remove(path); }), wanted);
}

}  // namespace
}  // namespace lockstep
