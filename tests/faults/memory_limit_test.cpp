// Address space that ends: the request that does not fit fails by name, and others go on.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>
#include <optional>

#include "base/error.h"
#include "chat/chat_template.h"
#include "engine/generate.h"
#include "forge/sanitized.h"
#include "forge/tiny_model.h"

namespace lockstep {
namespace {

// The address space of this process in bytes.
uint64_t address_space() {
  std::ifstream statm("/proc/self/statm");
  uint64_t pages = 0;
  statm >> pages;
  return pages * 4096;
}

class AddressSpaceLimit {
 public:
  explicit AddressSpaceLimit(uint64_t bytes) {
    ::getrlimit(RLIMIT_AS, &old_);
    const rlimit limit = {bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_AS, &limit);
  }
  ~AddressSpaceLimit() { ::setrlimit(RLIMIT_AS, &old_); }
  AddressSpaceLimit(const AddressSpaceLimit&) = delete;
  AddressSpaceLimit& operator=(const AddressSpaceLimit&) = delete;

 private:
  rlimit old_ = {};
};

TEST(MemoryLimit, BelowTheCacheNamesItsPositionsAndBytesAndLeavesTheEngineUsable) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need address space without limit";
  forge::TinyShape shape = forge::tiny_llama();
  shape.n_layers = 16;
  shape.n_embd = 64;
  shape.n_kv_heads = 8;
  shape.head_dim = 128;
  shape.n_ff = 64;
  const auto path = forge::test_file("wide_cache.gguf");
  forge::TinyModel(shape).write(path);
  engine::EngineOptions options;
  options.threads = 1;
  options.ctx_size = 4096;
  options.kv_type = kernels::CacheType::kF32;
  const auto engine = engine::Engine::load(path, options);
  engine::Session session(*engine);
  const auto prompt = forge::random_tokens(600, 300, 3);
  const std::span<const engine::TokenId> beginning(prompt.data(), 100);
  (void)session.sync(beginning);
  const std::vector<float> wanted(session.logits().begin(), session.logits().end());
  constexpr uint64_t kRoom = uint64_t{40} << 20;  // two blocks of the cache, of 16 MiB each
  const AddressSpaceLimit limit(address_space() + kRoom);
  try {
    (void)session.sync(prompt);
    ADD_FAILURE() << "there was room";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNoMemory);
    EXPECT_TRUE(std::string(error.what()).starts_with("no memory for the KV cache of positions ")) << error.what();
    EXPECT_NE(std::string(error.what()).find(": 16777216 bytes wanted"), std::string::npos) << error.what();
  }
  (void)session.sync(beginning);
  EXPECT_TRUE(std::ranges::equal(session.logits(), wanted));
}

// No thread to compile the template on, which says nothing about the template.
TEST(MemoryLimit, BelowAThreadForAChatTemplateFailsOneRenderingOnly) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need address space without limit";
  constexpr std::string_view kNow = "2026-01-02T03:04:05";
  std::optional<chat::ChatTemplate> chat_template, malformed;
  {
    const AddressSpaceLimit limit(address_space() + (uint64_t{40} << 20));
    chat_template.emplace("{{ text }}");
    malformed.emplace("{% if %}");
    for (const auto* each : {&*chat_template, &*malformed}) {
      try {
        (void)each->render(R"({"text":"hello"})", kNow);
        ADD_FAILURE() << "there was room";
      } catch (const Error& error) {
        EXPECT_TRUE(std::string(error.what()).starts_with("the chat template failed: no thread for the template: "))
            << error.what();
      }
    }
  }
  EXPECT_EQ(chat_template->render(R"({"text":"hello"})", kNow), "hello");
  for (int i = 0; i < 2; ++i) {
    try {
      (void)malformed->render("{}", kNow);
      ADD_FAILURE() << "rendered";
    } catch (const Error& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("the chat template is malformed: line 1: ")) << error.what();
    }
  }
}

}  // namespace
}  // namespace lockstep
