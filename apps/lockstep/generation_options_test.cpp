#include "generation_options.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "logit_bias_option.h"

namespace lockstep {
namespace {

using sampling::Stage;

GenerationSettings with_text(std::string_view key, const std::vector<std::string>& texts) {
  GenerationSettings settings;
  set_from_text(settings, *find_generation_option(key), texts);
  return settings;
}

GenerationSettings with_json(std::string_view key, const Json& value) {
  GenerationSettings settings;
  set_from_json(settings, *find_generation_option(key), value);
  return settings;
}

TEST(GenerationOptions, NamesAreUsedOnce) {
  std::set<std::string> names;
  for (const GenerationOption& option : generation_options()) {
    for (const std::string& name : option.names) EXPECT_TRUE(names.insert(name).second) << name;
  }
}

TEST(GenerationOptions, FieldsAreLongNamesWithUnderscores) {
  EXPECT_EQ(find_generation_option("top_n_sigma"), find_generation_option("top_nsigma"));
  EXPECT_EQ(find_generation_option("temperature"), find_generation_option("temp"));
  for (const char* name : {"n", "s", "top-k", "", "topk"}) EXPECT_EQ(find_generation_option(name), nullptr) << name;
}

TEST(GenerationOptions, TextsAndFieldsSetTheSame) {
  EXPECT_EQ(with_text("n_predict", {"7"}).generate.n_predict, 7);
  EXPECT_EQ(with_json("n_predict", 7).generate.n_predict, 7);
  EXPECT_EQ(with_text("top_k", {"9"}).generate.sampling.top_k, 9);
  EXPECT_EQ(with_json("top_k", 9).generate.sampling.top_k, 9);
  EXPECT_EQ(with_text("temp", {"0.25"}).generate.sampling.temp, 0.25f);
  EXPECT_EQ(with_json("temp", 0.25).generate.sampling.temp, 0.25f);
  EXPECT_EQ(with_json("temp", 1).generate.sampling.temp, 1.0f);
  EXPECT_TRUE(with_text("ignore_eos", {}).generate.ignore_eos);
  EXPECT_TRUE(with_json("ignore_eos", true).generate.ignore_eos);
  const std::vector<Stage> stages = {Stage::kTopK, Stage::kTemperature};
  EXPECT_EQ(with_text("samplers", {"top_k;temp"}).generate.sampling.stages, stages);
  EXPECT_EQ(with_json("samplers", {"top_k", "temp"}).generate.sampling.stages, stages);
  EXPECT_EQ(with_json("samplers", "top_k;temp").generate.sampling.stages, stages);
}

TEST(GenerationOptions, NullLeavesTheDefault) {
  EXPECT_EQ(with_json("top_k", nullptr).generate.sampling.top_k, 40);
}

TEST(GenerationOptions, AFieldOfAnotherTypeIsRefusedByName) {
  const std::vector<std::pair<const char*, Json>> cases = {
      {"n_predict", "5"}, {"n_predict", 1.5}, {"n_predict", uint64_t{1} << 63},
      {"temp", "1"},      {"ignore_eos", 1},  {"seed", 1.0},
      {"seed", -2},       {"samplers", 5},    {"samplers", {1}}};
  for (const auto& [key, value] : cases) {
    try {
      with_json(key, value);
      ADD_FAILURE() << key << " took " << value;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadRequest);
      EXPECT_NE(std::string(error.what()).find(key), std::string::npos) << error.what();
    }
  }
}

TEST(GenerationOptions, BreakersReplaceTheDefaultOnesAndNoneIsNoBreaker) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(with_text("dry_sequence_breaker", {"a", "b"}).generate.sampling.dry_sequence_breakers, (Texts{"a", "b"}));
  EXPECT_EQ(with_text("dry_sequence_breaker", {"none"}).generate.sampling.dry_sequence_breakers, Texts{});
  EXPECT_EQ(with_json("dry_sequence_breaker", {"none", "b"}).generate.sampling.dry_sequence_breakers,
            (Texts{"none", "b"}));
}

TEST(LogitBias, EveryFormIsUnderstood) {
  const auto same = [](const std::vector<sampling::LogitBias>& ours, int32_t id, float bias) {
    return ours.size() == 1 && ours[0].id == id && ours[0].bias == bias;
  };
  const float never = -std::numeric_limits<float>::infinity();
  EXPECT_TRUE(same({parse_logit_bias("15043+1")}, 15043, 1));
  EXPECT_TRUE(same({parse_logit_bias("15043-0.5")}, 15043, -0.5f));
  EXPECT_TRUE(same({parse_logit_bias("7-inf")}, 7, never));
  EXPECT_TRUE(same(logit_bias_of({{"7", 1.5}}), 7, 1.5f));
  EXPECT_TRUE(same(logit_bias_of({{"7", false}}), 7, never));
  EXPECT_TRUE(same(logit_bias_of(Json::parse("[[7, -2]]")), 7, -2));
  EXPECT_TRUE(same(logit_bias_of(Json::parse("[\"7-inf\"]")), 7, never));
  EXPECT_TRUE(same(logit_bias_of("7+3"), 7, 3));
}

TEST(LogitBias, WhatIsWrongIsNamed) {
  for (const char* text : {"", "+", "5", "abc", "5+", "5+x", "5+inf", "5+nan", "-1+1", "4294967296+1", "5+1e308"}) {
    EXPECT_THROW(static_cast<void>(parse_logit_bias(text)), Error) << text;
  }
  for (const char* text : {"3", "[[1]]", "[[1,2,3]]", "[[-1,2]]", "[[18446744073709551615,2]]", "[[1.5,2]]",
                           "[[1,true]]", "[[1,\"2\"]]", "{\"1\":null}", "{\"x\":1}", "[1]"}) {
    EXPECT_THROW(static_cast<void>(logit_bias_of(Json::parse(text))), Error) << text;
  }
}

}  // namespace
}  // namespace lockstep
