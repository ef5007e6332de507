#include "verify/self_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/error.h"
#include "forge/tiny_model.h"

namespace lockstep::verify {
namespace {

using kernels::AttentionJob;
using kernels::AttentionPartial;
using kernels::LinearJob;
using model::KernelTable;
using quant::TensorType;

// For functions that stand in a table and have no other way to know it: the set that they make wrong.
const KernelTable& best() {
  return *model::available_tables().front();
}

float next_up(float x) {
  return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, x) + 1u);
}

class SelfCheck : public testing::Test {
 protected:
  void SetUp() override {
    if (!best().packed) GTEST_SKIP() << "this CPU has no vector kernels";
    forge::TinyShape shape = forge::tiny_quantized(forge::tiny_llama());
    shape.n_layers = 2;
    path_ = forge::test_file("tiny.gguf");
    forge::TinyModel(shape).write(path_);
  }

  // A set with a fault beside the scalar definition.
  [[nodiscard]] SelfCheckResult check(const KernelTable& faulty) const {
    SelfCheckOptions options;
    options.tables = {&faulty, model::available_tables().back()};
    return self_check(path_, options);
  }

  // Every fault is found, and a set without it is found good: the check can tell them apart.
  void expect_found(const KernelTable& faulty, const char* what) const {
    const SelfCheckResult result = check(faulty);
    EXPECT_FALSE(result.equal) << what;
    EXPECT_EQ(result.hash, right_hash()) << what << ": the definition's";
  }

  [[nodiscard]] std::string right_hash() const { return check(best()).hash; }

  std::string path_;
};

TEST_F(SelfCheck, IsEqualForEverySetInEveryWay) {
  const SelfCheckResult result = self_check(path_, {});
  EXPECT_TRUE(result.equal);
  EXPECT_EQ(result.hash.size(), 32u);
  std::set<std::string> isas;
  std::set<int> threads;
  std::set<int64_t> chunks;
  std::set<int64_t> neighbours;
  std::set<std::string> prefixes;
  for (const CheckedPath& path : result.paths) {
    EXPECT_EQ(path.hash, result.hash) << path.isa << ", " << path.shape.threads << " threads";
    EXPECT_EQ(path.fault, "") << path.isa;
    EXPECT_GT(path.calls.count("attend_chunk f16"), 0u) << path.isa;
    isas.insert(path.isa);
    threads.insert(path.shape.threads);
    chunks.insert(path.shape.chunk);
    neighbours.insert(path.shape.neighbours);
    prefixes.insert(path.prefix);
  }
  EXPECT_EQ(isas.size(), model::available_tables().size());
  EXPECT_EQ(threads, (std::set<int>{1, 2, 3, 4}));
  EXPECT_EQ(chunks, (std::set<int64_t>{1, 7, 64, 140}));
  EXPECT_EQ(neighbours, (std::set<int64_t>{0, 1, 3, 7}));
  EXPECT_TRUE(prefixes.contains("cold") && prefixes.contains("reused"));
}

TEST_F(SelfCheck, IsEqualInAContextTooShortForAPanelAndForAllThatIsHashed) {
  forge::TinyShape shape = forge::tiny_quantized(forge::tiny_llama());
  shape.n_layers = 1;
  forge::TinyModel model(shape);
  model.set_key("llama.context_length", gguf::Value(uint32_t{7}));
  const auto path = forge::test_file("short.gguf");
  model.write(path);
  const SelfCheckResult result = self_check(path, {});
  EXPECT_TRUE(result.equal);
  for (const CheckedPath& checked : result.paths) EXPECT_EQ(checked.fault, "") << checked.isa;
}

TEST_F(SelfCheck, InFullHasEveryThreadCountWithEveryCutColdAndReused) {
  std::set<std::tuple<int, int64_t, bool>> combinations;
  std::set<std::pair<int, int64_t>> beside;
  for (const PathShape& s : path_shapes(best(), true, true, 530)) {
    combinations.insert({s.threads, s.chunk, s.reused});
    beside.insert({s.threads, s.neighbours});
  }
  for (const int threads : {1, 2, 3, 4}) {
    for (const int64_t chunk : {1, 7, 64, 512, 530}) {
      for (const bool reused : {false, true}) EXPECT_TRUE(combinations.contains({threads, chunk, reused})) << threads;
    }
    for (const int64_t n : {0, 1, 3, 7}) EXPECT_TRUE(beside.contains({threads, n})) << threads << " " << n;
  }
}

// ---- the faults of NUMERICS.md section 6, and others; none shows in every path ----

constexpr auto kQ8_0 = static_cast<int>(TensorType::kQ8_0);

template <bool panel>
void one_ulp_off(const LinearJob& job) noexcept {
  best().fast[kQ8_0](job);
  const bool by_panel = job.a.n_tokens > best().most_streamed[kQ8_0];
  if (panel == by_panel) job.out[job.row_begin] = next_up(job.out[job.row_begin]);
}

void last_rows_swapped(const LinearJob& job) noexcept {
  best().fast[kQ8_0](job);
  if (job.row_end == job.w.n_rows) std::swap(job.out[job.row_end - 1], job.out[job.row_end - 2]);
}

// Right for one thread alone: what a kernel that reads beyond its rows would do.
void wrong_where_rows_are_shared(const LinearJob& job) noexcept {
  best().fast[kQ8_0](job);
  if (job.row_begin != 0 && job.row_end == job.w.n_rows) job.out[job.row_begin] = next_up(job.out[job.row_begin]);
}

TEST_F(SelfCheck, FindsAScaleThatIsOneUlpOff) {
  KernelTable faulty = best();
  faulty.fast[kQ8_0] = one_ulp_off<true>;
  expect_found(faulty, "panel");
  faulty.fast[kQ8_0] = one_ulp_off<false>;
  expect_found(faulty, "stream");
}

TEST_F(SelfCheck, FindsRowsThatAreSwappedOrWrongWhenTheyAreShared) {
  KernelTable faulty = best();
  faulty.fast[kQ8_0] = last_rows_swapped;
  expect_found(faulty, "rows swapped");
  faulty.fast[kQ8_0] = wrong_where_rows_are_shared;
  expect_found(faulty, "shared rows");
}

TEST_F(SelfCheck, FindsFaultsOfAttentionAndOfTheCache) {
  KernelTable faulty = best();
  faulty.merge_chunk = [](AttentionPartial&, float*, const AttentionPartial&, const float*, int64_t) noexcept {};
  expect_found(faulty, "a chunk is never merged");
  faulty = best();
  faulty.append_v[0] = [](void* v, int64_t position, const float* head, int64_t head_dim) noexcept {
    if (position != 7) best().append_v[0](v, position, head, head_dim);  // leaves what was there
  };
  expect_found(faulty, "a value that is not kept");
  faulty = best();
  faulty.attend_chunk[0] = [](const AttentionJob& job, AttentionPartial* partial, float* o) noexcept {
    AttentionJob longer = job;
    if (job.n_positions % 16 == 5) ++longer.n_positions;  // looks at what comes after
    best().attend_chunk[0](longer, partial, o);
  };
  expect_found(faulty, "a position too many");
  faulty = best();
  faulty.rope = [](float* head, const float* cos_sin, int64_t n_rot, kernels::RopePairing) noexcept {
    best().rope(head, cos_sin, n_rot, kernels::RopePairing::kHalves);
  };
  expect_found(faulty, "the other pairing");
}

TEST_F(SelfCheck, ReportsAValueThatIsNotFiniteAsTheFaultOfItsPathAndGoesOn) {
  KernelTable faulty = best();
  faulty.swiglu = [](const float* gate, const float* up, int64_t n, float* out) noexcept {
    best().swiglu(gate, up, n, out);
    out[0] = __builtin_nanf("");
  };
  const SelfCheckResult result = check(faulty);
  EXPECT_FALSE(result.equal);
  EXPECT_NE(result.paths.front().fault.find("ffn_swiglu-0"), std::string::npos) << result.paths.front().fault;
  EXPECT_EQ(result.paths.back().fault, "");
  EXPECT_EQ(result.hash, right_hash());
}

TEST_F(SelfCheck, TellsItsProgressAndMayBeGivenUp) {
  SelfCheckOptions options;
  std::vector<size_t> done;
  options.progress = [&](const SelfCheckProgress& progress) {
    done.push_back(progress.n_done);
    if (progress.n_done == 3) fail(ErrorCode::kIo, "given up");
  };
  EXPECT_THROW((void)self_check(path_, options), Error);
  EXPECT_TRUE(std::ranges::is_sorted(done));
  EXPECT_TRUE(self_check(path_, {}).equal) << "the next one can count again";
}

}  // namespace
}  // namespace lockstep::verify
