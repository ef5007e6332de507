// `info` as a person reads it, of a file whose every text is hostile.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "base/utf8.h"
#include "forge/tiny_model.h"
#include "gguf/model_file.h"
#include "program_call_test.h"

namespace lockstep {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;
constexpr size_t kLongName = 65000;  // more than 65,535 bytes are refused

// Title, clear, clipboard, CSI as one C1 character, DEL, a line of its own, what is not UTF-8; then many letters.
std::string hostile(size_t n_letters = kMegabyte) {
  return "\x1b]0;x\x07\x1b[2J\x1b]52;c;eA==\x07\xc2\x9b\x7f\r\n\xff" + std::string(n_letters, 'a');
}

// The keys' and tensors' names are as hostile as the values, and so is the token that ends an answer.
std::string hostile_file() {
  const auto path = forge::test_file("hostile.gguf");
  forge::TinyModel model(forge::tiny_llama());
  model.write(path);
  const gguf::ModelFile plain = gguf::ModelFile::open(path);
  const gguf::Value* tokens = plain.metadata().find("tokenizer.ggml.tokens");
  auto texts = std::get<std::vector<std::string>>(std::get<gguf::ArrayValue>(*tokens));
  texts[2] = hostile();
  model.set_key("tokenizer.ggml.tokens", gguf::ArrayValue(texts));
  model.set_key("general.architecture", hostile());
  model.set_key(hostile(kLongName), hostile());
  model.set_key("list", gguf::ArrayValue(std::vector<std::string>(3, hostile())));
  model.tensor("output_norm.weight").name = hostile(kLongName);
  model.write(path);
  return path.string();
}

// The first character that a terminal would obey; the end of the text when there is none.
size_t first_control(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_valid_length(text.substr(i));
    if (length == 0) return i;
    const uint32_t c = utf8_decode(text.substr(i), length);
    if ((c < 0x20 && c != '\n') || (c >= 0x7f && c < 0xa0)) return i;
    i += length;
  }
  return text.size();
}

TEST(InfoText, ControlBytesOfKeysValuesAndTensorNamesAreEscapedAndLongValuesAreCut) {
  const ProgramCall call = call_program({"info", hostile_file()});
  ASSERT_EQ(call.status, 0) << call.out.substr(0, 1000);
  const size_t control = first_control(call.out);
  EXPECT_EQ(control, call.out.size()) << call.out.substr(control, 20);
  size_t n_hostile = 0;
  std::istringstream lines(call.out);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 400u) << line.substr(0, 400);
    EXPECT_FALSE(line.starts_with("a")) << "a line that the file made";
    if (line.find(R"(\x1B]0;x\x07\x1B[2J\x1B]52;c;eA==\x07\xC2\x9B\x7F)") != line.npos) ++n_hostile;
  }
  // The architecture, a key with its value, the list, the tokens, the tensor, the token that ends an answer.
  EXPECT_GE(n_hostile, 5u);
}

}  // namespace
}  // namespace lockstep
