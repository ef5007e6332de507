#include "model_memory.h"

#include <gtest/gtest.h>

#include "exec/kv_cache.h"
#include "forge/memory_file.h"
#include "forge/tiny_model.h"
#include "info.h"
#include "model/model.h"

namespace lockstep {
namespace {

constexpr int64_t kWindow = 40;  // of TinyModel
constexpr int64_t kContext = 4096;
constexpr uint64_t kPerLayer = 2 * 2 * 32;  // keys and values of two heads of 32

// 4 layers; of gemma2 every second one has a window.
gguf::ModelFile tiny(const forge::MemoryFile& file, const std::string& family) {
  forge::TinyModel(forge::tiny_family(family)).write(file.path());
  return gguf::ModelFile::open(file.path());
}

// The most bytes that windowed layers of a cache have while its timeline grows, wherever in a block the batches begin.
uint64_t most_window_bytes(const exec::KvCache::Shape& shape) {
  uint64_t most = 0;
  for (int64_t first = 1; first <= exec::KvCache::kBlockPositions; ++first) {
    exec::KvCache cache(shape);
    for (int64_t length = first; length <= shape.max_positions; length += 512) {
      cache.reserve(length);
      cache.set_length(length);
      const uint64_t whole = static_cast<uint64_t>(exec::KvCache::n_blocks(length)) * cache.block_bytes();
      most = std::max(most, cache.allocated_bytes() - whole);
    }
  }
  return most;
}

TEST(ModelMemory, SaysWhatTheCacheOfWindowedLayersReallyTakes) {
  const forge::MemoryFile file;
  const ModelMemory memory = measure_memory(tiny(file, "gemma2"));
  EXPECT_EQ(memory.kv_elements_per_token, 4 * kPerLayer);
  ASSERT_TRUE(memory.windows);
  EXPECT_EQ(memory.windows->n_tokens, kWindow);
  EXPECT_EQ(memory.windows->n_layers, 2);
  EXPECT_EQ(memory.windows->kv_elements_per_token, 2 * kPerLayer);
  EXPECT_EQ(kv_elements(memory, 100), 100 * 4 * kPerLayer);

  const exec::KvCache::Shape shape = {
      4, 2, 2 * 32 * 128, kContext, {true, false, true, false}, kWindow, model::kCutMargin};
  const auto most_tokens = static_cast<uint64_t>(memory.windows->most_tokens);
  EXPECT_EQ(most_window_bytes(shape), kv_bytes(2 * kPerLayer * most_tokens).f16);
  EXPECT_EQ(kv_elements(memory, kContext), 2 * kPerLayer * (kContext + most_tokens));
}

TEST(ModelMemory, KnowsNoWindowsOfAModelWithoutThem) {
  const forge::MemoryFile file;
  const ModelMemory memory = measure_memory(tiny(file, "llama"));
  EXPECT_FALSE(memory.windows);
  EXPECT_EQ(kv_elements(memory, 1000), 1000 * 4 * kPerLayer);
}

TEST(ModelMemory, IsShownToPeopleAndScripts) {
  const forge::MemoryFile file;
  const gguf::ModelFile model = tiny(file, "gemma2");
  const auto windows = info_json(model, false)["memory"]["windows"];
  EXPECT_EQ(windows.dump(),
            R"({"tokens":40,"layers":2,"kv_per_token":{"f16":512,"f32":1024,"q8_0":272},"most_tokens":1280})");
  const std::string text = info_text(model, "");
  EXPECT_NE(text.find("2.6 MiB for 4096 tokens"), std::string::npos) << text;
  EXPECT_NE(text.find("2 layers look back 40 tokens and keep at most 1280"), std::string::npos) << text;
  EXPECT_NE(text.find("every further token takes 512 B in f16"), std::string::npos) << text;
  const forge::MemoryFile plain;
  EXPECT_FALSE(info_json(tiny(plain, "llama"), false)["memory"].contains("windows"));
}

}  // namespace
}  // namespace lockstep
