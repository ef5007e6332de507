// Every chat template of the golden data on every conversation there, against what Python's Jinja2 made of them.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "chat/adapt_messages.h"
#include "chat/chat_template.h"

namespace lockstep::chat {
namespace {

class TemplateGolden : public testing::Test {
 protected:
  void SetUp() override {
    const char* golden = std::getenv("LOCKSTEP_GOLDEN");
    if (golden == nullptr) GTEST_SKIP() << "LOCKSTEP_GOLDEN is not set: no data to compare with";
    folder_ = std::filesystem::path(golden) / "templates";
    cases_ = Json::parse(read_text_file(folder_ / "cases.json"));
  }

  [[nodiscard]] Json variables_of(const std::string& name) const {
    Json variables = cases_["always"];
    variables.update(cases_["cases"][name]);
    return variables;
  }

  // The text, or "error: " and the message.
  [[nodiscard]] std::string render(const std::string& file, const std::string& name) const {
    const ChatTemplate chat_template(read_text_file(folder_ / file));
    try {
      return render_adapted(chat_template, variables_of(name), cases_["now"].get<std::string>()).text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kTemplate) << file << " " << name;
      return std::string("error: ") + error.what();
    }
  }

  [[nodiscard]] std::vector<Json> renders() const {
    std::vector<Json> lines;
    std::ifstream in(folder_ / "renders.jsonl");
    for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line));
    return lines;
  }

  std::filesystem::path folder_;
  Json cases_;
};

TEST_F(TemplateGolden, EveryTextIsEqual) {
  size_t n_texts = 0;
  for (const Json& expected : renders()) {
    if (!expected.contains("text")) continue;
    ++n_texts;
    const std::string file = expected["template"];
    const std::string name = expected["case"];
    EXPECT_EQ(render(file, name), expected["text"].get<std::string>()) << file << " " << name;
  }
  EXPECT_GE(n_texts, 575U);
}

TEST_F(TemplateGolden, EveryRefusalHasTheTemplatesOwnWords) {
  size_t n_refusals = 0;
  for (const Json& expected : renders()) {
    if (expected.value("error", "") != "TemplateError") continue;
    ++n_refusals;
    const std::string file = expected["template"];
    const std::string name = expected["case"];
    EXPECT_EQ(render(file, name),
              "error: the chat template refuses the conversation: " + expected["message"].get<std::string>())
        << file << " " << name;
  }
  EXPECT_GE(n_refusals, 13U);
}

}  // namespace
}  // namespace lockstep::chat
