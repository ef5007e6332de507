#include "tokenizer/added_tokens.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
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

// Looks for each token in turn, as the header says.
Ids searched(std::vector<ForgedToken> added, const std::string& text) {
  std::vector<std::pair<std::string, TokenId>> order;
  for (size_t i = 0; i < added.size(); ++i) {
    const auto same = [&](const auto& earlier) { return earlier.first == added[i].text; };
    if (std::none_of(order.begin(), order.end(), same))
      order.emplace_back(added[i].text, static_cast<TokenId>(256 + i));
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  std::vector<TokenId> at(text.size(), -1);  // -2 behind the first byte of a token
  for (const auto& [name, id] : order) {
    for (size_t begin = 0; begin + name.size() <= text.size(); ++begin) {
      const auto first = at.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto last = first + static_cast<std::ptrdiff_t>(name.size());
      const bool is_free = std::all_of(first, last, [](TokenId taken) { return taken == -1; });
      if (!is_free || text.compare(begin, name.size(), name) != 0) continue;
      std::fill(first, last, -2);
      *first = id;
    }
  }
  Ids ids;
  for (size_t i = 0; i < text.size(); ++i) {
    if (at[i] == -1) ids.push_back(static_cast<unsigned char>(text[i]));
    if (at[i] >= 0) ids.push_back(at[i]);
  }
  return ids;
}

TEST(AddedTokens, AreThoseOfASearchForEachTokenInTurn) {
  std::mt19937 random(11);  // the standard fixes its numbers
  const auto word = [&random](size_t least, size_t most) {
    std::string text;
    for (size_t n = least + random() % (most - least + 1); n > 0; --n) text += static_cast<char>('a' + random() % 2);
    return text;
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<ForgedToken> added;
    for (int i = 0; i < 8; ++i) added.push_back({word(1, 7), random() % 2 == 0 ? kUser : kControl});
    const std::string text = word(0, 60);
    ASSERT_EQ(with_added(added).encode(text, {false, true}), searched(added, text)) << text;
  }
}

std::string refusal_of(const std::vector<ForgedToken>& added) {
  try {
    (void)with_added(added);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(AddedTokens, OfMoreThan64KiBOrMoreThan16MiBTogetherAreRefused) {
  for (const TokenType type : {kUser, kControl}) {
    EXPECT_EQ(refusal_of({{"<u>", kUser}, {std::string(65536, '='), type}}), "");
    EXPECT_EQ(refusal_of({{"<u>", kUser}, {std::string(65537, '='), type}}),
              "token 257 is an added or control token of 65537 bytes, expected at most 65536");
  }
  EXPECT_EQ(refusal_of({{std::string(65537, '=')}}), "") << "ordinary ones are not searched for";
  std::vector<ForgedToken> added;
  for (int i = 0; i < 256; ++i) added.push_back({std::to_string(1000 + i) + std::string(65532, '='), kControl});
  EXPECT_EQ(refusal_of(added), "");
  added.push_back({"a", kUser});
  EXPECT_EQ(refusal_of(added),
            "up to token 512 the added and control tokens have 16777217 bytes, expected at most 16777216");
}

TEST(AddedTokens, ATextOf4GiBIsRefused) {
  EXPECT_THROW((void)with_added({}).encode(std::string_view("", (size_t{1} << 32) - 1), {}), Error);
}

TEST(AddedTokens, AVeryLongTokenCostsNoMoreThanItsLengthAndTheText) {
  const std::string long_name(65'536, '=');
  const auto tokenizer = with_added({{long_name, kUser}, {"==", kUser}});
  std::string text;
  Ids wanted;
  for (int i = 0; i < 20; ++i) {
    text += std::string(65'534, '=') + 'x';  // nearly the long one
    wanted.insert(wanted.end(), 32'767, 257);
    wanted.push_back('x');
  }
  const std::clock_t start = std::clock();
  EXPECT_EQ(tokenizer.encode(text, {}), wanted);
  EXPECT_LT(std::clock() - start, 20 * CLOCKS_PER_SEC);
}

TEST(AddedTokens, TokensThatEndWhereALongerOneBeginsCostNoMoreThanTheText) {
  std::vector<ForgedToken> added;
  for (size_t n = 2; n <= 1000; ++n) added.push_back({std::string(n, '='), kUser});
  added.push_back({std::string(1000, '=') + 'x', kUser});
  const auto tokenizer = with_added(added);
  std::string text;
  for (int i = 0; i < 100; ++i) text += std::string(1999, '=') + 'x';
  const std::clock_t start = std::clock();
  Ids wanted;
  for (int i = 0; i < 100; ++i) wanted.insert(wanted.end(), {256 + 997, 256 + 999});
  EXPECT_EQ(tokenizer.encode(text, {}), wanted);
  EXPECT_LT(std::clock() - start, 20 * CLOCKS_PER_SEC);
}

}  // namespace
}  // namespace lockstep::tokenizer
