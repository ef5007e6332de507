// Does a conversation stay as quick as it began? Time from a question to the first token of its answer, of the 10th
// turn against the 2nd: with the cache kept, only what is new is computed. `make bench-turns`; the limit is 1.3 times.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <optional>

#include "base/error.h"
#include "chat/conversation.h"
#include "chat/text_stream.h"
#include "engine/generate.h"
#include "tokenizer/fragment_memory.h"

namespace lockstep {
namespace {

constexpr int kTurns = 10;
constexpr int kEarlyTurn = 2;
constexpr int kRuns = 5;
constexpr int64_t kAnswerTokens = 50;
constexpr double kLimit = 1.3;
// With what the template of SmolLM2 puts around it: 20 new tokens.
constexpr const char* kQuestion = "Tell me one more thing about the town";

struct Turn {
  double first_token_ms;
  double prompt_ms;  // of it, for the chat template and the tokenizer
  int64_t n_new;
  int64_t n_reused;
};

// The time is that of everything a question goes through: template, tokenizer, forward pass, choice.
Turn take_turn(engine::Engine& engine, engine::Session& session, const chat::PromptBuilder& builder,
               chat::Conversation& conversation, tokenizer::FragmentMemory& memory) {
  using Clock = std::chrono::steady_clock;
  engine::GenerateOptions options;
  options.n_predict = kAnswerTokens;
  options.ignore_eos = true;
  options.sampling.temp = 0;
  const Clock::time_point start = Clock::now();
  std::optional<Clock::time_point> first;
  conversation.ask(kQuestion);
  const chat::NextPrompt next =
      chat::next_prompt(conversation, builder, "2026-01-02T03:04:05", {engine.ctx_size(), kAnswerTokens}, memory);
  const Clock::time_point prompted = Clock::now();
  const engine::Generated generated = engine::generate(session, engine, next.prompt.ids, options,
                                                       [&](engine::TokenId) -> std::optional<engine::FinishReason> {
                                                         if (!first) first = Clock::now();
                                                         return std::nullopt;
                                                       });
  conversation.answer(chat::answer_text(engine.tokenizer(), generated.ids, {}));
  const auto ms = [start](Clock::time_point end) {
    return std::chrono::duration<double, std::milli>(end - start).count();
  };
  return {ms(*first), ms(prompted), generated.prompt.computed, generated.prompt.reused};
}

std::array<Turn, kTurns> converse(engine::Engine& engine, const chat::PromptBuilder& builder) {
  engine::Session session(engine);
  chat::Conversation conversation;
  tokenizer::FragmentMemory memory;
  std::array<Turn, kTurns> turns = {};
  for (Turn& turn : turns) {
    turn = take_turn(engine, session, builder, conversation, memory);
    session.commit_ahead();  // as `run` does while the user types
  }
  return turns;
}

double median(std::array<double, kRuns> values) {
  std::ranges::sort(values);
  return values[kRuns / 2];
}

int measure(const char* path, int threads) {
  engine::EngineOptions options;
  options.threads = threads;
  options.ctx_size = 2048;
  const auto engine = engine::Engine::load(path, options);
  const chat::PromptBuilder builder(engine->tokenizer(), chat::template_of_file(engine->tokenizer(), "", false));
  std::array<double, kRuns> early = {};
  std::array<double, kRuns> late = {};
  for (int run = 0; run < kRuns; ++run) {
    const auto turns = converse(*engine, builder);
    const Turn& second = turns[kEarlyTurn - 1];
    const Turn& last = turns[kTurns - 1];
    early[static_cast<size_t>(run)] = second.first_token_ms;
    late[static_cast<size_t>(run)] = last.first_token_ms;
    fmt::print(
        "run {}: turn {} {:.2f} ms ({} new, {} reused, prompt {:.2f} ms), turn {} {:.2f} ms ({} new, {} reused, prompt "
        "{:.2f} ms)\n",
        run + 1, kEarlyTurn, second.first_token_ms, second.n_new, second.n_reused, second.prompt_ms, kTurns,
        last.first_token_ms, last.n_new, last.n_reused, last.prompt_ms);
  }
  const double ratio = median(late) / median(early);
  fmt::print("{} threads, median of {}: {:.2f} ms and {:.2f} ms, {:.3f} times; limit {}\n", engine->threads(), kRuns,
             median(early), median(late), ratio, kLimit);
  return ratio <= kLimit ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    fmt::print(stderr, "expected MODEL [THREADS]\n");
    return 2;
  }
  try {
    return lockstep::measure(argv[1], argc == 3 ? std::atoi(argv[2]) : 0);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return EXIT_FAILURE;
  }
}
