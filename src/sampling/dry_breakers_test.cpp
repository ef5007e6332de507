#include "sampling/dry_breakers.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace lockstep::sampling {
namespace {

using Texts = std::vector<std::string>;

const Texts kVocabulary = {"x\n", "ab", "c", "xa", "abcx", "b", "", "abcxab"};

TokenSequence encode(const std::string& text) {
  return text == "c" ? TokenSequence{2} : TokenSequence{5, 2};
}

DryBreakers of(const Texts& texts, const Texts& vocabulary = kVocabulary) {
  return DryBreakers::of_texts(
      texts, static_cast<int32_t>(vocabulary.size()),
      [&](TokenId id) -> std::string_view { return vocabulary[static_cast<size_t>(id)]; }, encode);
}

std::string refusal(const Texts& texts, const Texts& vocabulary = kVocabulary) {
  try {
    static_cast<void>(of(texts, vocabulary));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(DryBreakers, FindsTokensThatHoldOrBeginABreaker) {
  EXPECT_EQ(of({"\n", "abc", ""}).sequences(), (std::vector<TokenSequence>{{0}, {1, 2}, {3, 5, 2}, {4}, {7}}));
  EXPECT_TRUE(of({}).empty());
  EXPECT_TRUE(of({"q"}).empty());
}

TEST(DryBreakers, OneTextMayBeginAnother) {
  EXPECT_EQ(of({"abc", "ab", "abcxy"}).sequences(),
            (std::vector<TokenSequence>{{1}, {1, 2}, {1, 5, 2}, {3, 5, 2}, {4}, {4, 5, 2}, {7}, {7, 5, 2}}));
}

TEST(DryBreakers, TheLongestAtAPlaceAndSingleTokensAreTold) {
  const DryBreakers breakers = {{4, 1}, {2}, {2, 3}};
  EXPECT_EQ(breakers.longest_at(TokenSequence{2, 3, 9}), 2U);
  EXPECT_EQ(breakers.longest_at(TokenSequence{2, 9}), 1U);
  EXPECT_EQ(breakers.longest_at(TokenSequence{4}), 0U);
  EXPECT_TRUE(breakers.has_alone(2));
  EXPECT_FALSE(breakers.has_alone(4));
}

TEST(DryBreakers, ARestIsEncodedOnceHoweverManyTokensItFollows) {
  size_t n_encoded = 0;
  const std::string word = "se";
  const auto piece = [&](TokenId) -> std::string_view { return word; };
  const auto counted = [&](const std::string& text) {
    ++n_encoded;
    return encode(text);
  };
  const Texts texts = {"e0", "e1", "ee0"};
  const DryBreakers breakers = DryBreakers::of_texts(texts, 1000, piece, counted);
  EXPECT_EQ(n_encoded, 3U);
  EXPECT_EQ(breakers.sequences().size(), 1000U);  // the rests are the same tokens here
}

TEST(DryBreakers, MoreTextsBytesOrSequencesThanTheLimitsAreRefusedByName) {
  Texts texts;
  for (int i = 0; i < 128; ++i) texts.push_back("e" + std::to_string(i));
  EXPECT_EQ(refusal(texts), "");
  EXPECT_EQ(refusal({128, std::string(512, 'q')}), "");
  EXPECT_NE(refusal(texts, Texts(40000, "se")).find("dry_sequence_breaker: more than 4194304"), std::string::npos);
  EXPECT_NE(refusal({std::string(70000, 'q')}).find("dry_sequence_breaker: 70000 bytes"), std::string::npos);
  texts.push_back("f");
  EXPECT_NE(refusal(texts).find("dry_sequence_breaker: 129 texts, expected at most 128"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::sampling
