// From a chosen id to the next logits the kernel is not called, but for futexes when threads park.
//
// A child process decodes under a seccomp filter that turns every system call of every thread into a signal. The
// handler notes the call and makes it then, with a mark in the unused half of its last argument that the filter lets
// pass. Unlike a tracer this does not stop threads for longer than a spinning one waits, so that what is counted is
// what happens without.
#include <gtest/gtest.h>

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <new>

#include "base/cpu.h"
#include "steps/decoding.h"

namespace lockstep::steps {
namespace {

constexpr uint32_t kMark = 0x10c57e90;
constexpr int kNoOtherCall = -1;

// Shared with the child.
struct Tally {
  std::atomic<bool> filtered;
  std::atomic<int> now;  // the step in progress
  std::array<std::atomic<int>, kSteps> calls;
  std::atomic<int> other_call;  // the first that is no futex
  std::atomic<int> other_step;
  std::atomic<bool> finished;
};
Tally* tally = nullptr;

struct Call {
  long number;
  std::array<unsigned long, 6> arguments;
};

Call call_of(const ucontext_t& context) {
#if defined(__x86_64__)
  const auto r = [&](int i) { return static_cast<unsigned long>(context.uc_mcontext.gregs[i]); };
  return {context.uc_mcontext.gregs[REG_RAX], {r(REG_RDI), r(REG_RSI), r(REG_RDX), r(REG_R10), r(REG_R8), r(REG_R9)}};
#else
  const auto& r = context.uc_mcontext.regs;
  return {static_cast<long>(r[8]), {r[0], r[1], r[2], r[3], r[4], r[5]}};
#endif
}

void set_result(ucontext_t& context, long result) {
#if defined(__x86_64__)
  context.uc_mcontext.gregs[REG_RAX] = result;
#else
  context.uc_mcontext.regs[0] = static_cast<unsigned long>(result);
#endif
}

long marked(Call call) {
  auto& a = call.arguments;
  a[5] = (a[5] & 0xffffffffu) | (static_cast<unsigned long>(kMark) << 32);
  const long result = ::syscall(call.number, a[0], a[1], a[2], a[3], a[4], a[5]);
  return result == -1 ? -errno : result;
}

void note(long number) {
  const int step = tally->now.load();
  if (step < 0 || step >= kSteps) return;
  tally->calls[static_cast<size_t>(step)].fetch_add(1);
  int none = kNoOtherCall;
  if (number != SYS_futex && tally->other_call.compare_exchange_strong(none, static_cast<int>(number))) {
    tally->other_step.store(step);
  }
}

void handle_call(int, siginfo_t*, void* data) {
  const int saved = errno;
  auto& context = *static_cast<ucontext_t*>(data);
  const Call call = call_of(context);
  note(call.number);
  set_result(context, marked(call));
  errno = saved;
}

// Of all threads of this process, to its end.
bool catch_all_calls() {
  struct sigaction action = {};
  action.sa_sigaction = handle_call;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  if (sigaction(SIGSYS, &action, nullptr) != 0) return false;
  constexpr uint32_t kMarkAt = offsetof(seccomp_data, args) + 5 * sizeof(uint64_t) + sizeof(uint32_t);  // little-endian
  std::array<sock_filter, 6> program = {
      {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kMarkAt), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kMark, 2, 0),
       BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP)}};
  sock_fprog filter = {static_cast<unsigned short>(program.size()), program.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0;
}

// The child: decodes, and notes what it asks of the kernel.
[[noreturn]] void decode(int threads, bool plant_a_call) {
  const auto engine = load_mini_llama(threads);
  engine::Session session(*engine);
  session.sync(kPrompt);
  if (!catch_all_calls()) _exit(0);
  tally->filtered.store(true);
  for (int i = 0; i < kSteps; ++i) {
    tally->now.store(i);
    step(session);
    if (plant_a_call && i == 7) (void)getppid();
  }
  tally->now.store(kSteps);
  tally->finished.store(true);
  _exit(0);
}

class SystemCalls : public testing::Test {
 protected:
  void SetUp() override {
    void* memory = mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    tally = new (memory) Tally{};
  }
  void TearDown() override { munmap(tally, sizeof(Tally)); }

  // False when the system does not let a process filter its own calls.
  static bool run(int threads, bool plant_a_call = false) {
    tally = new (tally) Tally{};
    tally->now.store(-1);
    tally->other_call.store(kNoOtherCall);
    const pid_t child = fork();
    if (child == 0) decode(threads, plant_a_call);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    if (!tally->filtered.load()) return false;
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "child ended with " << status;
    EXPECT_TRUE(tally->finished.load());
    return true;
  }

  static int median_calls() {
    std::vector<int> calls(tally->calls.begin(), tally->calls.end());
    std::ranges::nth_element(calls, calls.begin() + kSteps / 2);
    return calls[kSteps / 2];
  }
};

TEST_F(SystemCalls, AreSeen) {
  if (!run(1, true)) GTEST_SKIP() << "the system does not permit seccomp filters";
  EXPECT_EQ(tally->other_call.load(), SYS_getppid);
  EXPECT_EQ(tally->other_step.load(), 7);
  EXPECT_EQ(tally->calls[7].load(), 1);
}

TEST_F(SystemCalls, AreNoneInAStepOfOneThread) {
  if (!run(1)) GTEST_SKIP() << "the system does not permit seccomp filters";
  for (const auto& calls : tally->calls) EXPECT_EQ(calls.load(), 0);
}

TEST_F(SystemCalls, AreFutexesOnly) {
  for (const int threads : {2, 3, usable_cpus() + 2}) {
    if (!run(threads)) GTEST_SKIP() << "the system does not permit seccomp filters";
    EXPECT_EQ(tally->other_call.load(), kNoOtherCall) << "system call " << tally->other_call.load() << " in step "
                                                      << tally->other_step.load() << ", " << threads << " threads";
  }
}

// Threads of the whole machine that run or want to: this one alone when it is quiet.
int runnable_threads() {
  std::ifstream in("/proc/loadavg");
  double average = 0;
  int runnable = 0;
  in >> average >> average >> average >> runnable;
  return in ? runnable : 1;
}

// While other programs want the processors, threads wait for each other longer and park: such runs say nothing.
TEST_F(SystemCalls, AreNoneInTheMedianStepWhileEveryThreadHasAProcessor) {
  if (usable_cpus() < 2) GTEST_SKIP() << "one usable CPU";
  constexpr int kAttempts = 40;
  int n_quiet = 0;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const bool quiet_before = runnable_threads() <= 1;
    if (!run(2)) GTEST_SKIP() << "the system does not permit seccomp filters";
    if (median_calls() == 0) return;
    if (quiet_before && runnable_threads() <= 1) ++n_quiet;
    usleep(50'000);
  }
  if (n_quiet < kAttempts / 4) GTEST_SKIP() << "other programs want the processors";
  FAIL() << "the median step called the kernel in each of " << kAttempts << " runs";
}

}  // namespace
}  // namespace lockstep::steps

#endif
