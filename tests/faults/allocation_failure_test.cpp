// An allocation that fails, wherever it is: an error comes out, nothing is lost on the way, and what was there before
// still works. Swept over loading a model, an answer, a turn of a conversation and a session file; the whole program is
// in program_allocation_test.cpp.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <optional>
#include <stdexcept>

#include "base/error.h"
#include "chat/conversation.h"
#include "chat/text_stream.h"
#include "engine/generate.h"
#include "engine/scheduler.h"
#include "engine/session_file.h"
#include "exit_status.h"
#include "forge/counting_allocator.h"
#include "forge/tiny_model.h"
#include "out_of_memory.h"
#include "tokenizer/fragment_memory.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using engine::TokenId;
using Ids = std::vector<TokenId>;

fs::path written_model() {
  const fs::path path = forge::test_file("small.gguf");
  forge::TinyModel(forge::smallest_llama()).write(path);
  return path;
}

std::unique_ptr<engine::Engine> load(const fs::path& path, int threads = 2) {
  engine::EngineOptions options;
  options.threads = threads;
  options.ctx_size = 300;
  options.batch_size = 16;
  return engine::Engine::load(path, options);
}

struct Resources {
  int64_t allocations;
  int64_t descriptors;
  friend bool operator==(const Resources&, const Resources&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Resources& r) {
    return out << r.allocations << " allocations, " << r.descriptors << " descriptors";
  }
};

Resources resources_now() {
  int64_t n = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/fd")) ++n;
  return {forge::allocation_counts.live.load(), n};
}

enum class Failing { kOne, kAllFromThere };

// True when the action ended in an error that the program knows how to report.
bool fails(const std::function<void()>& action, int64_t n, Failing failing) {
  forge::allocation_counts.fail_all_after = failing == Failing::kAllFromThere;
  forge::allocation_counts.until_failure = n;
  bool failed = true;
  try {
    action();
    failed = false;
  } catch (const Error&) {
  } catch (const std::bad_alloc&) {
  }
  forge::allocation_counts.until_failure = 0;
  return failed;
}

// What the action allocates once everything that is made once and kept is there.
int64_t allocations_of(const std::function<void()>& action) {
  for (int i = 0; i < 3; ++i) action();
  const int64_t before = forge::allocation_counts.made.load();
  action();
  return forge::allocation_counts.made.load() - before;
}

// Every allocation of `action` fails, alone and with all that follow; after each of the two sweeps, `works` must hold.
void expect_errors_without_loss(const std::function<void()>& action, const std::function<bool()>& works) {
  const int64_t total = allocations_of(action);
  ASSERT_GT(total, 0);
  const Resources resources = resources_now();
  for (const Failing failing : {Failing::kOne, Failing::kAllFromThere}) {
    int64_t n_failed = 0;
    for (int64_t n = 1; n <= total; ++n) {
      n_failed += fails(action, n, failing) ? 1 : 0;
      ASSERT_EQ(resources_now(), resources) << "lost after allocation " << n << " of " << total << " failed";
    }
    EXPECT_GE(n_failed, total * 9 / 10) << "of " << total;  // few places do with less memory when there is none
    EXPECT_TRUE(works());
  }
}

// The JSON library loses the object that it was making from braces, and its destructors take memory and end the
// program when there is none. So where it takes part every failure has a process of its own, with the handler that
// main() installs; what counts is the exit status, and that the action works again where the process has survived.
void expect_exit_statuses(const std::function<void()>& action, const std::function<bool()>& works, int64_t most) {
  constexpr int kSurvived = 0;
  constexpr int kBroken = 3;
  const int64_t total = allocations_of(action);
  const int64_t step = std::max<int64_t>(1, total / most);
  int64_t n_survived = 0;
  int64_t n_tried = 0;
  for (const Failing failing : {Failing::kOne, Failing::kAllFromThere}) {
    for (int64_t n = 1; n <= total; n += step, ++n_tried) {
      const pid_t child = ::fork();
      if (child == 0) {
        install_out_of_memory_handler();
        (void)fails(action, n, failing);
        ::_exit(works() ? kSurvived : kBroken);
      }
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status) << " after allocation " << n << " of " << total;
      ASSERT_TRUE(WEXITSTATUS(status) == kSurvived || WEXITSTATUS(status) == kExitFailed)
          << "status " << WEXITSTATUS(status) << " after allocation " << n << " of " << total;
      n_survived += WEXITSTATUS(status) == kSurvived ? 1 : 0;
    }
  }
  EXPECT_GT(n_survived, n_tried / 2);
}

// Standard error of a sweep is of no interest.
class SilentErrors {
 public:
  SilentErrors() : kept_(::dup(STDERR_FILENO)) {
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ::dup2(nowhere, STDERR_FILENO);
    ::close(nowhere);
  }
  ~SilentErrors() {
    ::dup2(kept_, STDERR_FILENO);
    ::close(kept_);
  }
  SilentErrors(const SilentErrors&) = delete;
  SilentErrors& operator=(const SilentErrors&) = delete;

 private:
  int kept_;
};

Ids ids_of(engine::Engine& engine, engine::Session& session, const Ids& prompt) {
  engine::GenerateOptions options;
  options.n_predict = 8;
  options.ignore_eos = true;
  options.logprobs = 2;
  options.sampling.seed = 7;
  options.sampling.dry_multiplier = 0.5f;
  return engine::generate(session, engine, prompt, options).ids;
}

TEST(AllocationFailure, WhileAModelIsLoadedIsAnError) {
  const fs::path path = written_model();
  const auto load_it = [&] { return load(path)->n_vocab() == 300; };
  expect_errors_without_loss([&] { (void)load_it(); }, load_it);
}

TEST(AllocationFailure, OfAnAnswerLeavesTheEngineAsItWas) {
  const auto engine = load(written_model());
  const Ids prompt = forge::random_tokens(40, 300, 3);
  const auto answer = [&] {
    engine::Session session(*engine);
    return ids_of(*engine, session, prompt);
  };
  const Ids wanted = answer();
  expect_errors_without_loss([&] { (void)answer(); }, [&] { return answer() == wanted; });
}

// One request without its memory fails alone: what the others get is right.
TEST(AllocationFailure, OfRequestsThatShareABatchLeavesTheEngineAsItWas) {
  const auto engine = load(written_model());
  std::array<Ids, 3> wanted;
  const auto serve = [&] {
    std::array<std::optional<Ids>, 3> got;
    engine::Scheduler scheduler(*engine, 2);
    for (size_t i = 0; i < got.size(); ++i) {
      engine::GenerateOptions options;
      options.n_predict = 4;
      options.sampling.seed = i;
      scheduler.submit({forge::random_tokens(9, 300, i), options, {}, [&got, i](const auto& result) {
                          if (const auto* done = std::get_if<engine::Generated>(&result)) got[i] = done->ids;
                        }});
    }
    scheduler.run();
    for (size_t i = 0; i < got.size(); ++i) {
      if (got[i] && !wanted[i].empty() && *got[i] != wanted[i]) throw std::logic_error("another answer");
    }
    if (std::ranges::any_of(got, [](const auto& ids) { return !ids; })) throw std::bad_alloc();
    return got;
  };
  const auto first = serve();
  for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = *first[i];
  expect_errors_without_loss([&] { (void)serve(); }, [&] { return serve() == first; });
}

// The session, its cache and the fragments' ids are those of the turn before: a turn that failed must not spoil the
// next.
TEST(AllocationFailure, OfATurnLeavesTheConversationAsItWas) {
  const auto engine = load(written_model(), 1);  // a forked process has no other thread
  const chat::PromptBuilder builder(
      engine->tokenizer(),
      chat::ChatTemplate("{% for m in messages %}{{ m.role }}: {{ m.content }}</s>{% endfor %}assistant: "));
  engine::Session session(*engine);
  tokenizer::FragmentMemory memory, memory_before;
  chat::Conversation begun;
  begun.ask("one");
  constexpr std::string_view kNow = "2026-01-02T03:04:05";
  (void)builder.build(begun.prompt_input(), kNow, memory_before);
  begun.answer("two");
  Ids prompt, ids;
  const auto turn = [&] {
    chat::Conversation conversation = begun;
    conversation.ask("three");
    prompt = chat::next_prompt(conversation, builder, kNow, {engine->ctx_size(), 8}, memory).prompt.ids;
    ids = ids_of(*engine, session, prompt);
    conversation.answer(chat::answer_text(engine->tokenizer(), ids, {"stop"}));
  };
  turn();
  const Ids wanted_prompt = prompt;
  const Ids wanted = ids;
  const SilentErrors silent;
  expect_exit_statuses(
      [&] {
        memory = memory_before;
        turn();
      },
      [&] {
        turn();
        return prompt == wanted_prompt && ids == wanted;
      },
      1000);
}

TEST(AllocationFailure, WhileASessionIsSavedKeepsTheOldFile) {
  const fs::path path = forge::test_file("session");
  const auto engine = load(written_model());
  engine::Session session(*engine);
  (void)session.sync(forge::random_tokens(200, 300, 3));
  engine::save_session(path, session, "old");
  engine::Session other(*engine);
  const auto whole = [&] { return engine::load_session(path, other) == "old" && other.tokens().size() == 200; };
  expect_errors_without_loss([&] { engine::save_session(path, session, "old"); }, whole);
  EXPECT_EQ(std::distance(fs::directory_iterator(path.parent_path()), {}), 2) << "an incomplete file was left";
}

TEST(AllocationFailure, WhileASessionIsLoadedLeavesTheSessionAsItWas) {
  const fs::path path = forge::test_file("session");
  const auto engine = load(written_model());
  engine::Session session(*engine);
  const Ids prompt = forge::random_tokens(200, 300, 3);
  (void)session.sync(prompt);
  engine::save_session(path, session, "the text of the session, longer than a short string");
  const auto unchanged = [&] { return std::ranges::equal(session.tokens(), prompt); };
  expect_errors_without_loss([&] { (void)engine::load_session(path, session); }, unchanged);
}

}  // namespace
}  // namespace lockstep
