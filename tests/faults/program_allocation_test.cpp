// An allocation that fails anywhere in the program, from the command line to the last byte: the process ends with the
// exit status and the one line of every other error, and files that it was to replace are the old or the new ones.
// Every failure has a process of its own, with the handler that main() installs, and nothing but that between the
// program and the system.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>

#include "base/file.h"
#include "exit_status.h"
#include "forge/allocation_counts.h"
#include "forge/tiny_model.h"
#include "out_of_memory.h"
#include "program.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

enum class Failing { kNone, kOne, kAllFromThere };

struct Command {
  std::vector<std::string> arguments;
  int64_t own = 300;       // so many allocations, the last, are tried each
  int64_t stride = 97;     // and those before, which every command makes, in steps of a prime
  std::string input = {};  // of standard input
  fs::path replaces = {};  // a file of which the old content must stand until the new is whole
};

struct Ended {
  int status;  // as waitpid() gives it
  std::string out;
  std::string errors;
  int64_t allocations;
};

// Memory that a child leaves its count in.
class SharedCount {
 public:
  SharedCount()
      : count_(static_cast<int64_t*>(
            ::mmap(nullptr, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    if (count_ == MAP_FAILED) throw std::runtime_error("no shared memory");
  }
  ~SharedCount() { ::munmap(count_, sizeof(int64_t)); }
  SharedCount(const SharedCount&) = delete;
  SharedCount& operator=(const SharedCount&) = delete;
  int64_t& operator*() const { return *count_; }

 private:
  int64_t* count_;
};

using Stream = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

Stream temporary_file() {
  return {std::tmpfile(), &std::fclose};
}

std::string content(const Stream& file) {
  std::string text(static_cast<size_t>(::lseek(fileno(file.get()), 0, SEEK_END)), '\0');
  EXPECT_EQ(::pread(fileno(file.get()), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  return text;
}

std::string content(const fs::path& path) {
  return fs::exists(path) ? read_text_file(path) : std::string();
}

// What main() does, and no more: whatever leaves run_program ends in the terminate handler, as it does there.
[[noreturn]] void be_main(const std::vector<const char*>& argv, std::FILE* out, int64_t n, Failing failing,
                          int64_t& allocations) noexcept {
  install_out_of_memory_handler();
  forge::allocation_counts.made = 0;
  forge::allocation_counts.fail_all_after = failing == Failing::kAllFromThere;
  forge::allocation_counts.until_failure = failing == Failing::kNone ? 0 : n;
  const int status = run_program(static_cast<int>(argv.size()), argv.data(), out);
  allocations = forge::allocation_counts.made;
  ::_exit(status);
}

Ended run(const Command& command, int64_t n, Failing failing) {
  const Stream in = temporary_file();
  const Stream out = temporary_file();
  const Stream errors = temporary_file();
  const SharedCount allocations;
  EXPECT_EQ(::pwrite(fileno(in.get()), command.input.data(), command.input.size(), 0),
            static_cast<ssize_t>(command.input.size()));
  std::vector<const char*> argv = {"lockstep"};
  for (const std::string& argument : command.arguments) argv.push_back(argument.c_str());
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(fileno(in.get()), STDIN_FILENO);
    ::dup2(fileno(errors.get()), STDERR_FILENO);
    be_main(argv, out.get(), n, failing, *allocations);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return {status, content(out), content(errors), *allocations};
}

// What may differ between two runs.
std::string without_times(const std::string& text) {
  static const std::regex kTimes(R"re("timings":\{[^}]*\})re");
  return std::regex_replace(text, kTimes, "");
}

std::vector<std::string> error_lines(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("lockstep: error: ")) found.push_back(line);
  return found;
}

// Requests of several lines are answered one by one, with an error in the place of the one that failed.
bool is_answered_line_by_line(const Command& command) {
  return !command.input.empty();
}

void expect_the_answer(const Ended& ended, const Ended& wanted) {
  EXPECT_EQ(without_times(ended.out), without_times(wanted.out));
  EXPECT_TRUE(error_lines(ended.errors).empty()) << ended.errors;
}

// Every line of the answer is the right one, or says that there was no memory.
void expect_failed_requests(const Ended& ended, const Ended& wanted) {
  std::istringstream lines(without_times(ended.out)), wanted_lines(without_times(wanted.out));
  std::string line, wanted_line;
  bool any_failed = false;
  while (std::getline(lines, line)) {
    ASSERT_TRUE(std::getline(wanted_lines, wanted_line));
    if (line == wanted_line) continue;
    EXPECT_TRUE(line.starts_with(R"({"error":{"code":"no_memory")")) << line;
    any_failed = true;
  }
  EXPECT_TRUE(any_failed);
  EXPECT_FALSE(std::getline(wanted_lines, wanted_line)) << wanted_line;
}

void expect_one_error(const Ended& ended) {
  const std::vector<std::string> errors = error_lines(ended.errors);
  ASSERT_EQ(errors.size(), 1u) << ended.errors;
  EXPECT_NE(errors.front().find("memory"), std::string::npos) << ended.errors;
  EXPECT_TRUE(ended.errors.ends_with(errors.front() + "\n")) << ended.errors;
}

void expect_orderly_end(const Command& command, const Ended& ended, const Ended& wanted) {
  ASSERT_TRUE(WIFEXITED(ended.status)) << "signal " << WTERMSIG(ended.status) << ": " << ended.errors;
  const int status = WEXITSTATUS(ended.status);
  if (status == kExitDone) {
    expect_the_answer(ended, wanted);
    return;
  }
  ASSERT_EQ(status, kExitFailed) << ended.errors;
  if (is_answered_line_by_line(command) && error_lines(ended.errors).empty()) {
    expect_failed_requests(ended, wanted);
  } else {
    expect_one_error(ended);
  }
}

int64_t files_beside(const fs::path& path) {
  return std::distance(fs::directory_iterator(path.parent_path()), {});
}

// A file that is replaced: what it was before every run, and what it is after one that succeeds.
struct Versions {
  std::string before, after;
};

class Sweep {
 public:
  explicit Sweep(const Command& command) : command_(command) {
    versions_.before = content(command.replaces);
    wanted_ = run(command_, 0, Failing::kNone);
    versions_.after = content(command.replaces);
  }

  void all() {
    ASSERT_TRUE(WIFEXITED(wanted_.status));
    ASSERT_EQ(WEXITSTATUS(wanted_.status), kExitDone) << wanted_.errors;
    ASSERT_GT(wanted_.allocations, 0);
    const int64_t n_files = command_.replaces.empty() ? 0 : files_beside(command_.replaces);
    for (const Failing failing : {Failing::kOne, Failing::kAllFromThere}) {
      for (int64_t n = 1; n <= wanted_.allocations; n += step_from(n)) {
        SCOPED_TRACE(command_.arguments[0] + ": allocation " + std::to_string(n) + " of " +
                     std::to_string(wanted_.allocations) + (failing == Failing::kOne ? "" : " and all after it"));
        one(n, failing);
        if (!command_.replaces.empty()) {
          EXPECT_EQ(files_beside(command_.replaces), n_files);
        }
        if (testing::Test::HasFailure()) return;
      }
    }
    EXPECT_GE(n_failed_ * 10, n_tried_ * 9) << "of " << n_tried_;  // few places do with less memory when there is none
  }

 private:
  [[nodiscard]] int64_t step_from(int64_t n) const {
    return std::clamp<int64_t>(wanted_.allocations - command_.own - n, 1, command_.stride);
  }

  void one(int64_t n, Failing failing) {
    if (!command_.replaces.empty()) std::ofstream(command_.replaces, std::ios::binary) << versions_.before;
    const Ended ended = run(command_, n, failing);
    expect_orderly_end(command_, ended, wanted_);
    ++n_tried_;
    const bool failed = ended.status != 0;
    n_failed_ += failed ? 1 : 0;
    if (command_.replaces.empty()) return;
    const std::string now = content(command_.replaces);
    EXPECT_TRUE(now == versions_.after || (failed && now == versions_.before)) << "neither the old file nor the new";
  }

  const Command& command_;
  Versions versions_;
  Ended wanted_;
  int64_t n_tried_ = 0;
  int64_t n_failed_ = 0;
};

void sweep(const Command& command) {
  Sweep(command).all();
}

std::string written(const std::string& name, const std::string& text) {
  const fs::path path = forge::test_file(name);
  std::ofstream(path, std::ios::binary) << text;
  return path.string();
}

class ProgramWithoutMemory : public testing::Test {
 protected:
  void SetUp() override { forge::TinyModel(forge::smallest_llama()).write(model_); }

  const std::string model_ = forge::test_file("small.gguf").string();
};

TEST_F(ProgramWithoutMemory, DescribesOrSaysSo) {
  sweep({{"info", model_, "--json"}, 500});
}

TEST_F(ProgramWithoutMemory, TokenizesOrSaysSo) {
  sweep({{"tokenize", model_, "-p", "ab cd", "--json"}});
}

// The cheapest command, so what all share, command line and loading, is tried more closely.
TEST_F(ProgramWithoutMemory, DetokenizesOrSaysSo) {
  sweep({{"detokenize", model_, "--ids", "70,71,72", "--json"}, 100, 7});
}

TEST_F(ProgramWithoutMemory, RendersATemplateOrSaysSo) {
  const std::string chat_template =
      written("plain.jinja", "{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}");
  const std::string input = written("input.json", R"({"messages":[{"role":"user","content":"a"}]})");
  sweep({{"template", model_, "--input", input, "--chat-template-file", chat_template, "--json"}, 600});
}

TEST_F(ProgramWithoutMemory, CompletesOrSaysSo) {
  sweep({{"complete", model_, "ab", "-n", "2", "-c", "64", "-t", "2", "--seed", "1", "--json", "--stop", "x",
          "--logprobs", "2"}});
}

TEST_F(ProgramWithoutMemory, AnswersRequestsByTheLineOrSaysWhichItCannot) {
  sweep({{"complete", model_, "--stdin-jsonl", "--parallel", "2", "-c", "64", "-t", "2", "-n", "2", "--seed", "1"},
         300,
         211,
         "{\"text\":\"ab\"}\n{\"ids\":[70,71],\"n_predict\":3}\n{\"text\":\"cd\",\"seed\":4}\n"});
}

TEST_F(ProgramWithoutMemory, ConversesOrLeavesTheSessionOfBefore) {
  const std::string chat_template = written("plain.jinja", "{{ messages[-1].content }}");
  const fs::path session = forge::test_file("session");
  const Command command = {{"run", model_, "ab", "-n", "2", "-c", "64", "-t", "2", "--seed", "1", "--session",
                            session.string(), "--chat-template-file", chat_template},
                           300,
                           97,
                           {},
                           session};
  ASSERT_EQ(run(command, 0, Failing::kNone).status, 0);
  sweep(command);
}

TEST_F(ProgramWithoutMemory, MeasuresOrLeavesTheBaseOfBefore) {
  const fs::path base = written("a.base", "lockbase of before");
  sweep({{"perplexity", model_, "-p", "the quick brown foxes", "-c", "8", "-t", "2", "--chunks", "1", "--save-base",
          base.string(), "--json"},
         300,
         97,
         {},
         base});
}

TEST_F(ProgramWithoutMemory, TracesOrLeavesTheLogitsOfBefore) {
  const fs::path logits = written("logits", "old");
  sweep({{"trace", model_, "ab", "-c", "64", "-t", "2", "--filter", "result", "--logits", logits.string()},
         300,
         97,
         {},
         logits});
}

TEST_F(ProgramWithoutMemory, ReplaysOrSaysSo) {
  const Command complete = {{"complete", model_, "ab", "-n", "2", "-c", "64", "--seed", "1", "--json"}};
  const std::string recorded = written("recorded.jsonl", run(complete, 0, Failing::kNone).out);
  sweep({{"replay", model_, recorded, "-t", "2", "--json"}});
}

}  // namespace
}  // namespace lockstep
