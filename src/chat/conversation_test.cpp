#include "chat/conversation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "base/error.h"
#include "engine/generate.h"
#include "forge/tiny_model.h"

namespace lockstep::chat {
namespace {

constexpr std::string_view kNow = "2026-01-02T03:04:05";
constexpr std::string_view kTemplate = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant: ";

// A conversation in which `n` questions were answered.
Conversation talk(int n) {
  Conversation conversation;
  for (int i = 0; i < n; ++i) {
    conversation.ask("question " + std::to_string(i));
    conversation.answer("answer " + std::to_string(i));
  }
  return conversation;
}

std::string shown(const Conversation& conversation) {
  std::string text;
  const Json input = conversation.prompt_input();
  for (const Json& message : input["messages"])
    text += message["role"].get<std::string>().substr(0, 1) + ":" + message["content"].get<std::string>() + " ";
  return text;
}

TEST(Conversation, BecomesMessagesInTheirOrder) {
  Conversation conversation = talk(1);
  conversation.set_system("be brief");
  conversation.ask("more");
  EXPECT_EQ(shown(conversation), "s:be brief u:question 0 a:answer 0 u:more ");
  EXPECT_EQ(conversation.prompt_input()["add_generation_prompt"], true);
}

TEST(Conversation, TakesQuestionsAndAnswersBack) {
  Conversation conversation = talk(2);
  EXPECT_TRUE(conversation.reopen());
  EXPECT_EQ(shown(conversation), "u:question 0 a:answer 0 u:question 1 ");
  EXPECT_FALSE(conversation.reopen());
  EXPECT_TRUE(conversation.undo());
  EXPECT_EQ(shown(conversation), "u:question 0 a:answer 0 ");
  conversation.clear();
  EXPECT_FALSE(conversation.undo());
  EXPECT_FALSE(conversation.reopen());
}

TEST(Conversation, WhatIsNoTextIsRefusedInQuestionsAndMadeVisibleInAnswers) {
  Conversation conversation;
  EXPECT_THROW(conversation.ask("caf\xc3"), Error);
  EXPECT_THROW(conversation.set_system("caf\xc3"), Error);
  EXPECT_EQ(conversation.n_turns(), 0u);
  conversation.ask("?");
  conversation.answer("caf\xc3");
  EXPECT_EQ(shown(conversation), "u:? a:caf\xef\xbf\xbd ");
}

TEST(Conversation, IsTheSameAfterItWasSaved) {
  Conversation conversation = talk(3);
  conversation.set_system("s");
  EXPECT_EQ(conversation.n_droppable(), 2u);
  conversation.drop_oldest(1);
  EXPECT_EQ(conversation.n_droppable(), 1u);
  Conversation restored = Conversation::restored(conversation.saved());
  EXPECT_EQ(restored.saved(), conversation.saved());
  EXPECT_EQ(restored.prompt_input(), conversation.prompt_input());
  EXPECT_EQ(restored.n_dropped(), 1u);
  EXPECT_EQ(Conversation::restored(Conversation().saved()).n_turns(), 0u);
}

TEST(Conversation, SavedInAnotherFormIsRefused) {
  for (const char* text :
       {"[]", "{}", R"({"messages":[]})", R"({"messages":5,"dropped":0})", R"({"messages":[],"dropped":-1})",
        R"({"messages":[],"dropped":1})", R"({"messages":[5],"dropped":0})",
        R"({"messages":[{"role":"assistant","content":"a"}],"dropped":0})",
        R"({"messages":[{"role":"user","content":5}],"dropped":0})",
        R"({"messages":[{"role":"user","content":"a"}],"dropped":1})",
        R"({"messages":[{"role":"user","content":"a"},{"role":"tool","content":"b"}],"dropped":0})"}) {
    EXPECT_THROW((void)Conversation::restored(Json::parse(text)), Error) << text;
  }
}

class Overflowing : public testing::Test {
 protected:
  static gguf::Metadata metadata() {
    const std::filesystem::path path = forge::test_file("tiny.gguf");
    forge::TinyModel(forge::tiny_llama()).write(path);
    return gguf::ModelFile::open(path).metadata();
  }
  [[nodiscard]] int64_t n_tokens(const Conversation& conversation) const {
    return static_cast<int64_t>(builder_.build(conversation.prompt_input(), kNow).ids.size());
  }

  tokenizer::Tokenizer tokenizer_ = tokenizer::Tokenizer::load(metadata());
  PromptBuilder builder_{tokenizer_, ChatTemplate(std::string(kTemplate))};
  tokenizer::FragmentMemory memory_;
};

TEST_F(Overflowing, IsAnErrorWithBothNumbers) {
  Conversation conversation = talk(5);
  conversation.ask("last");
  const int64_t n = n_tokens(conversation);
  EXPECT_EQ(next_prompt(conversation, builder_, kNow, {n, 10}, memory_).prompt.ids.size(), static_cast<size_t>(n));
  try {
    (void)next_prompt(conversation, builder_, kNow, {n - 1, 10}, memory_);
    FAIL() << "fits";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kContextFull);
    EXPECT_NE(std::string(error.what()).find(std::to_string(n)), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(std::to_string(n - 1)), std::string::npos) << error.what();
  }
}

TEST_F(Overflowing, DropsWholeTurnsFromTheOldestAndKeepsTheSystemText) {
  Conversation conversation = talk(5);
  conversation.set_system("be brief");
  conversation.ask("last");
  Conversation fresh = talk(0);
  fresh.set_system("be brief");
  for (const int i : {3, 4}) {
    fresh.ask("question " + std::to_string(i));
    fresh.answer("answer " + std::to_string(i));
  }
  fresh.ask("last");
  const int64_t wanted = n_tokens(fresh);
  const NextPrompt next = next_prompt(conversation, builder_, kNow, {wanted + 10, 10, Overflow::kDropOldest}, memory_);
  EXPECT_EQ(next.n_dropped, 3u);
  EXPECT_EQ(conversation.n_dropped(), 3u);
  EXPECT_EQ(next.prompt.ids, builder_.build(fresh.prompt_input(), kNow).ids);
  // Once dropped they stay so, and nothing more is dropped while there is room.
  EXPECT_EQ(next_prompt(conversation, builder_, kNow, {wanted + 10, 10, Overflow::kDropOldest}, memory_).n_dropped, 0u);
}

TEST_F(Overflowing, AsFewTurnsAreDroppedAsFit) {
  Conversation whole = talk(0);
  for (const size_t size : {5, 40, 1, 1, 90, 3, 0, 17, 60, 2, 8}) {
    whole.ask(std::string(size, 'q'));
    whole.answer(std::string(size % 7, 'a'));
  }
  whole.ask("last");
  std::vector<int64_t> wanted;  // by turns dropped
  for (size_t n = 0; n <= whole.n_droppable(); ++n) {
    Conversation conversation = whole;
    conversation.drop_oldest(n);
    wanted.push_back(n_tokens(conversation));
  }
  std::vector<int64_t> sizes = {wanted.back()};
  for (const int64_t n : wanted) sizes.insert(sizes.end(), {n + 9, n + 10});
  for (const int64_t ctx : sizes) {
    Conversation conversation = whole;
    const auto first = std::find_if(wanted.begin(), wanted.end() - 1, [&](int64_t n) { return n + 10 <= ctx; });
    const NextPrompt next = next_prompt(conversation, builder_, kNow, {ctx, 10, Overflow::kDropOldest}, memory_);
    EXPECT_EQ(next.n_dropped, static_cast<size_t>(first - wanted.begin())) << ctx;
    EXPECT_EQ(conversation.n_dropped(), next.n_dropped);
    EXPECT_EQ(next.prompt.ids, builder_.build(conversation.prompt_input(), kNow).ids) << ctx;
  }
}

TEST_F(Overflowing, ManyTurnsThatAreDroppedCostFewPrompts) {
  Conversation conversation = talk(8000);
  conversation.ask("last");
  const std::clock_t start = std::clock();
  EXPECT_GT(next_prompt(conversation, builder_, kNow, {250, 50, Overflow::kDropOldest}, memory_).n_dropped, 7900u);
  EXPECT_LT(std::clock() - start, 20 * CLOCKS_PER_SEC);
}

TEST_F(Overflowing, TheLastQuestionIsNeverDropped) {
  Conversation conversation = talk(3);
  conversation.ask(std::string(200, 'x'));
  try {
    (void)next_prompt(conversation, builder_, kNow, {100, 10, Overflow::kDropOldest}, memory_);
    FAIL() << "fits";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kContextFull);
    EXPECT_NE(std::string(error.what()).find("100"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace lockstep::chat
