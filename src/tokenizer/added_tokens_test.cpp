#include "tokenizer/added_tokens.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tokenizer/forged_vocab_test.h"
#include "tokenizer/tokenizer.h"

namespace lockstep::tokenizer {
namespace {

using Ids = std::vector<TokenId>;

Tokenizer with_added(const std::vector<ForgedToken>& added, const std::string& model_name = "") {
  gguf::Metadata metadata = forge_bpe(added, {});
  if (!model_name.empty()) metadata.add("general.name", model_name);
  return Tokenizer::load(metadata);
}

constexpr TokenType kUser = TokenType::kUserDefined;
constexpr TokenType kControl = TokenType::kControl;

TEST(AddedTokens, UserDefinedOnesAreFoundAlwaysControlOnesOnRequest) {
  const auto tokenizer = with_added({{"<u>", kUser}, {"<c>", kControl}, {"<k>", TokenType::kUnknown}});
  EXPECT_EQ(tokenizer.encode("a<u>", {}), (Ids{'a', 256}));
  EXPECT_EQ(tokenizer.encode("<c>", {}), (Ids{'<', 'c', '>'}));
  EXPECT_EQ(tokenizer.encode("<k>", {}), (Ids{'<', 'k', '>'}));
  EXPECT_EQ(tokenizer.encode("<u><c><k>", {false, true}), (Ids{256, 257, 258}));
}

TEST(AddedTokens, TheLongestGoesFirstWhereverItStands) {
  const auto tokenizer = with_added({{"ab", kUser}, {"bcd", kUser}, {"a", kUser}});
  EXPECT_EQ(tokenizer.encode("abcd", {}), (Ids{258, 257}));
  EXPECT_EQ(tokenizer.encode("abc", {}), (Ids{256, 'c'}));
}

TEST(AddedTokens, RunsAreTakenFromTheLeft) {
  const auto tokenizer = with_added({{"aa", kUser}, {"aaa", kUser}});
  EXPECT_EQ(tokenizer.encode("aaaaaaaa", {}), (Ids{257, 257, 256}));
  EXPECT_EQ(tokenizer.encode("aaaa", {}), (Ids{257, 'a'}));
}

TEST(AddedTokens, OfTheSameTextTheLowestIdIsUsed) {
  EXPECT_EQ(with_added({{"<u>", kUser}, {"<u>", kUser}}).encode("<u>", {}), Ids{256});
}

TEST(AddedTokens, UserDefinedTextWithSpacesIsMatchedBeforeSpacesAreSpelled) {
  const auto tokenizer = Tokenizer::load(forge_spm({{"\xe2\x96\x81"}, {"   ", kUser}}));
  EXPECT_EQ(tokenizer.encode("   ", {}), Ids{kFirstSpmExtra + 1});
}

TEST(AddedTokens, Phi3TokensSwallowTheWhiteSpaceAfterThem) {
  const std::vector<ForgedToken> added = {{"<|user|>", kControl}, {"<s>", kControl}};
  EXPECT_EQ(with_added(added, "Phi-3 mini").encode("x <|user|> \n\ty", {false, true}), (Ids{'x', ' ', 256, 'y'}));
  EXPECT_EQ(with_added(added, "Phi-3 mini").encode("<s> y", {false, true}), (Ids{257, ' ', 'y'})) << "but not this one";
  EXPECT_EQ(with_added(added, "other").encode("<|user|> y", {false, true}), (Ids{256, ' ', 'y'}));
}

TEST(AddedTokens, MaskSwallowsTheWhiteSpaceBeforeItInJinaVocabularies) {
  EXPECT_EQ(Tokenizer::load(forge_bpe({{"<mask>", kControl}}, {}, "jina-v2-code")).encode("x  <mask> y", {false, true}),
            (Ids{'x', 256, ' ', 'y'}));
}

TEST(AddedTokens, UserTextNeverTurnsIntoControlTokens) {
  const auto tokenizer = with_added({{"<|im_start|>", kControl}, {"<u>", kUser}});
  const auto pieces = [&](std::vector<TextPiece> list) { return tokenizer.encode(list, false); };
  EXPECT_EQ(pieces({{"<|im_start|>", true}, {"hi", false}}), (Ids{256, 'h', 'i'}));
  EXPECT_EQ(pieces({{"<|im_start|>", false}}).size(), 12u);
  EXPECT_EQ(pieces({{"<|im_", true}, {"start|>", false}}).size(), 12u) << "nor together with the template's text";
  EXPECT_EQ(pieces({{"<|im_", true}, {"", false}, {"start|>", true}}), Ids{256})
      << "two pieces of the template are one text";
  EXPECT_EQ(pieces({{"a<u>", false}}), (Ids{'a', 257}));
}

TEST(AddedTokens, PiecesAreEncodedAsOneText) {
  const auto tokenizer = Tokenizer::load(forge_bpe({{"ab"}}, {"a b"}));
  EXPECT_EQ(tokenizer.encode(std::vector<TextPiece>{{"a", true}, {"b", false}}, false), Ids{256});
  const auto spm = Tokenizer::load(forge_spm({{"\xe2\x96\x81"},
                                              {"a"},
                                              {"\xe2\x96\x81"
                                               "a"}}));
  EXPECT_EQ(spm.encode(std::vector<TextPiece>{{"<s>", true}, {"a", false}, {"a", true}}, true),
            (Ids{1, 1, kFirstSpmExtra + 2, kFirstSpmExtra + 1}));
}

TEST(AddedTokens, AThousandTokensCostAMegabyteNoMore) {
  std::vector<ForgedToken> added;
  for (int i = 0; i < 1000; ++i) added.push_back({"<unused" + std::to_string(i) + ">", kUser});
  for (int i = 1; i <= 64; ++i) added.push_back({std::string(static_cast<size_t>(i), '\n'), kUser});
  const auto tokenizer = with_added(added);
  std::string text;
  while (text.size() < 500'000) text += "<unused<unused99";
  text += std::string(500'000, '\n');
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text, {}), {}), text);
}

}  // namespace
}  // namespace lockstep::tokenizer
