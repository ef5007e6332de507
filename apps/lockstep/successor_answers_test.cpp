// Answers that are known to the letter, as the program gives them: ends of turns, stops, characters in parts, limits.
#include <gtest/gtest.h>

#include <sstream>

#include "base/utf8.h"
#include "forge/successor_model.h"
#include "json_text.h"
#include "program_call_test.h"

namespace lockstep {
namespace {

using forge::SuccessorChain;
using forge::SuccessorToken;
using Arguments = std::vector<std::string>;

constexpr const char* kPlainTemplate = "{{ messages[-1].content }}";

// A model that says the texts of `tokens` one after another and then its EOS, whatever it is asked.
std::string model_that_says(std::vector<SuccessorToken> tokens, const std::string& name = "successor.gguf") {
  tokens.push_back({"</s>", 3});
  const SuccessorChain chain = forge::chain_of(tokens);
  forge::TinyModel model = forge::successor_model(chain);
  model.set_key("tokenizer.ggml.eos_token_id", static_cast<uint32_t>(chain.tokens.size() - 1));
  model.set_key("tokenizer.chat_template", std::string(kPlainTemplate));
  const auto path = forge::test_file(name);
  model.write(path);
  return path.string();
}

// The answer to <s>, which is what an empty prompt becomes.
Json complete(const std::string& model, const Arguments& options = {}) {
  Arguments arguments = {"complete", model, "", "--json", "--temp", "0", "-c", "64", "-t", "1"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  const ProgramCall call = call_program(arguments);
  EXPECT_EQ(call.status, 0) << call.out;
  return parse_json(call.out);
}

std::string streamed(const std::string& model, const Arguments& options = {}) {
  Arguments arguments = {"complete", model, "", "--temp", "0", "-c", "64", "-t", "1"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return call_program(arguments).out;
}

std::vector<SuccessorToken> words(const std::vector<std::string>& texts) {
  std::vector<SuccessorToken> tokens;
  for (const std::string& text : texts) tokens.push_back({text});
  return tokens;
}

TEST(SuccessorAnswers, EndAtAMarkerThatTheFileDoesNotNameAndDoNotShowIt) {
  const std::string model = model_that_says({{"hello"}, {"<|im_end|>", 3}, {"more"}});
  const Json answer = complete(model);
  EXPECT_EQ(answer["text"], "hello");
  EXPECT_EQ(answer["finish"], "stop");
  EXPECT_EQ(answer["ids"], Json({2, 3}));
  EXPECT_EQ(streamed(model), "hello");
}

TEST(SuccessorAnswers, EndJustBeforeTheEarliestStopStreamedOrNot) {
  const std::string model =
      model_that_says(words({"alpha", " be", "ta ga", "mma", " de", "lta ", "\xf0\x9f\x98\x80", "xabc"}));
  const auto expect = [&](const Arguments& stops, const std::string& wanted) {
    Arguments options;
    for (const std::string& stop : stops) options.insert(options.end(), {"--stop", stop});
    const Json answer = complete(model, options);
    EXPECT_EQ(answer["text"], wanted);
    EXPECT_EQ(answer["finish"], "stop");
    EXPECT_EQ(streamed(model, options), wanted);
  };
  const std::string all = "alpha beta gamma delta \xf0\x9f\x98\x80xabc";
  expect({}, all);
  expect({"gamma delta"}, "alpha beta ");
  expect({"ab", "abc"}, "alpha beta gamma delta \xf0\x9f\x98\x80x");
  expect({"abc"}, "alpha beta gamma delta \xf0\x9f\x98\x80x");
  expect({"x", "\xf0\x9f\x98\x80"}, "alpha beta gamma delta ");
  expect({"alp"}, "");
  expect({""}, all);
  Arguments many;
  for (int i = 0; i < 1000; ++i) many.push_back("stop " + std::to_string(i));
  expect(many, all);
  many.push_back("delta");
  expect(many, "alpha beta gamma ");
}

std::string model_that_says_characters_in_bytes() {
  std::vector<SuccessorToken> tokens;
  forge::append_byte_tokens(tokens, "\xf0\x9f\x98\x80\xc3\xa9\xc3");  // an emoji, an e with an accent, half a character
  return model_that_says(tokens);
}

TEST(SuccessorAnswers, GiveEveryCharacterWholeInOneEvent) {
  const std::string model = model_that_says_characters_in_bytes();
  // What the vocabulary cannot spell is <unk>, and that is followed by <s> and the text.
  const ProgramCall call = call_program({"run", model, "hi", "--json", "--temp", "0", "-c", "64", "-t", "1"});
  EXPECT_EQ(call.status, 0);
  std::vector<Json> events;
  std::istringstream lines(call.out);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(utf8_is_valid(line));
    events.push_back(parse_json(line));
  }
  ASSERT_EQ(events.size(), 4u) << call.out;
  EXPECT_EQ(events[0], Json({{"delta", "\xf0\x9f\x98\x80"}}));
  EXPECT_EQ(events[1], Json({{"delta", "\xc3\xa9"}}));
  EXPECT_EQ(events[2], Json({{"delta", "\xef\xbf\xbd"}, {"bytes", {0xc3}}}));
  EXPECT_EQ(events[3]["text"], "\xf0\x9f\x98\x80\xc3\xa9\xef\xbf\xbd");
  EXPECT_EQ(events[3]["finish"], "stop");
}

TEST(SuccessorAnswers, KeepTheBytesOfHalfACharacterBesideValidText) {
  const std::string model = model_that_says_characters_in_bytes();
  for (const Arguments& options : {Arguments{}, Arguments{"--logprobs", "3"}}) {
    const Json answer = complete(model, options);
    EXPECT_EQ(answer["text"], "\xf0\x9f\x98\x80\xc3\xa9\xef\xbf\xbd");
    EXPECT_EQ(answer["bytes"], Json({0xf0, 0x9f, 0x98, 0x80, 0xc3, 0xa9, 0xc3}));
    EXPECT_EQ(answer["ids"].size(), 8u);
    if (!options.empty()) {
      ASSERT_EQ(answer["steps"].size(), 8u);
      for (size_t i = 0; i < 8; ++i) EXPECT_EQ(answer["steps"][i]["id"], answer["ids"][i]);
    }
  }
  EXPECT_EQ(streamed(model), "\xf0\x9f\x98\x80\xc3\xa9\xc3");
}

TEST(SuccessorAnswers, ThatWouldNeverEndDoSoAtTheirLimit) {
  SuccessorChain chain = forge::chain_of(words({"on", " and "}));
  chain.next.back() = 2;  // for ever
  const auto path = forge::test_file("endless.gguf");
  forge::TinyModel model = forge::successor_model(chain);
  model.set_key("tokenizer.ggml.eos_token_id", uint32_t{0});
  model.write(path);
  const auto expect = [&](const Arguments& options, int64_t n_prompt, int64_t n_generated) {
    const Json answer = complete(path.string(), options);
    EXPECT_EQ(answer["n_prompt"], n_prompt);
    EXPECT_EQ(answer["n_generated"], n_generated);
    EXPECT_EQ(answer["ids"].size(), static_cast<size_t>(n_generated));
    EXPECT_EQ(answer["finish"], "length");
  };
  // The empty prompt is the BOS that the file asks for; the last token needs no place in the context.
  expect({}, 1, 64);
  expect({"-n", "-1"}, 1, 64);
  expect({"-n", "2147483648"}, 1, 64);
  for (const int n : {0, 1, 2, 63, 64}) expect({"-n", std::to_string(n)}, 1, n);
  EXPECT_EQ(complete(path.string(), {"-n", "4"})["text"], "on and on and ");
}

// A vocabulary of 290 tokens over an embedding of 300 rows.
TEST(PaddedVocabulary, RowsWithoutATokenAreNeverChosenAndCannotBeAskedFor) {
  constexpr size_t kTokens = 290;
  forge::TinyModel model(forge::tiny_llama());
  model.set_key("tokenizer.ggml.tokens", gguf::ArrayValue(std::vector<std::string>(kTokens, "x")));
  model.set_key("tokenizer.ggml.token_type", gguf::ArrayValue(std::vector<int32_t>(kTokens, 1)));
  model.set_key("tokenizer.ggml.scores", gguf::ArrayValue(std::vector<float>(kTokens, -1.0f)));
  const auto path = forge::test_file("padded.gguf");
  model.write(path);
  const Arguments chance = {"complete", path.string(),  "--ids", "5,6",     "--json", "-t",      "1", "-n",
                            "200",      "--temp",       "9",     "--top-k", "0",      "--top-p", "1", "--min-p",
                            "0",        "--ignore-eos", "-c",    "256"};
  const ProgramCall call = call_program(chance);
  ASSERT_EQ(call.status, 0) << call.out;
  const Json answer = parse_json(call.out);
  for (const Json& id : answer.at("ids")) EXPECT_LT(id, kTokens);
  for (const std::string id : {"290", "299"}) {
    Arguments arguments = chance;
    arguments.insert(arguments.end(), {"--logit-bias", id + "+100"});
    const ProgramCall refused = call_program(arguments);
    EXPECT_EQ(refused.status, 1);
    EXPECT_NE(refused.out.find(id), std::string::npos) << refused.out;
    EXPECT_EQ(call_program({"complete", path.string(), "--ids", id}).status, 1);
    EXPECT_EQ(call_program({"detokenize", path.string(), "--ids", id}).status, 1);
  }
}

// The best row by far is one without a token; all others have the logit 0, and of equals the lowest id wins.
TEST(PaddedVocabulary, ARowWithoutATokenIsNotEvenChosenWhenItIsTheBest) {
  SuccessorChain chain = forge::chain_of(words({"on"}));
  const size_t n_tokens = chain.tokens.size();
  constexpr int64_t kPaddedRows = 64;
  chain.next.back() = static_cast<int32_t>(n_tokens) + 7;
  forge::TinyModel model = forge::successor_model(chain, kPaddedRows);
  model.set_key("tokenizer.ggml.eos_token_id", static_cast<uint32_t>(n_tokens - 2));
  const auto path = forge::test_file("padded_successor.gguf");
  model.write(path);
  for (const char* temperature : {"0", "1"}) {
    const Json answer = complete(path.string(), {"-n", "40", "--ignore-eos", "--logprobs", "2", "--temp", temperature,
                                                 "--top-k", "0", "--top-p", "1", "--min-p", "0"});
    EXPECT_EQ(answer["n_generated"], 40);
    EXPECT_EQ(answer["ids"][0], n_tokens - 1) << "the token before it";
    for (const Json& step : answer["steps"]) {
      EXPECT_LT(step["id"], n_tokens);
      for (const Json& top : step["top"]) EXPECT_LT(top[0], n_tokens);
    }
    if (std::string(temperature) == "0") {
      EXPECT_EQ(answer["ids"][1], 0);
    }
  }
}

}  // namespace
}  // namespace lockstep
