// Layers with windows forget what lies behind them: the memory stays small, and no answer changes.
#include <gtest/gtest.h>

#include "engine/session.h"
#include "engine/session_file.h"
#include "forge/load_engine.h"
#include "forge/model_run.h"
#include "forge/tiny_model.h"

namespace lockstep::engine {
namespace {

using Ids = std::vector<TokenId>;

constexpr int64_t kBatch = 32;  // the window of tiny gemma3 is 40
constexpr int64_t kTokens = 1000;

// Five windowed layers, one that is not, one more that is.
forge::TinyModel tiny_gemma3() {
  forge::TinyShape shape = forge::tiny_family("gemma3");
  shape.n_layers = 7;
  return forge::TinyModel(shape);
}

std::unique_ptr<Engine> load_tiny(int64_t ctx_size = 1200) {
  EngineOptions options;
  options.threads = 2;
  options.ctx_size = ctx_size;
  options.batch_size = kBatch;
  return forge::load_engine(tiny_gemma3(), "tiny.gguf", options);
}

Ids base() {
  return forge::random_tokens(kTokens, 300, 1);
}

// The first n tokens of base() and 30 others.
Ids another_end(int64_t n) {
  const Ids all = base();
  Ids ids(all.begin(), all.begin() + n);
  const Ids others = forge::random_tokens(30, 300, static_cast<uint64_t>(n));
  ids.insert(ids.end(), others.begin(), others.end());
  return ids;
}

std::vector<float> logits_of(Session& session) {
  return {session.logits().begin(), session.logits().end()};
}

std::vector<float> cold_logits(Engine& engine, const Ids& ids) {
  Session session(engine);
  EXPECT_EQ(session.sync(ids).reused, 0);
  return logits_of(session);
}

// As a conversation of three turns, which begin after 0, 300 and 620 tokens.
void converse(Session& session) {
  const Ids all = base();
  for (const size_t n : {300, 620, 1000}) (void)session.sync(std::span(all).first(n));
}

std::filesystem::path saved_conversation(Session& session) {
  converse(session);
  const auto path = forge::test_file("session");
  save_session(path, session, "text");
  return path;
}

TEST(WindowedCache, DoesNotGrowWithTheTimeline) {
  const auto engine = load_tiny();
  Session session(*engine);
  Ids ids = base();
  (void)session.sync(ids);
  for (TokenId id = 0; id < 150; ++id) session.append(id);
  const exec::KvCache& cache = session.cache();
  ASSERT_EQ(cache.window_block_bytes(), 6 * cache.block_bytes()) << "six layers of seven";
  const uint64_t windows = cache.allocated_bytes() - 9 * cache.block_bytes();
  EXPECT_LE(windows, 3 * cache.window_block_bytes()) << "window, margin and what is being written";
  EXPECT_GE(windows, cache.window_block_bytes());
  for (TokenId id = 0; id < 150; ++id) ids.push_back(id);
  EXPECT_EQ(logits_of(session), cold_logits(*engine, ids));
}

TEST(WindowedCache, GivesTheSameLogitsHoweverLittleIsKept) {
  const auto path = forge::test_file("model.gguf");
  tiny_gemma3().write(path);
  const model::Model model = forge::load_model(path);
  forge::ModelRun run(model, 2, 64, kTokens);
  const Ids ids = base();
  exec::KvCache all = run.new_cache(kTokens);
  const std::vector<float> wanted = run.logits(ids, all, 64);
  for (const size_t chunk : {1, 7, 64}) {
    exec::KvCache cache = run.new_cache(0);
    EXPECT_EQ(run.logits(ids, cache, chunk), wanted) << chunk;
    EXPECT_LT(cache.allocated_bytes(), all.allocated_bytes() / 2);
  }
}

TEST(WindowedCache, GoesBackToWhatItStillHasAndSaysSo) {
  const auto engine = load_tiny();
  Session session(*engine);
  converse(session);
  struct Return {
    int64_t to, reused;
  };
  for (const Return back : {Return{1000, 1000}, Return{1000 - kBatch, 1000 - kBatch}, Return{700, 620},
                            Return{500, 300}, Return{300, 300}, Return{250, 0}}) {
    const Ids ids = another_end(back.to);
    EXPECT_EQ(session.reusable(ids), back.reused) << back.to;
    const Session::Synced synced = session.sync(ids);
    EXPECT_EQ(synced.reused, back.reused) << back.to;
    EXPECT_EQ(synced.reused + synced.computed, back.to + 30);
    EXPECT_EQ(logits_of(session), cold_logits(*engine, ids)) << back.to;
  }
}

TEST(WindowedCache, RemembersTheLastTurnsOnly) {
  const auto engine = load_tiny(2700);
  Session session(*engine);
  // Turns of two blocks, of which the second is kept.
  const Ids all = forge::random_tokens(2560, 300, 1);
  for (size_t n = 256; n <= all.size(); n += 256) (void)session.sync(std::span(all).first(n));
  const auto beginning = [&](int64_t n) { return std::span(all).first(static_cast<size_t>(n)); };
  constexpr int64_t kOldest = 2304 - (static_cast<int64_t>(exec::KvCache::kMostMarks) - 1) * 256;
  EXPECT_EQ(session.reusable(beginning(kOldest + 60)), kOldest);
  EXPECT_EQ(session.reusable(beginning(kOldest - 200)), 0);
}

TEST(WindowedCache, IsWrittenToASessionFileAndReadBack) {
  const auto engine = load_tiny();
  Session session(*engine);
  const auto path = saved_conversation(session);
  session.append(7);
  Session restarted(*engine);
  EXPECT_EQ(load_session(path, restarted), "text");
  const uint64_t before = engine->n_forward();
  restarted.append(7);
  EXPECT_EQ(engine->n_forward() - before, 1u);
  EXPECT_EQ(logits_of(restarted), logits_of(session));
  EXPECT_LT(std::filesystem::file_size(path),
            12 * session.cache().block_bytes() + 2 * session.cache().window_block_bytes());
  EXPECT_EQ(restarted.reusable(another_end(500)), 0) << "the marks are not in the file";
}

TEST(WindowedCache, OfALongerSessionCannotBeTakenByAShorterContext) {
  const auto engine = load_tiny();
  Session session(*engine);
  const auto path = saved_conversation(session);
  const auto shorter = load_tiny(600);
  Session into(*shorter);
  EXPECT_EQ(load_session(path, into), "text");
  EXPECT_TRUE(into.tokens().empty()) << "the windows of its beginning are gone";
  const Ids ids = another_end(400);
  EXPECT_EQ(into.sync(ids).reused, 0);
  EXPECT_EQ(logits_of(into), cold_logits(*engine, ids));
}

}  // namespace
}  // namespace lockstep::engine
