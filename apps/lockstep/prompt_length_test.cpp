// Texts that are too long for the context whatever their tokens are: refused before they are cut into tokens, by every
// way that a text comes.
#include <gtest/gtest.h>

#include <fstream>

#include "forge/tiny_model.h"
#include "program_call_test.h"

namespace lockstep {
namespace {

using Arguments = std::vector<std::string>;

class LongPrompt : public testing::Test {
 protected:
  // Its vocabulary spells every byte, and its longest token has 18 letters.
  void SetUp() override { forge::TinyModel(forge::smallest_llama()).write(model_); }

  static std::string written(const std::string& text) {
    const auto path = forge::test_file("prompt.txt");
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

  const std::string model_ = forge::test_file("small.gguf").string();
};

TEST_F(LongPrompt, IsRefusedByItsLengthAlone) {
  const std::string refusal = "200000 bytes of text, at least 11111 tokens, do not fit the context of 64";
  const std::string text(200000, 'a');
  for (const Arguments& source : {Arguments{"-p", text}, Arguments{"-f", written(text)}}) {
    Arguments arguments = {"complete", model_, "-c", "64", "-n", "1", "--json"};
    arguments.insert(arguments.end(), source.begin(), source.end());
    const ProgramCall call = call_program(arguments);
    EXPECT_EQ(call.status, 1);
    EXPECT_NE(call.out.find(refusal), std::string::npos) << call.out;
  }
}

TEST_F(LongPrompt, ThatMayFitIsCutIntoTokens) {
  const ProgramCall call =
      call_program({"complete", model_, "-p", std::string(128, '?'), "-c", "64", "-n", "1", "--json"});
  EXPECT_EQ(call.status, 1);
  EXPECT_EQ(call.out.find("at least"), std::string::npos) << call.out;
  EXPECT_NE(call.out.find("context"), std::string::npos) << call.out;
}

}  // namespace
}  // namespace lockstep
