// The same bits on every architecture (NUMERICS.md section 6): hashes of the logits of small models, kept as data, held
// against every kernel set of the machine that runs this test. No machine has all sets; all are held to one hash.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <tuple>

#include "forge/model_run.h"

namespace lockstep::model {
namespace {

using kernels::CacheType;

struct Variant {
  const char* name;
  Compute compute;
  CacheType cache;
};

constexpr Variant kVariants[] = {{"exact_cache32", Compute::kExact, CacheType::kF32},
                                 {"exact_cache16", Compute::kExact, CacheType::kF16},
                                 {"fast_cache16", Compute::kFast, CacheType::kF16},
                                 {"fast_cache8", Compute::kFast, CacheType::kQ8_0}};

std::filesystem::path data_path(const std::string& name) {
  return std::filesystem::path(__FILE__).parent_path() / "../../tests/data/models" / name;
}

nlohmann::json read_json(const std::string& name) {
  std::ifstream in(data_path(name));
  return nlohmann::json::parse(in);
}

// The prompt of the reference data, then ids from all over the vocabulary: two chunks of positions.
std::vector<int32_t> tokens_of(const std::string& model) {
  const nlohmann::json prompt = read_json(model + ".json");
  auto ids = prompt.at("ids").get<std::vector<int32_t>>();
  const auto n_vocab = prompt.at("n_vocab").get<int32_t>();
  while (ids.size() < 140) ids.push_back(static_cast<int32_t>(ids.size()) * 797 % n_vocab);
  return ids;
}

// A prompt in pieces, then single tokens: products of many rows and of one.
std::vector<float> logits_of(const Model& model, const std::vector<int32_t>& ids) {
  const auto n = static_cast<int64_t>(ids.size());
  forge::ModelRun run(model, 2, 50, n);
  exec::KvCache cache = run.new_cache();
  std::vector<float> all = run.logits({ids.begin(), ids.end() - 4}, cache, 50);
  const std::vector<float> single = run.logits({ids.end() - 4, ids.end()}, cache, 1);
  all.insert(all.end(), single.begin(), single.end());
  return all;
}

class LogitsHash : public testing::TestWithParam<std::tuple<const kernels::KernelTable*, const char*, Variant>> {};

TEST_P(LogitsHash, IsTheOneOfEveryOtherMachine) {
  const auto& [table, type, variant] = GetParam();
  const std::string name = std::string("mini-llama.") + type;
  const Model model = forge::load_model(
      data_path(name + ".gguf"), {.compute = variant.compute, .cache = variant.cache, .isa = table->isa, .threads = 1});
  const std::vector<float> logits = logits_of(model, tokens_of(name));
  for (const float logit : logits) ASSERT_TRUE(std::isfinite(logit));
  const std::string hash = fmt::format("{:016x}", XXH3_64bits(logits.data(), logits.size() * sizeof(float)));
  EXPECT_EQ(hash, read_json("logits_xxh3.json").at(name).at(variant.name).get<std::string>());
}

std::string name_of(const testing::TestParamInfo<LogitsHash::ParamType>& info) {
  std::string name =
      fmt::format("{}_{}_{}", std::get<0>(info.param)->isa, std::get<1>(info.param), std::get<2>(info.param).name);
  std::ranges::replace_if(
      name, [](char c) { return c == '+' || c == '-'; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Models, LogitsHash,
                         testing::Combine(testing::ValuesIn(kernels::available_tables().begin(),
                                                            kernels::available_tables().end()),
                                          testing::Values("Q4_0", "Q4_K_S", "Q6_K"), testing::ValuesIn(kVariants)),
                         name_of);

}  // namespace
}  // namespace lockstep::model
