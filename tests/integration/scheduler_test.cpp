// Many requests in shared forward passes: each has the answer of its run alone, and whoever fails, fails alone (B35,
// B36, B47).
#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "forge/load_engine.h"
#include "forge/tiny_model.h"

namespace lockstep::engine {
namespace {

constexpr int64_t kContext = 200;
constexpr int64_t kBatch = 24;
constexpr int64_t kVocab = 300;
constexpr TokenId kPoison = 17;  // in poisoned models its activations are infinite

using Prompt = std::vector<TokenId>;
using Answer = std::variant<Generated, Error>;

void set_f32(forge::TinyModel& tiny, const std::string& name, int64_t i, float value) {
  std::memcpy(&tiny.tensor(name).data[static_cast<size_t>(i) * sizeof(value)], &value, sizeof(value));
}

// Only kPoison has something in the column that the norm's weight makes infinite.
void poison(forge::TinyModel& tiny) {
  constexpr int64_t kColumn = 7;
  for (int64_t token = 0; token < kVocab; ++token) {
    set_f32(tiny, "token_embd.weight", token * tiny.shape().n_embd + kColumn, token == kPoison ? 100.0f : 0.0f);
  }
  set_f32(tiny, "blk.0.attn_norm.weight", kColumn, 3e38f);
}

std::unique_ptr<Engine> load_tiny(bool poisoned = false, int threads = 2) {
  forge::TinyShape shape = forge::tiny_llama();
  shape.n_layers = 2;
  shape.types = {quant::TensorType::kF32, quant::TensorType::kQ4_0, quant::TensorType::kQ8_0};
  forge::TinyModel tiny(shape);
  if (poisoned) poison(tiny);
  EngineOptions options;
  options.threads = threads;
  options.ctx_size = kContext;
  options.batch_size = kBatch;
  return forge::load_engine(tiny, "tiny.gguf", options);
}

struct Task {
  Prompt prompt;
  GenerateOptions options;
};

GenerateOptions greedy(int64_t n_predict) {
  GenerateOptions options;
  options.sampling.temp = 0;
  options.n_predict = n_predict;
  options.ignore_eos = true;
  return options;
}

GenerateOptions seeded(int64_t n_predict, uint64_t seed) {
  GenerateOptions options = greedy(n_predict);
  options.sampling.temp = 1;
  options.sampling.top_k = 0;
  options.sampling.top_p = 1;
  options.sampling.min_p = 0;
  options.sampling.seed = seed;
  return options;
}

// Never kPoison.
Prompt random_prompt(int64_t n, uint64_t seed) {
  Prompt prompt = forge::random_tokens(n, kVocab, seed);
  std::ranges::replace(prompt, kPoison, kPoison + 1);
  return prompt;
}

// Prompts of very different lengths around the batch size and the block of the KV cache, of which every second one
// begins as others do; every count with both ways to choose.
std::vector<Task> unlike_tasks() {
  const Prompt shared = random_prompt(150, 1);
  const int64_t lengths[] = {1, 2, 150, kBatch - 1, 7, kBatch, 130, kBatch + 1, 3, 60, 128, 1, 5};
  const int64_t counts[] = {5, 40, 1, 0, 5};
  std::vector<Task> tasks;
  for (const int64_t n : lengths) {
    const auto i = static_cast<uint64_t>(tasks.size());
    Prompt prompt = random_prompt(n, 100 + i);
    if (i % 2 == 0) std::copy_n(shared.begin(), (n + 1) / 2, prompt.begin());
    const int64_t count = counts[i % 5];
    tasks.push_back({prompt, i % 3 == 0 ? seeded(count, i) : greedy(count)});
  }
  return tasks;
}

Generated alone(Engine& engine, const Task& task) {
  Session session(engine);
  return generate(session, engine, task.prompt, task.options);
}

// The answers of a scheduler, in the order of the tasks. Each must come once.
std::vector<Answer> together(Engine& engine, int64_t n_slots, const std::vector<Task>& tasks) {
  std::vector<std::optional<Answer>> got(tasks.size());
  Scheduler scheduler(engine, n_slots);
  for (size_t i = 0; i < tasks.size(); ++i) {
    scheduler.submit({tasks[i].prompt, tasks[i].options, {}, [&got, i](Answer answer) {
                        EXPECT_FALSE(got[i].has_value()) << "answered twice: " << i;
                        got[i] = std::move(answer);
                      }});
  }
  scheduler.run();
  std::vector<Answer> answers;
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_TRUE(got[i].has_value()) << "not answered: " << i;
    answers.push_back(got[i].value_or(Error(ErrorCode::kIo, "not answered")));
  }
  return answers;
}

void expect_answer(const Answer& answer, const Generated& wanted, const std::string& of) {
  ASSERT_TRUE(std::holds_alternative<Generated>(answer)) << of << ": " << std::get<Error>(answer).what();
  const Generated& got = std::get<Generated>(answer);
  EXPECT_EQ(got.ids, wanted.ids) << of;
  EXPECT_EQ(got.finish, wanted.finish) << of;
  EXPECT_EQ(got.prompt.reused + got.prompt.computed, wanted.prompt.reused + wanted.prompt.computed) << of;
}

void expect_error(const Answer& answer, ErrorCode code, const std::string& words) {
  ASSERT_TRUE(std::holds_alternative<Error>(answer)) << "answered, expected: " << words;
  EXPECT_EQ(std::get<Error>(answer).code(), code);
  EXPECT_NE(std::string(std::get<Error>(answer).what()).find(words), std::string::npos)
      << std::get<Error>(answer).what();
}

TEST(Scheduler, AnswersAreThoseOfRunsAloneWhateverTheNumberOfSlots) {
  const std::vector<Task> tasks = unlike_tasks();
  const auto engine = load_tiny();
  std::vector<Generated> wanted;
  std::set<Prompt> different;
  for (const Task& task : tasks) {
    wanted.push_back(alone(*engine, task));
    ASSERT_EQ(static_cast<int64_t>(wanted.back().ids.size()), task.options.n_predict);
    different.insert(wanted.back().ids);
  }
  ASSERT_GE(different.size(), tasks.size() / 2) << "answers that could not be told apart";
  for (const int threads : {1, 3}) {
    const auto other = load_tiny(false, threads);
    for (const int64_t n_slots : {1, 2, 3, 8, 24}) {
      const std::vector<Answer> answers = together(*other, n_slots, tasks);
      for (size_t i = 0; i < tasks.size(); ++i) {
        expect_answer(answers[i], wanted[i], fmt::format("request {}, {} slots, {} threads", i, n_slots, threads));
      }
    }
  }
}

TEST(Scheduler, EightEqualRequestsHaveEqualAnswers) {
  const auto engine = load_tiny();
  for (const GenerateOptions& options : {greedy(20), seeded(20, 7)}) {
    const Task task = {random_prompt(30, 5), options};
    const Generated wanted = alone(*engine, task);
    for (const Answer& answer : together(*engine, 8, std::vector<Task>(8, task)))
      expect_answer(answer, wanted, "equal");
  }
}

TEST(Scheduler, EightEqualRequestsAmongUnlikeNeighboursHaveTheAnswerOfARunAlone) {
  const auto engine = load_tiny();
  const Task equal = {random_prompt(30, 5), greedy(20)};
  const Generated wanted = alone(*engine, equal);
  std::vector<Task> tasks;
  std::vector<size_t> places;
  for (const Task& neighbour : unlike_tasks()) {
    if (places.size() < 8) {
      places.push_back(tasks.size());
      tasks.push_back(equal);
    }
    tasks.push_back(neighbour);
  }
  ASSERT_EQ(places.size(), 8u);
  const std::vector<Answer> answers = together(*engine, static_cast<int64_t>(tasks.size()), tasks);
  for (const size_t i : places) expect_answer(answers[i], wanted, fmt::format("request {}", i));
}

// Chains with a history, a state or a draw of their own, in the middle of others.
std::vector<Task> tasks_of_every_stage() {
  std::vector<Task> tasks;
  for (uint64_t i = 0; i < 9; ++i) {
    GenerateOptions options = seeded(25, 40 + i / 3);
    sampling::SamplingParams& chain = options.sampling;
    chain.temp = 1.3f;
    switch (i % 3) {
      case 0:
        chain.top_k = 40;
        chain.top_p = 0.95f;
        chain.min_p = 0.01f;
        break;
      case 1:
        chain.mirostat = i < 3 ? 1 : 2;
        break;
      default:
        chain.repeat_penalty = 1.2f;
        chain.presence_penalty = 0.3f;
        chain.dry_multiplier = 0.8f;
        chain.dry_breakers = {{3}};
        chain.top_n_sigma = 3;
        chain.typical = 0.95f;
        chain.xtc_probability = 0.5f;
        chain.xtc_threshold = 0.02f;
        chain.dynatemp_range = 0.4f;
        chain.logit_bias.push_back({9, 1.0f});
    }
    tasks.push_back({random_prompt(static_cast<int64_t>(3 + 17 * i % 60), i / 2), options});
  }
  return tasks;
}

TEST(Scheduler, TheSameSeedGivesTheSameTokensWithEveryStageUnderAnyLoad) {
  const std::vector<Task> tasks = tasks_of_every_stage();
  const auto engine = load_tiny();
  std::vector<Generated> wanted;
  std::set<Prompt> different;
  for (const Task& task : tasks) {
    wanted.push_back(alone(*engine, task));
    different.insert(wanted.back().ids);
  }
  ASSERT_EQ(different.size(), tasks.size()) << "answers that could not be told apart";
  std::vector<Task> crowd = unlike_tasks();
  crowd.insert(crowd.begin() + 4, tasks.begin(), tasks.end());
  for (const int64_t n_slots : {1, 3, 9, 24}) {
    const std::vector<Answer> answers = together(*engine, n_slots, crowd);
    for (size_t i = 0; i < tasks.size(); ++i) {
      expect_answer(answers[4 + i], wanted[i], fmt::format("request {}, {} slots", i, n_slots));
    }
  }
}

TEST(Scheduler, RequestsShareForwardPasses) {
  const auto engine = load_tiny();
  const std::vector<Task> tasks(8, {random_prompt(3, 5), greedy(30)});
  const uint64_t before = engine->n_forward();
  (void)together(*engine, 8, tasks);
  // 24 rows of prompts fit one pass; the 30th token needs no pass of its own.
  EXPECT_EQ(engine->n_forward() - before, 30u);
}

TEST(Scheduler, WhoeverFailsFailsAlone) {
  const auto engine = load_tiny(true);
  std::vector<Task> tasks;
  const auto add_good = [&tasks](uint64_t seed) {
    tasks.push_back({random_prompt(static_cast<int64_t>(5 + seed % 50), seed), greedy(12)});
    tasks.back().options.sampling.logit_bias.push_back({kPoison, -std::numeric_limits<float>::infinity()});
  };
  const auto add_bad = [&](Prompt prompt, const GenerateOptions& options) {
    tasks.push_back({std::move(prompt), options});
    add_good(tasks.size() * 11);
  };
  add_good(3);
  add_bad(random_prompt(kContext + 1, 1), greedy(5));
  add_bad({5, kVocab, 6}, greedy(5));
  add_bad({5, -1}, greedy(5));
  add_bad({}, greedy(5));
  GenerateOptions impossible = greedy(5);
  for (TokenId id = 0; id < kVocab; ++id) {
    impossible.sampling.logit_bias.push_back({id, -std::numeric_limits<float>::infinity()});
  }
  add_bad(random_prompt(9, 2), impossible);
  GenerateOptions out_of_range = greedy(5);
  out_of_range.sampling.min_p = 2;
  add_bad(random_prompt(9, 2), out_of_range);
  add_bad(random_prompt(9, 2), greedy(-2));
  Prompt poisoned = random_prompt(60, 3);
  poisoned[40] = kPoison;  // in the second pass at the earliest
  add_bad(poisoned, greedy(5));
  const std::tuple<ErrorCode, std::string> wanted[] = {
      {ErrorCode::kContextFull, "201 tokens do not fit the context of 200"},
      {ErrorCode::kBadRequest, "token id 300 at position 1"},
      {ErrorCode::kBadRequest, "token id -1 at position 1"},
      {ErrorCode::kBadRequest, "the prompt is empty"},
      {ErrorCode::kBadRequest, "option logit_bias"},
      {ErrorCode::kBadRequest, "min_p"},
      {ErrorCode::kBadRequest, "n_predict -2"},
      {ErrorCode::kNotFinite, "attn_norm-0"}};
  for (const int64_t n_slots : {1, 2, 3, 8, 17}) {
    const std::vector<Answer> answers = together(*engine, n_slots, tasks);
    for (size_t i = 0; i < tasks.size(); ++i) {
      const std::string of = fmt::format("request {}, {} slots", i, n_slots);
      SCOPED_TRACE(of);
      if (i % 2 == 0) {
        expect_answer(answers[i], alone(*engine, tasks[i]), of);
      } else {
        const auto& [code, words] = wanted[i / 2];
        expect_error(answers[i], code, words);
      }
    }
  }
}

// A slot whose request failed in the middle serves the next one as a new slot would.
TEST(Scheduler, ASlotIsGoodAgainAfterItsRequestFailed) {
  const auto engine = load_tiny(true);
  const Prompt prompt = random_prompt(60, 3);
  Task bad = {prompt, greedy(5)};
  bad.prompt[40] = kPoison;
  Task good = {prompt, greedy(12)};
  good.options.sampling.logit_bias.push_back({kPoison, -std::numeric_limits<float>::infinity()});
  const Generated wanted = alone(*engine, good);
  const std::vector<Answer> answers = together(*engine, 1, {bad, good, bad, good});
  expect_error(answers[0], ErrorCode::kNotFinite, "attn_norm-0");
  expect_answer(answers[1], wanted, "first");
  expect_error(answers[2], ErrorCode::kNotFinite, "attn_norm-0");
  expect_answer(answers[3], wanted, "second");
}

TEST(Scheduler, AnAnswerEndsWhenItsReceiverSaysSo) {
  const auto engine = load_tiny();
  const std::vector<Task> tasks = unlike_tasks();
  for (const int64_t n_slots : {1, 3}) {
    Scheduler scheduler(*engine, n_slots);
    const Task cancelled = {random_prompt(40, 8), greedy(40)};
    Generated wanted = alone(*engine, cancelled);
    wanted.ids.resize(3);
    wanted.finish = FinishReason::kCancelled;
    std::vector<Answer> answers;
    Prompt seen;
    const auto receive = [&seen](TokenId id) {
      seen.push_back(id);
      return seen.size() < 3 ? std::nullopt : std::optional(FinishReason::kCancelled);
    };
    std::optional<Answer> neighbour;
    scheduler.submit(
        {cancelled.prompt, cancelled.options, receive, [&](Answer a) { answers.push_back(std::move(a)); }});
    scheduler.submit({tasks[1].prompt, tasks[1].options, {}, [&](Answer a) { neighbour = std::move(a); }});
    scheduler.run();
    ASSERT_EQ(answers.size(), 1u);
    expect_answer(answers[0], wanted, "cancelled");
    EXPECT_EQ(seen, wanted.ids);
    ASSERT_TRUE(neighbour.has_value());
    expect_answer(*neighbour, alone(*engine, tasks[1]), "neighbour");
  }
}

TEST(Scheduler, TheEndOfTheContextEndsAnAnswer) {
  const auto engine = load_tiny();
  const std::vector<Task> tasks = {{random_prompt(kContext, 1), greedy(-1)},
                                   {random_prompt(kContext - 1, 2), greedy(40)},
                                   {random_prompt(kContext - 30, 3), seeded(-1, 3)}};
  const std::vector<Answer> answers = together(*engine, 3, tasks);
  const size_t wanted[] = {1, 2, 31};
  for (size_t i = 0; i < 3; ++i) {
    expect_answer(answers[i], alone(*engine, tasks[i]), fmt::format("request {}", i));
    EXPECT_EQ(std::get<Generated>(answers[i]).ids.size(), wanted[i]);
  }
}

TEST(Scheduler, RequestsMayComeWhileOthersAreServed) {
  const auto engine = load_tiny();
  const std::vector<Task> tasks = unlike_tasks();
  Scheduler scheduler(*engine, 3);
  std::vector<std::optional<Answer>> got(tasks.size());
  size_t next = 0;
  const std::function<void()> submit = [&] {
    if (next == tasks.size()) return;
    const size_t i = next++;
    scheduler.submit({tasks[i].prompt, tasks[i].options, {}, [&, i](Answer answer) {
                        got[i] = std::move(answer);
                        submit();  // from within the callback
                      }});
  };
  for (int pass = 0; pass < 4; ++pass) {
    submit();
    (void)scheduler.step();
  }
  scheduler.run();
  for (size_t i = 0; i < tasks.size(); ++i) {
    ASSERT_TRUE(got[i].has_value()) << i;
    expect_answer(*got[i], alone(*engine, tasks[i]), fmt::format("request {}", i));
  }
}

TEST(Scheduler, TheNumberOfSlotsIsChecked) {
  const auto engine = load_tiny();
  for (const int64_t n_slots : {int64_t{0}, int64_t{-1}, engine->max_logits() + 1}) {
    try {
      const Scheduler scheduler(*engine, n_slots);
      ADD_FAILURE() << n_slots;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(fmt::format("parallel {}", n_slots)), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace lockstep::engine
