#include "tokenizer/bpe.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tokenizer/forged_vocab_test.h"
#include "tokenizer/tokenizer.h"

namespace lockstep::tokenizer {
namespace {

using Ids = std::vector<TokenId>;

TEST(Bpe, TheEarliestMergeGoesFirst) {
  // "abc": with "b c" before "a b" the pair bc wins.
  EXPECT_EQ(Tokenizer::load(forge_bpe({{"ab"}, {"bc"}}, {"a b", "b c"})).encode("abc", {}), (Ids{256, 'c'}));
  EXPECT_EQ(Tokenizer::load(forge_bpe({{"ab"}, {"bc"}}, {"b c", "a b"})).encode("abc", {}), (Ids{'a', 257}));
}

TEST(Bpe, AmongEqualMergesTheLeftmostGoesFirst) {
  EXPECT_EQ(Tokenizer::load(forge_bpe({{"aa"}}, {"a a"})).encode("aaa", {}), (Ids{256, 'a'}));
}

TEST(Bpe, MergesBuildOnEachOther) {
  const auto tokenizer = Tokenizer::load(forge_bpe({{"ab"}, {"cd"}, {"abcd"}}, {"a b", "c d", "ab cd"}));
  EXPECT_EQ(tokenizer.encode("abcd", {}), Ids{258});
  EXPECT_EQ(tokenizer.encode("abcdab", {}), (Ids{258, 256}));
}

TEST(Bpe, MergesDoNotCrossPreTokens) {
  const auto tokenizer = Tokenizer::load(forge_bpe({{"a1"}}, {"a 1"}));
  EXPECT_EQ(tokenizer.encode("a1", {}), (Ids{'a', '1'}));
}

TEST(Bpe, AWholeTokenIsTakenUnmergedWhereTheFamilySaysSo) {
  const std::vector<ForgedToken> more = {{"ab"}, {"bc"}, {"abc"}};  // abc cannot be reached by merging
  EXPECT_EQ(Tokenizer::load(forge_bpe(more, {"a b", "b c"}, "llama-bpe")).encode("abc", {}), Ids{258});
  EXPECT_EQ(Tokenizer::load(forge_bpe(more, {"a b", "b c"}, "qwen2")).encode("abc", {}), (Ids{256, 'c'}));
}

TEST(Bpe, AWholeControlTokenIsNotTaken) {
  const auto tokenizer = Tokenizer::load(forge_bpe({{"abc", TokenType::kControl}}, {}, "llama-bpe"));
  EXPECT_EQ(tokenizer.encode("abc", {}), (Ids{'a', 'b', 'c'}));
}

TEST(Bpe, MergesOfUnknownPartsAreSkippedAndCounted) {
  const auto tokenizer = Tokenizer::load(forge_bpe({{"ab"}}, {"a b", "ab zz", "a c", "nospace", ""}));
  EXPECT_EQ(tokenizer.encode("abac", {}), (Ids{256, 'a', 'c'}));
  ASSERT_EQ(tokenizer.warnings().size(), 1u);
  EXPECT_NE(tokenizer.warnings()[0].find("4 of 5 merges"), std::string::npos) << tokenizer.warnings()[0];
}

TEST(Bpe, InvalidBytesMergeAsBytes) {
  const std::string e6ad = alphabet_character(0xe6) + alphabet_character(0xad);
  const auto tokenizer =
      Tokenizer::load(forge_bpe({{e6ad}}, {alphabet_character(0xe6) + " " + alphabet_character(0xad)}));
  EXPECT_EQ(tokenizer.encode("x\xe6\xadx", {}), (Ids{'x', 256, 'x'}));
}

TEST(Bpe, GemmaFourMergesCharactersAndFallsBackToBytes) {
  std::vector<ForgedToken> tokens = {{"\xe2\x96\x81"},
                                     {"a"},
                                     {"\xe2\x96\x81"
                                      "a"},
                                     {"\n\n"},
                                     {"<0x0A>", TokenType::kByte},
                                     {"<0xC3>", TokenType::kByte},
                                     {"<0xA9>", TokenType::kByte},
                                     {"<bos>", TokenType::kControl}};
  gguf::Metadata metadata = forge("gemma4", tokens);
  metadata.add("tokenizer.ggml.merges", gguf::ArrayValue(std::vector<std::string>{"\xe2\x96\x81 a"}));
  metadata.add("tokenizer.ggml.bos_token_id", uint32_t{7});
  metadata.add("tokenizer.ggml.add_bos_token", false);
  const auto tokenizer = Tokenizer::load(metadata);
  EXPECT_EQ(tokenizer.encode(" a", {}), Ids{2});
  EXPECT_EQ(tokenizer.encode("\xe2\x96\x81"
                             "a",
                             {}),
            Ids{2});                                // U+2581 is a space here
  EXPECT_EQ(tokenizer.encode("\n\n", {}), Ids{3});  // a run of newlines is looked up whole
  EXPECT_EQ(tokenizer.encode("\n", {}), Ids{4});
  EXPECT_EQ(tokenizer.encode("\xc3\xa9", {}), (Ids{5, 6}));
  EXPECT_EQ(tokenizer.encode("a", {true, false}), (Ids{7, 1})) << "Gemma 4 begins with BOS whatever the file says";
}

TEST(SpmEncoder, TheHighestScoreMergesFirst) {
  const std::vector<ForgedToken> more = {{"\xe2\x96\x81", TokenType::kNormal, -9},
                                         {"a", TokenType::kNormal, -9},
                                         {"b", TokenType::kNormal, -9},
                                         {"c", TokenType::kNormal, -9},
                                         {"ab", TokenType::kNormal, -2},
                                         {"bc", TokenType::kNormal, -1}};
  gguf::Metadata metadata = forge_spm(more);
  metadata.add("tokenizer.ggml.add_space_prefix", false);
  EXPECT_EQ(Tokenizer::load(metadata).encode("abc", {}), (Ids{kFirstSpmExtra + 1, kFirstSpmExtra + 5}));
}

TEST(SpmEncoder, ASpaceStandsBeforeTheTextAndAfterEveryAddedToken) {
  const auto tokenizer = Tokenizer::load(forge_spm({{"\xe2\x96\x81"},
                                                    {"a"},
                                                    {"\xe2\x96\x81"
                                                     "a"},
                                                    {"<u>", TokenType::kUserDefined}}));
  const TokenId space_a = kFirstSpmExtra + 2, user = kFirstSpmExtra + 3;
  EXPECT_EQ(tokenizer.encode("a", {}), Ids{space_a});
  EXPECT_EQ(tokenizer.encode("a<u>a", {}), (Ids{space_a, user, space_a}));
  EXPECT_EQ(tokenizer.encode("<s>a", {true, true}), (Ids{1, 1, space_a}));
  for (const std::string text : {"a", " a", "  a", "a<u>a", "<u> a", "<u>", " ", ""}) {
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text, {true, false}), {}), text);
  }
}

TEST(SpmEncoder, WhatNoTokenSpellsBecomesBytes) {
  const auto tokenizer = Tokenizer::load(forge_spm({{"\xe2\x96\x81"}}));
  EXPECT_EQ(tokenizer.encode("\xc3\xa9", {}), (Ids{kFirstSpmExtra, 3 + 0xc3, 3 + 0xa9}));
  EXPECT_EQ(tokenizer.encode("\xff", {}), (Ids{kFirstSpmExtra, 3 + 0xff}));
}

TEST(SpmEncoder, TextNeverMergesIntoControlOrByteTokens) {
  const auto tokenizer = Tokenizer::load(forge_spm(
      {{"\xe2\x96\x81"}, {"<"}, {"s"}, {">"}, {"<s"}, {"0"}, {"x"}, {"A"}, {"<0"}, {"<0x"}, {"<0x0"}, {"<0x0A"}}));
  for (const std::string text : {"<s>", "<0x0A>"}) {
    const Ids ids = tokenizer.encode(text, {});
    EXPECT_EQ(tokenizer.decode(ids, {}), text);
    for (const TokenId id : ids) EXPECT_FALSE(tokenizer.is_control(id));
  }
}

}  // namespace
}  // namespace lockstep::tokenizer
