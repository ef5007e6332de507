#include "sampling/sampling_params.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "base/error.h"

namespace lockstep::sampling {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

using Change = std::function<void(SamplingParams&)>;

// The message of the refusal, "" when the parameters pass.
std::string refusal(const Change& change) {
  SamplingParams params;
  try {
    change(params);
    validate(params, 100);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadRequest);
    return error.what();
  }
  return "";
}

void expect_refused(const std::string& option, const Change& change) {
  const std::string message = refusal(change);
  EXPECT_EQ(message.rfind("option " + option + ":", 0), 0u) << option << " gave: " << message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

TEST(SamplingParams, DefaultsPass) {
  EXPECT_EQ(refusal([](SamplingParams&) {}), "");
}

TEST(SamplingParams, NonFiniteNumbersAreRefusedByName) {
  for (const float bad : {kNaN, kInf, -kInf}) {
    expect_refused("temp", [bad](SamplingParams& p) { p.temp = bad; });
    expect_refused("dynatemp_range", [bad](SamplingParams& p) { p.dynatemp_range = bad; });
    expect_refused("dynatemp_exp", [bad](SamplingParams& p) { p.dynatemp_exponent = bad; });
    expect_refused("top_p", [bad](SamplingParams& p) { p.top_p = bad; });
    expect_refused("min_p", [bad](SamplingParams& p) { p.min_p = bad; });
    expect_refused("typical", [bad](SamplingParams& p) { p.typical = bad; });
    expect_refused("top_n_sigma", [bad](SamplingParams& p) { p.top_n_sigma = bad; });
    expect_refused("xtc_probability", [bad](SamplingParams& p) { p.xtc_probability = bad; });
    expect_refused("xtc_threshold", [bad](SamplingParams& p) { p.xtc_threshold = bad; });
    expect_refused("repeat_penalty", [bad](SamplingParams& p) { p.repeat_penalty = bad; });
    expect_refused("frequency_penalty", [bad](SamplingParams& p) { p.frequency_penalty = bad; });
    expect_refused("presence_penalty", [bad](SamplingParams& p) { p.presence_penalty = bad; });
    expect_refused("dry_multiplier", [bad](SamplingParams& p) { p.dry_multiplier = bad; });
    expect_refused("dry_base", [bad](SamplingParams& p) { p.dry_base = bad; });
    expect_refused("mirostat_ent", [bad](SamplingParams& p) { p.mirostat_tau = bad; });
    expect_refused("mirostat_lr", [bad](SamplingParams& p) { p.mirostat_eta = bad; });
  }
}

// Case B37: what is refused; what is mapped is tested with the sampler.
TEST(B37, OptionsOutOfRangeAreRefusedByName) {
  expect_refused("top_p", [](SamplingParams& p) { p.top_p = -1.0f; });
  expect_refused("min_p", [](SamplingParams& p) { p.min_p = 2.0f; });
  expect_refused("min_p", [](SamplingParams& p) { p.min_p = -0.1f; });
  expect_refused("repeat_penalty", [](SamplingParams& p) { p.repeat_penalty = 0.0f; });
  expect_refused("repeat_penalty", [](SamplingParams& p) { p.repeat_penalty = -1.0f; });
  expect_refused("repeat_last_n", [](SamplingParams& p) { p.repeat_last_n = -2; });
  expect_refused("dry_penalty_last_n", [](SamplingParams& p) { p.dry_penalty_last_n = -2; });
  expect_refused("dry_allowed_length", [](SamplingParams& p) { p.dry_allowed_length = -1; });
  expect_refused("xtc_probability", [](SamplingParams& p) { p.xtc_probability = 1.5f; });
  expect_refused("mirostat", [](SamplingParams& p) { p.mirostat = 3; });
  expect_refused("min_keep", [](SamplingParams& p) { p.min_keep = -1; });
}

TEST(B37, ExtremeValuesInsideTheRangePass) {
  for (const float temp : {0.0f, 1e-30f, 1e30f, -1.0f})
    EXPECT_EQ(refusal([temp](SamplingParams& p) { p.temp = temp; }), "");
  for (const int32_t k : {0, -1, 1000000000}) EXPECT_EQ(refusal([k](SamplingParams& p) { p.top_k = k; }), "");
  for (const float v : {0.0f, 1.0f, 1.5f}) EXPECT_EQ(refusal([v](SamplingParams& p) { p.top_p = v; }), "");
  for (const float v : {1e-9f, 1e38f}) EXPECT_EQ(refusal([v](SamplingParams& p) { p.repeat_penalty = v; }), "");
  for (const int32_t n : {0, -1, 2147483647}) EXPECT_EQ(refusal([n](SamplingParams& p) { p.repeat_last_n = n; }), "");
  for (const float v : {-100.0f, 100.0f}) EXPECT_EQ(refusal([v](SamplingParams& p) { p.frequency_penalty = v; }), "");
}

TEST(SamplingParams, IdsOutsideTheVocabularyAreRefused) {
  for (const TokenId id : {-1, 100, 999999999}) {
    expect_refused("logit_bias", [id](SamplingParams& p) { p.logit_bias = {{id, 1.0f}}; });
    expect_refused("dry_sequence_breaker", [id](SamplingParams& p) { p.dry_breakers = {{5, id}}; });
  }
  expect_refused("dry_sequence_breaker", [](SamplingParams& p) { p.dry_breakers = {{}}; });
}

TEST(SamplingParams, ABiasIsFiniteOrMinusInfinity) {
  expect_refused("logit_bias", [](SamplingParams& p) { p.logit_bias = {{1, kNaN}}; });
  expect_refused("logit_bias", [](SamplingParams& p) { p.logit_bias = {{1, kInf}}; });
  EXPECT_EQ(refusal([](SamplingParams& p) { p.logit_bias = {{1, -kInf}, {99, 3e38f}}; }), "");
}

TEST(ParseStages, ReadsTheDefaultOrderAndNamesItBack) {
  const std::string text = "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature";
  const std::vector<Stage> stages = parse_stages(text);
  EXPECT_EQ(stages, SamplingParams{}.stages);
  std::string back;
  for (const Stage stage : stages) back.append(back.empty() ? "" : ";").append(to_string(stage));
  EXPECT_EQ(back, text);
}

TEST(ParseStages, UnderstandsOtherSpellings) {
  EXPECT_EQ(parse_stages("top-k;nucleus;Min-P;temp;typical;topnsigma"),
            (std::vector<Stage>{Stage::kTopK, Stage::kTopP, Stage::kMinP, Stage::kTemperature, Stage::kTypicalP,
                                Stage::kTopNSigma}));
  EXPECT_TRUE(parse_stages("").empty());
}

TEST(ParseStages, RefusesUnknownNamesAndRepetitions) {
  EXPECT_THROW((void)parse_stages("top_k;best"), Error);
  EXPECT_THROW((void)parse_stages("top_k;top-k"), Error);
  EXPECT_THROW((void)parse_stages(";"), Error);
  try {
    (void)parse_stages("a\nb");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("top_n_sigma"), std::string::npos);
  }
}

}  // namespace
}  // namespace lockstep::sampling
