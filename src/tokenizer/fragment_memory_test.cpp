#include "tokenizer/fragment_memory.h"

#include <gtest/gtest.h>

#include <random>

#include "tokenizer/forged_vocab_test.h"
#include "tokenizer/golden_vocab_test.h"
#include "tokenizer/tokenizer.h"

namespace lockstep::tokenizer {
namespace {

constexpr size_t kMostNames = 8;

// Texts of which many pairs differ in an edge or in their place only.
std::vector<std::string> texts_of(const Tokenizer& tokenizer) {
  std::vector<std::string> texts = {"",
                                    " ",
                                    "\n",
                                    "\n\n",
                                    "hello",
                                    " hello",
                                    "hello ",
                                    "hello\n",
                                    "hell",
                                    "Hello",
                                    "1234567",
                                    "\xe2\x96\x81",
                                    "h\xc3\xa9llo",
                                    "\xe6\xad",
                                    "[U]",
                                    "system\nYou",
                                    "user\n",
                                    "a\xe2\x96\x81"
                                    "b",
                                    "the town\n",
                                    "the",
                                    " town"};
  const size_t n_fixed = texts.size();
  for (size_t i = 0; i < tokenizer.n_tokens() && texts.size() < n_fixed + kMostNames; ++i) {
    const auto id = static_cast<TokenId>(i);
    if (tokenizer.is_control(id)) texts.emplace_back(tokenizer.piece(id));
  }
  return texts;
}

// Prompts as a conversation makes them: most continue the one before, some leave a part of it out or begin anew.
void expect_the_ids_of_no_memory(const Tokenizer& tokenizer, uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random()) % n; };
  const std::vector<std::string> texts = texts_of(tokenizer);
  FragmentMemory memory;
  std::vector<TextPiece> pieces;
  for (int prompt = 0; prompt < 40; ++prompt) {
    if (below(10) == 0) pieces.clear();
    if (!pieces.empty() && below(4) == 0)
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(below(pieces.size())));
    for (size_t n = below(8); n > 0; --n) pieces.push_back({texts[below(texts.size())], below(3) != 0});
    const bool add_special = below(2) == 0;
    ASSERT_EQ(tokenizer.encode(pieces, add_special, memory), tokenizer.encode(pieces, add_special)) << prompt;
  }
}

void expect_the_ids_of_no_memory(const Tokenizer& tokenizer) {
  for (uint32_t seed = 0; seed < 20; ++seed) expect_the_ids_of_no_memory(tokenizer, seed);
}

TEST(FragmentMemory, ChangesNoIdOfASmallVocabulary) {
  const std::vector<ForgedToken> added = {{"<|x|>", TokenType::kControl}, {"[U]", TokenType::kUserDefined}};
  std::vector<ForgedToken> spm = {{"he"}, {"ll"}, {"hell"}, {" hell"}, {"hello"}, {"\n\n"}};
  spm.insert(spm.end(), added.begin(), added.end());
  expect_the_ids_of_no_memory(Tokenizer::load(forge_spm(spm)));
  std::vector<ForgedToken> bpe = {{"he"}, {"ll"}, {"hell"}};
  bpe.insert(bpe.end(), added.begin(), added.end());
  expect_the_ids_of_no_memory(Tokenizer::load(forge_bpe(bpe, {"h e", "l l", "he ll"})));
}

TEST(FragmentMemory, ChangesNoIdOfPublishedVocabularies) {
  LOCKSTEP_NEEDS("LOCKSTEP_GOLDEN");
  for (const std::string& name : golden_vocab_names()) {
    SCOPED_TRACE(name);
    expect_the_ids_of_no_memory(golden_tokenizer(name));
  }
}

// One id for each byte; counts what it had to encode.
class CountingEncoder final : public FragmentEncoder {
 public:
  void encode(std::string_view text, std::vector<TokenId>& out) const override {
    ++n_texts;
    out.insert(out.end(), text.begin(), text.end());
  }
  mutable int n_texts = 0;
};

TEST(FragmentMemory, EncodesWhatTheLastPromptHadNoSecondTime) {
  const CountingEncoder encoder;
  FragmentMemory memory;
  std::vector<std::string> said;
  for (int turn = 0; turn < 50; ++turn) {
    said.push_back("turn " + std::to_string(turn));
    memory.begin_prompt();
    for (const std::string& text : said)
      EXPECT_EQ(memory.ids_of(text, encoder), std::vector<TokenId>(text.begin(), text.end()));
  }
  EXPECT_EQ(encoder.n_texts, 50);
}

TEST(FragmentMemory, ForgetsWhatTwoPromptsDidNotRepeat) {
  const CountingEncoder encoder;
  FragmentMemory memory;
  for (int prompt = 0; prompt < 3; ++prompt) {
    memory.begin_prompt();
    (void)memory.ids_of(prompt == 1 ? "b" : "a", encoder);
  }
  EXPECT_EQ(encoder.n_texts, 3);
}

}  // namespace
}  // namespace lockstep::tokenizer
