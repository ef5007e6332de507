#include "engine/session_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "forge/load_engine.h"
#include "forge/tiny_model.h"

namespace lockstep::engine {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<TokenId>;

EngineOptions small_options() {
  EngineOptions options;
  options.threads = 1;
  options.ctx_size = 300;
  options.batch_size = 64;
  return options;
}

std::unique_ptr<Engine> load(const EngineOptions& options, uint64_t seed = 1) {
  forge::TinyShape shape = forge::tiny_llama();
  shape.n_layers = 2;
  shape.types = {quant::TensorType::kQ8_0};
  shape.seed = seed;
  return forge::load_engine(forge::TinyModel(shape), "tiny" + std::to_string(seed) + ".gguf", options);
}

std::vector<float> next_logits(Session& session, TokenId token) {
  session.append(token);
  return {session.logits().begin(), session.logits().end()};
}

// Loading must fail with `code` and all `words`, and leave the session as it was.
void expect_refusal(const fs::path& path, Session& session, ErrorCode code, std::initializer_list<const char*> words) {
  const Ids before(session.tokens().begin(), session.tokens().end());
  try {
    (void)load_session(path, session);
    ADD_FAILURE() << "loaded";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    for (const char* word : words) EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
  }
  EXPECT_TRUE(std::ranges::equal(before, session.tokens()));
}

TEST(SessionFile, GivesTheNextTokenWithoutPrefillAndWithTheSameBits) {
  const fs::path path = forge::test_file("session");
  for (const int64_t n_tokens : {1, 127, 128, 200, 299}) {
    const Ids prompt = forge::random_tokens(n_tokens, 300, 5);
    const auto engine = load(small_options());
    Session session(*engine);
    (void)session.sync(prompt);
    save_session(path, session, "the text");
    const std::vector<float> wanted = next_logits(session, 7);

    EngineOptions scalar = small_options();  // another kernel set: the cache's layout and bits are the same
    scalar.isa = "scalar";
    for (const auto& other : {load(small_options()), load(scalar)}) {
      Session restarted(*other);
      EXPECT_EQ(load_session(path, restarted), "the text");
      EXPECT_TRUE(std::ranges::equal(restarted.tokens(), prompt));
      const uint64_t before = other->n_forward();
      EXPECT_EQ(next_logits(restarted, 7), wanted) << n_tokens;
      EXPECT_EQ(other->n_forward() - before, 1u);
    }
  }
}

TEST(SessionFile, IsItsOwnersAloneUnlessItWasOpenBefore) {
  const fs::path path = forge::test_file("session");
  fs::remove(path);
  const auto engine = load(small_options());
  const Session session(*engine);
  const auto mode = [&] { return static_cast<unsigned>(fs::status(path).permissions()); };
  save_session(path, session, "private");
  EXPECT_EQ(mode(), 0600U);
  fs::permissions(path, fs::perms{0640});
  save_session(path, session, "for a group");
  EXPECT_EQ(mode(), 0640U);
}

TEST(SessionFile, APlaceIsCheckedWithoutWriting) {
  const fs::path path = forge::test_file("session");
  fs::remove(path);
  check_session_place(path);
  EXPECT_FALSE(fs::exists(path));
  EXPECT_THROW(check_session_place(path / "below-nothing"), Error);
  EXPECT_THROW(check_session_place(path.parent_path()), Error);
}

TEST(SessionFile, HoldsAnEmptySessionAndAnyText) {
  const fs::path path = forge::test_file("session");
  const auto engine = load(small_options());
  Session empty(*engine);
  const std::string text("\0\xff\n", 3);
  save_session(path, empty, text);
  Session session(*engine);
  (void)session.sync(Ids{5, 6});
  EXPECT_EQ(load_session(path, session), text);
  EXPECT_TRUE(session.tokens().empty());
  EXPECT_EQ(session.sync(Ids{5, 6}).computed, 2);
}

TEST(SessionFile, OfAnotherModelKvTypeOrComputeModeIsRefusedByName) {
  const fs::path path = forge::test_file("session");
  const auto engine = load(small_options());
  Session session(*engine);
  (void)session.sync(forge::random_tokens(100, 300, 5));
  save_session(path, session, "");
  const auto refused = [&](const EngineOptions& options, uint64_t seed, ErrorCode code,
                           std::initializer_list<const char*> words) {
    const auto other = load(options, seed);
    Session into(*other);
    (void)into.sync(Ids{5, 6});
    expect_refusal(path, into, code, words);
  };
  EngineOptions options = small_options();
  refused(options, 2, ErrorCode::kUnsupported, {"session", "another model"});
  options.kv_type = kernels::CacheType::kF32;
  refused(options, 1, ErrorCode::kUnsupported, {"kv-type", "f16", "f32"});
  options = small_options();
  options.compute = model::Compute::kExact;
  refused(options, 1, ErrorCode::kUnsupported, {"compute", "fast", "exact"});
}

// The context size decides which of the file's two sets of rotation factors is used, so the keys are others.
TEST(SessionFile, WithOtherRotationFactorsIsRefusedByName) {
  forge::TinyShape shape = forge::tiny_llama();
  shape.arch = "phi3";
  shape.n_layers = 1;
  shape.types = {quant::TensorType::kQ8_0};
  forge::TinyModel model(shape);
  model.set("rope.scaling.original_context_length", uint32_t{200});
  model.add_vector("rope_factors_short.weight", std::vector<float>(16, 1.0f));
  model.add_vector("rope_factors_long.weight", std::vector<float>(16, 2.0f));
  const fs::path model_path = forge::test_file("long.gguf");
  model.write(model_path);
  const fs::path path = forge::test_file("session");
  EngineOptions options = small_options();
  options.ctx_size = 200;
  const auto engine = Engine::load(model_path, options);
  Session session(*engine);
  (void)session.sync(Ids{5, 6, 7});
  save_session(path, session, "");
  options.ctx_size = 100;
  const auto also_short = Engine::load(model_path, options);
  Session into(*also_short);
  EXPECT_EQ(load_session(path, into), "");
  options.ctx_size = 201;
  const auto with_long = Engine::load(model_path, options);
  Session other(*with_long);
  expect_refusal(path, other, ErrorCode::kUnsupported, {"rotation factors", "context size"});
}

TEST(SessionFile, LongerThanTheContextGivesItsBeginning) {
  const fs::path path = forge::test_file("session");
  const Ids prompt = forge::random_tokens(290, 300, 5);
  const auto engine = load(small_options());
  Session session(*engine);
  (void)session.sync(prompt);
  save_session(path, session, "text");
  for (const int64_t ctx_size : {1, 100, 128, 256}) {
    EngineOptions options = small_options();
    options.ctx_size = ctx_size;
    const auto other = load(options);
    Session into(*other);
    EXPECT_EQ(load_session(path, into), "text");
    ASSERT_EQ(static_cast<int64_t>(into.tokens().size()), ctx_size);
    const std::span<const TokenId> beginning(prompt.data(), static_cast<size_t>(ctx_size));
    EXPECT_EQ(into.sync(beginning).reused, ctx_size - 1);
    Session cold(*engine);
    const std::vector<float> logits(into.logits().begin(), into.logits().end());
    (void)cold.sync(beginning);
    EXPECT_TRUE(std::ranges::equal(cold.logits(), logits));
  }
}

TEST(SessionFile, TornOrChangedAnywhereIsRefused) {
  const fs::path path = forge::test_file("session");
  const fs::path damaged = forge::test_file("damaged");
  const auto engine = load(small_options());
  Session session(*engine);
  (void)session.sync(Ids{5, 6, 7});
  save_session(path, session, "a conversation");
  const std::string whole = read_text_file(path);
  const auto refused = [&](const std::string& bytes) {
    std::ofstream(damaged, std::ios::binary) << bytes;
    EXPECT_THROW((void)load_session(damaged, session), Error) << bytes.size();
  };
  forge::RandomData random(1);
  const auto size = static_cast<int64_t>(whole.size());
  for (size_t n = 0; n <= 160; ++n) refused(whole.substr(0, n));
  for (int i = 0; i < 40; ++i) refused(whole.substr(0, static_cast<size_t>(random.below(size))));
  refused(whole + "x");
  for (int i = 0; i < 200; ++i) {
    std::string bytes = whole;
    bytes[static_cast<size_t>(i < 160 ? i : random.below(size))] ^= static_cast<char>(1 << random.below(8));
    refused(bytes);
  }
  EXPECT_EQ(session.tokens().size(), 3u);
  EXPECT_EQ(load_session(path, session), "a conversation");
}

TEST(SessionFile, HugeCountsAreRefusedBeforeAnythingIsAllocated) {
  const fs::path path = forge::test_file("session");
  const auto engine = load(small_options());
  Session session(*engine);
  (void)session.sync(Ids{5, 6, 7});
  save_session(path, session, "text");
  const std::string whole = read_text_file(path);
  constexpr size_t kTokensAt = 96;
  constexpr size_t kTextAt = 104;
  for (const size_t at : {kTokensAt, kTextAt}) {
    for (const uint64_t count : {uint64_t{1} << 20, uint64_t{1} << 40, uint64_t{1} << 62, ~uint64_t{0}}) {
      std::string bytes = whole;
      std::memcpy(bytes.data() + at, &count, sizeof(count));
      std::ofstream(path, std::ios::binary) << bytes;
      expect_refusal(path, session, ErrorCode::kBadFile, {"session", "announces"});
    }
  }
}

TEST(SessionFile, ThatCannotBeWrittenLeavesTheOldOne) {
  const fs::path path = forge::test_file("session");
  const auto engine = load(small_options());
  Session session(*engine);
  (void)session.sync(Ids{5, 6, 7});
  save_session(path, session, "old");
  EXPECT_THROW(save_session(path / "below", session, "new"), Error);
  EXPECT_THROW(save_session(path.parent_path(), session, "new"), Error);
  EXPECT_EQ(load_session(path, session), "old");
}

TEST(SessionFile, TakesNoOtherFilesPlace) {
  const fs::path path = forge::test_file("letter.txt");
  std::ofstream(path) << "Dear reader,";
  const auto engine = load(small_options());
  const Session session(*engine);
  EXPECT_THROW(check_session_place(path), Error);
  EXPECT_THROW(save_session(path, session, "new"), Error);
  EXPECT_EQ(read_text_file(path), "Dear reader,");
}

}  // namespace
}  // namespace lockstep::engine
