#include "tokenizer/vocab.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/forged_vocab_test.h"
#include "tokenizer/tokenizer.h"

namespace lockstep::tokenizer {
namespace {

using Ids = std::vector<TokenId>;
constexpr const char* kTokens = "tokenizer.ggml.tokens";

// The message of the error that loading `metadata` gives; empty when it loads.
std::string load_error(const gguf::Metadata& metadata) {
  try {
    (void)Tokenizer::load(metadata);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

bool names(const std::string& message, const std::string& part) {
  return message.find(part) != std::string::npos;
}

bool any_names(const std::vector<std::string>& lines, const std::string& part) {
  return std::any_of(lines.begin(), lines.end(), [&part](const std::string& line) { return names(line, part); });
}

// A SentencePiece vocabulary of three tokens whose side arrays are as given.
gguf::Metadata side_arrays(std::vector<float> scores, gguf::ArrayValue types) {
  gguf::Metadata metadata;
  metadata.add("tokenizer.ggml.model", std::string("llama"));
  metadata.add(kTokens, gguf::ArrayValue(std::vector<std::string>{"<unk>", "a", "b"}));
  metadata.add("tokenizer.ggml.scores", gguf::ArrayValue(std::move(scores)));
  metadata.add("tokenizer.ggml.token_type", std::move(types));
  return metadata;
}

TEST(CaseB18, ScoresOneShortAreRefusedByKey) {
  const std::string message = load_error(side_arrays({0, 0}, std::vector<int32_t>{2, 1, 1}));
  EXPECT_TRUE(names(message, "tokenizer.ggml.scores holds 2 values")) << message;
}

TEST(CaseB18, TypesOneShortAreRefusedByKey) {
  const std::string message = load_error(side_arrays({0, 0, 0}, std::vector<int32_t>{2, 1}));
  EXPECT_TRUE(names(message, "tokenizer.ggml.token_type holds 2 values")) << message;
}

TEST(CaseB18, TypesAsU8AreRefusedByKey) {
  const std::string message = load_error(side_arrays({0, 0, 0}, std::vector<uint8_t>{2, 1, 1}));
  EXPECT_TRUE(names(message, "tokenizer.ggml.token_type")) << message;
}

TEST(CaseB18, AnEmptyTokenListIsRefused) {
  const std::string message = load_error(forge("llama", {}));
  EXPECT_TRUE(names(message, "tokenizer.ggml.tokens is empty")) << message;
}

TEST(CaseB18, AbsentMergesAreRefusedByKey) {
  gguf::Metadata metadata = forge("gpt2", byte_level_tokens({}));
  metadata.add("tokenizer.ggml.pre", std::string("gpt-2"));
  const std::string message = load_error(metadata);
  EXPECT_TRUE(names(message, "tokenizer.ggml.merges is missing")) << message;
}

TEST(CaseB18, TwoTokensWithoutIdKeysLoadWithoutRolesBeyondThem) {
  const auto tokenizer = Tokenizer::load(forge("llama", {{"a"}, {"b"}}));
  EXPECT_EQ(tokenizer.bos(), 1);  // Llama's default lies inside
  EXPECT_EQ(tokenizer.eos(), std::nullopt);
  EXPECT_EQ(Tokenizer::load(forge("llama", {{"a"}})).bos(), std::nullopt);
}

TEST(CaseB18, AnIdOutOfRangeBecomesNoneWithAWarning) {
  for (const uint32_t id : {0xffffffffu, 256u, 0x80000000u}) {
    gguf::Metadata metadata = forge_bpe({}, {});
    metadata.add("tokenizer.ggml.eos_token_id", id);
    const auto tokenizer = Tokenizer::load(metadata);
    EXPECT_EQ(tokenizer.eos(), std::nullopt);
    EXPECT_TRUE(tokenizer.end_of_generation().empty());
    EXPECT_TRUE(any_names(tokenizer.warnings(), "tokenizer.ggml.eos_token_id is " + std::to_string(id)));
  }
}

TEST(CaseB18, AddBosWithoutABosIdAddsNothingAndWarns) {
  gguf::Metadata metadata = forge_bpe({}, {});
  metadata.add("tokenizer.ggml.add_bos_token", true);
  const auto tokenizer = Tokenizer::load(metadata);
  EXPECT_FALSE(tokenizer.adds_bos());
  EXPECT_EQ(tokenizer.encode("a", {true, true}), Ids{'a'});
  EXPECT_TRUE(any_names(tokenizer.warnings(), "tokenizer.ggml.add_bos_token"));
}

TEST(CaseB18, OfTwoIdsWithTheSameTextTheLowerEncodesAndBothDecode) {
  const auto tokenizer = Tokenizer::load(forge_bpe({{"ab"}, {"ab"}}, {"a b"}));
  EXPECT_EQ(tokenizer.encode("ab", {}), Ids{kFirstBpeExtra});
  EXPECT_EQ(tokenizer.decode(Ids{kFirstBpeExtra, kFirstBpeExtra + 1}, {}), "abab");
  EXPECT_TRUE(any_names(tokenizer.warnings(), "lower id"));
}

TEST(Vocab, RefusesAScoreThatIsNotANumber) {
  const std::string message = load_error(side_arrays({0, std::nanf(""), 0}, std::vector<int32_t>{2, 1, 1}));
  EXPECT_TRUE(names(message, "score of token 1")) << message;
}

TEST(Vocab, ByteTokensHaveExactlyTwoHexDigits) {
  EXPECT_EQ(byte_token_value("<0x0A>"), 10);
  EXPECT_EQ(byte_token_value("<0xff>"), 255);
  for (const char* text : {"<0x-1>", "<0x+1>", "<0xA>", "<0x0AB>", "<0xG0>", "<0x 1>", "0x0A", "", "<0x0A"}) {
    EXPECT_EQ(byte_token_value(text), std::nullopt) << text;
  }
  const std::string message =
      load_error(forge("llama", {{"<unk>", TokenType::kUnknown}, {"<0x-1>", TokenType::kByte}}));
  EXPECT_TRUE(names(message, "token 1 has type byte and text <0x-1>")) << message;
}

TEST(Vocab, MissingBytesAreEncodedAsTheUnknownToken) {
  const auto tokenizer =
      Tokenizer::load(forge("llama", {{"<unk>", TokenType::kUnknown}, {"<s>", TokenType::kControl}, {"a"}}));
  EXPECT_FALSE(tokenizer.spells_all_bytes());
  EXPECT_EQ(tokenizer.encode("az", {}), (Ids{0, 2, 0}));  // neither the space prefix nor z has a token
  EXPECT_TRUE(tokenizer.warnings().empty());              // common, and no fault of the file
}

TEST(Vocab, ANameOfARoleIsATokenOfControl) {
  const auto tokenizer = Tokenizer::load(forge_bpe({{"<|im_end|>"}}, {}));
  EXPECT_TRUE(tokenizer.is_control(kFirstBpeExtra));
  EXPECT_TRUE(tokenizer.is_end_of_generation(kFirstBpeExtra));
  EXPECT_TRUE(any_names(tokenizer.warnings(), "<|im_end|> is not marked as control"));
}

TEST(Vocab, EndOfGenerationHoldsTheFilesIdsAndTheKnownTexts) {
  gguf::Metadata metadata = forge_bpe({{"<x>", TokenType::kControl},
                                       {"<y>", TokenType::kControl},
                                       {"<end_of_turn>", TokenType::kControl},
                                       {"<|eom_id|>", TokenType::kControl},
                                       {"<z>", TokenType::kControl}},
                                      {});
  metadata.add("tokenizer.ggml.eos_token_id", uint32_t{kFirstBpeExtra});
  metadata.add("tokenizer.ggml.eot_token_id", uint32_t{kFirstBpeExtra + 1});
  const auto tokenizer = Tokenizer::load(metadata);
  const auto set = tokenizer.end_of_generation();
  EXPECT_EQ(Ids(set.begin(), set.end()), (Ids{256, 257, 258, 259}));
  EXPECT_FALSE(tokenizer.is_end_of_generation(260));
  EXPECT_FALSE(tokenizer.is_end_of_generation(-1));
}

TEST(Vocab, GptOssEndsItsTurnWithReturnNotWithEnd) {
  const TokenType control = TokenType::kControl;
  const auto tokenizer = Tokenizer::load(
      forge_bpe({{"<|return|>", control}, {"<|call|>", control}, {"<|end|>", control}, {"<|channel|>", control}}, {}));
  EXPECT_TRUE(tokenizer.is_end_of_generation(256));
  EXPECT_TRUE(tokenizer.is_end_of_generation(257));
  EXPECT_FALSE(tokenizer.is_end_of_generation(258));
  EXPECT_EQ(tokenizer.decode(Ids{256, 259, 'a'}, {}), "<|channel|>a");
}

TEST(Vocab, OtherTokenizerModelsAreRefusedByName) {
  const std::string message = load_error(forge("bert", {{"a"}}));
  EXPECT_TRUE(names(message, "tokenizer.ggml.model is bert: gpt2, llama and gemma4 are supported")) << message;
}

TEST(Vocab, AMissingPreTokenizerNameIsRefused) {
  gguf::Metadata metadata = forge("gpt2", byte_level_tokens({}));
  metadata.add("tokenizer.ggml.merges", gguf::ArrayValue(std::vector<std::string>{}));
  const std::string message = load_error(metadata);
  EXPECT_TRUE(names(message, "tokenizer.ggml.pre is missing")) << message;
}

TEST(ByteAlphabet, SpellsEveryByteOnce) {
  for (int byte = 0; byte < 256; ++byte) {
    std::string bytes;
    ASSERT_TRUE(append_alphabet_bytes(alphabet_character(byte), bytes));
    EXPECT_EQ(bytes, std::string(1, static_cast<char>(byte)));
  }
  EXPECT_EQ(alphabet_character(' '), "\xc4\xa0");   // the well-known G with a dot
  EXPECT_EQ(alphabet_character('\n'), "\xc4\x8a");  // and C with one
  std::string bytes;
  EXPECT_FALSE(append_alphabet_bytes(" ", bytes));
  EXPECT_FALSE(append_alphabet_bytes("\xc5\x84", bytes));  // U+0144, just past the end
  EXPECT_FALSE(append_alphabet_bytes("\xff", bytes));
}

}  // namespace
}  // namespace lockstep::tokenizer
