// Engines at work at the same time in one process, each with a team of threads and several sessions: they share nothing
// but what is never written. What the thread sanitizer has to look at.
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "engine/scheduler.h"
#include "forge/load_engine.h"
#include "forge/tiny_model.h"

namespace lockstep::engine {
namespace {

constexpr int64_t kSessions = 3;
constexpr int64_t kTokens = 8;

using Answers = std::vector<std::vector<TokenId>>;

// Loads the model and lets kSessions sessions answer in shared passes.
Answers load_and_answer(const std::filesystem::path& path) {
  EngineOptions options;
  options.threads = 2;
  options.ctx_size = 64;
  options.batch_size = 8;
  const auto engine = Engine::load(path, options);
  GenerateOptions greedy;
  greedy.sampling.temp = 0;
  greedy.n_predict = kTokens;
  greedy.ignore_eos = true;
  Answers answers(kSessions);
  Scheduler scheduler(*engine, kSessions);
  for (size_t i = 0; i < answers.size(); ++i) {
    const auto keep = [&answers, i](std::variant<Generated, Error> answer) {
      if (std::holds_alternative<Generated>(answer)) answers[i] = std::get<Generated>(answer).ids;
    };
    scheduler.submit({forge::random_tokens(5 + static_cast<int64_t>(i), 300, i), greedy, {}, keep});
  }
  scheduler.run();
  return answers;
}

TEST(ConcurrentEngines, AnswerAsOneAloneDoes) {
  forge::TinyShape shape = forge::tiny_llama();
  shape.n_layers = 1;
  shape.types = {quant::TensorType::kQ4_0, quant::TensorType::kQ8_0};
  const std::filesystem::path path = forge::test_file("tiny.gguf");
  forge::TinyModel(shape).write(path);

  const Answers wanted = load_and_answer(path);
  for (const auto& answer : wanted) ASSERT_EQ(static_cast<int64_t>(answer.size()), kTokens);
  std::array<Answers, 2> got;
  std::array<std::thread, 2> users;
  for (size_t i = 0; i < users.size(); ++i) users[i] = std::thread([&, i] { got[i] = load_and_answer(path); });
  for (std::thread& user : users) user.join();
  for (const Answers& answers : got) EXPECT_EQ(answers, wanted);
}

}  // namespace
}  // namespace lockstep::engine
