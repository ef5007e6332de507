#include "chat/json_fields.h"

#include <gtest/gtest.h>

#include <ctime>

#include "chat/template_words.h"
#include "chat/text_marks.h"
#include "tokenizer/forged_vocab_test.h"

namespace lockstep::chat {
namespace {

// Searching all of so many fields at each insertion takes minutes.
constexpr size_t kMany = 200000;
constexpr double kLinearSeconds = 10;

double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

Json many_fields(const std::string& prefix) {
  JsonFields fields;
  for (size_t i = 0; i < kMany; ++i) fields.add(prefix + std::to_string(i), i);
  return fields.take();
}

TEST(JsonFields, KeepTheirOrder) {
  JsonFields fields;
  fields.add("b", 1);
  fields.add("a", Json::array({2}));
  EXPECT_EQ(fields.take().dump(), R"({"b":1,"a":[2]})");
  EXPECT_EQ(fields.take().dump(), "{}");
}

TEST(JsonFields, AnUpdateIsThatOfTheLibrary) {
  const Json object = {{"x", 1}, {"y", 2}, {"z", 3}};
  for (const Json& changes : {Json::object(), Json({{"new", 1}, {"y", nullptr}, {"also", 2}}), object}) {
    Json expected = object;
    expected.update(changes);
    EXPECT_EQ(updated(object, changes).dump(), expected.dump());
  }
  EXPECT_EQ(without(object, {{"y", 0}, {"other", 0}}).dump(), R"({"x":1,"z":3})");
  EXPECT_EQ(without(object, Json::object()), object);
}

TEST(JsonFields, ManyAreChangedInLinearTime) {
  const double start = processor_seconds();
  const Json object = updated(many_fields("a"), many_fields("b"));
  EXPECT_EQ(object.size(), 2 * kMany);
  EXPECT_EQ(without(object, many_fields("a")), many_fields("b"));
  EXPECT_LT(processor_seconds() - start, kLinearSeconds);
}

TEST(JsonFields, ManyAreMarkedInLinearTime) {
  const auto tokenizer =
      tokenizer::Tokenizer::load(tokenizer::forge_bpe({{"<|end|>", tokenizer::TokenType::kControl}}, {}));
  const ControlTexts controls(tokenizer);
  const TemplateWords words("{{ messages }}");
  TextMarks marks(controls, words, "");
  const Json conversation = {{"messages", Json::array({{{"role", "user"}, {"content", many_fields("a|")}}})}};
  const double start = processor_seconds();
  EXPECT_EQ(marks.marked(conversation, MarkLevel::kPunctuation)["messages"][0]["content"].size(), kMany);
  EXPECT_LT(processor_seconds() - start, kLinearSeconds);
}

}  // namespace
}  // namespace lockstep::chat
