#include "chat/control_texts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "chat/control_vocabulary_test.h"
#include "chat/template_words.h"
#include "chat/text_cover.h"

namespace lockstep::chat {
namespace {

using Texts = std::vector<std::string_view>;

ControlTexts controls_of(const std::vector<std::string>& names) {
  return ControlTexts(tokenizer::Tokenizer::load(vocabulary_with(names)));
}

TEST(ControlTexts, MayBeCompletedFromAnEdgeOrAnInside) {
  const ControlTexts controls = controls_of({"<|im_End|>", "[INST]"});
  for (const char* text : {"a<b", "x|>", "im_end", "IM", "|", "nst", "S"})
    EXPECT_TRUE(controls.may_become_control(Texts{"quite", "harmless", text})) << text;
  EXPECT_TRUE(controls.may_become_control(Texts{"im", "harmless"}));
  for (const char* text : {"", "im_ends", "instant", "mi", "im_en d", "q"})
    EXPECT_FALSE(controls.may_become_control(Texts{text})) << text;
  EXPECT_FALSE(controls.may_become_control({}));
  EXPECT_FALSE(controls_of({}).may_become_control(Texts{"<", ""}));
}

// More than is searched for at once.
TEST(ControlTexts, TheOneTextThatMayBeCompletedIsFoundAmongMany) {
  const ControlTexts controls = controls_of({"<" + std::string(3000, 'a') + "b>"});
  std::vector<std::string> others;
  for (int i = 0; i < 4000; ++i) others.push_back(std::string(2000, 'a') + std::to_string(i));
  Texts texts(others.begin(), others.end());
  EXPECT_FALSE(controls.may_become_control(texts));
  for (const size_t place : {size_t{0}, size_t{1999}, size_t{2000}, size_t{2100}, size_t{4000}}) {
    Texts with_one = texts;
    with_one.insert(with_one.begin() + static_cast<std::ptrdiff_t>(place), "AAB");
    EXPECT_TRUE(controls.may_become_control(with_one)) << place;
  }
}

// As long as a vocabulary may have control tokens.
TEST(ControlTexts, LongTextsThatAreAlmostInsideLongOnesCostNoMoreThanBoth) {
  std::vector<std::string> names;
  for (int i = 100; i < 350; ++i) names.push_back("<" + std::string(65'500, 'a') + std::to_string(i) + ">");
  const ControlTexts controls = controls_of(names);
  std::vector<std::string> almost;
  for (size_t i = 0; i < 20; ++i) almost.push_back(std::string(32'000 + i, 'a') + "b");
  const Texts texts(almost.begin(), almost.end());
  const std::clock_t start = std::clock();
  EXPECT_FALSE(controls.may_become_control(texts));
  EXPECT_LT(std::clock() - start, 20 * CLOCKS_PER_SEC);
}

TEST(ControlTexts, ManyShortTextsAreSearchedForTogether) {
  std::vector<std::string> names;
  for (int i = 0; i < 6000; ++i) names.push_back("<unused" + std::to_string(i) + ">");
  const ControlTexts controls = controls_of(names);
  std::vector<std::string> requested(600'000, "uz");
  for (size_t i = 0; i < requested.size(); ++i) {
    for (size_t rest = i; rest > 0; rest /= 16) requested[i] += static_cast<char>('a' + rest % 16);
  }
  const Texts texts(requested.begin(), requested.end());
  const std::clock_t start = std::clock();
  EXPECT_FALSE(controls.may_become_control(texts));
  EXPECT_LT(std::clock() - start, 20 * CLOCKS_PER_SEC);
}

TEST(CoveredBy, IsWhereAnyOfTheTextsStands) {
  const std::vector<std::string> wanted = {"aa", "aaaa", "ab", "bcb", "cbcbc", "d"};
  const TextMatcher matcher(Texts(wanted.begin(), wanted.end()));
  uint32_t random = 1;
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (int i = 0; i < round % 40; ++i)
      text += static_cast<char>('a' + ((random = random * 1664525 + 1013904223) >> 30));
    std::vector<bool> expected(text.size());
    for (const std::string& one : wanted) {
      for (size_t at = text.find(one); at != text.npos; at = text.find(one, at + 1))
        std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(at), one.size(), true);
    }
    EXPECT_EQ(covered_by(matcher, text), expected) << text;
  }
}

TEST(TemplateWords, CoverLiteralsOfMoreThanOneByte) {
  const TemplateWords words("{{ 'ab' }}{% if m == \"ba\" or m == 'x' %}{{ 'ab' }}'cd'{% endif %}");
  EXPECT_EQ(words.cover("xabacdb"), (std::vector<bool>{false, true, true, true, false, false, false}));
}

TEST(TemplateWords, LiteralsThatOverlapCostNoMoreThanTheText) {
  std::string source;
  for (size_t n = 2; n <= 64; ++n) source += "{{ '" + std::string(n, 'a') + "' }}";
  const TemplateWords words(source);
  const std::string text = std::string(64'000'000, 'a') + "<";
  const std::clock_t start = std::clock();
  const std::vector<bool> covered = words.cover(text);
  EXPECT_LT(std::clock() - start, 20 * CLOCKS_PER_SEC);
  EXPECT_EQ(std::count(covered.begin(), covered.end(), true), 64'000'000);
}

}  // namespace
}  // namespace lockstep::chat
