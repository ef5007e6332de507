// Every token id of the golden data, which independent implementations computed (golden/README.md names them).
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tokenizer/golden_vocab_test.h"

namespace lockstep::tokenizer {
namespace {

std::string read_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// The texts of a .inp file. The last of `count` texts may lack its separator; nothing else may follow it.
std::vector<std::string> published_texts(const std::filesystem::path& file, size_t count) {
  constexpr std::string_view kSeparator = "\n__ggml_vocab_test__\n";
  const std::string all = read_file(file);
  std::vector<std::string> texts;
  size_t begin = 0;
  for (size_t at = all.find(kSeparator); at != std::string::npos; at = all.find(kSeparator, begin)) {
    texts.push_back(all.substr(begin, at - begin));
    begin = at + kSeparator.size();
  }
  if (texts.size() < count) texts.push_back(all.substr(begin));
  return texts;
}

std::vector<std::vector<TokenId>> published_ids(const std::filesystem::path& file) {
  std::vector<std::vector<TokenId>> rows;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    rows.emplace_back();
    for (TokenId id = 0; words >> id;) rows.back().push_back(id);
  }
  return rows;
}

void expect_vectors(const Tokenizer& tokenizer, const std::vector<TextVector>& vectors) {
  ASSERT_EQ(vectors.size(), 300u);
  for (const TextVector& v : vectors) {
    EXPECT_EQ(tokenizer.encode(v.text, {false, false}), v.ids) << "text: " << v.text;
    EXPECT_EQ(tokenizer.encode(v.text, {true, true}), v.ids_special) << "text, special: " << v.text;
    EXPECT_EQ(tokenizer.decode(v.ids, {}), v.text);
  }
}

class GoldenVocab : public testing::TestWithParam<std::string> {};

TEST_P(GoldenVocab, GivesThePublishedIds) {
  LOCKSTEP_NEEDS("LOCKSTEP_GOLDEN");
  const auto folder = folder_from("LOCKSTEP_GOLDEN") / "vocab";
  const auto ids = published_ids(folder / ("ggml-vocab-" + GetParam() + ".gguf.out"));
  const auto texts = published_texts(folder / ("ggml-vocab-" + GetParam() + ".gguf.inp"), ids.size());
  ASSERT_GE(texts.size(), 40u);
  ASSERT_EQ(texts.size(), ids.size());
  const Tokenizer& tokenizer = golden_tokenizer(GetParam());
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(tokenizer.encode(texts[i], {}), ids[i]) << "text: " << texts[i];
    EXPECT_EQ(tokenizer.decode(ids[i], {}), texts[i]);
  }
}

TEST_P(GoldenVocab, GivesTheIdsOfThreeHundredTexts) {
  LOCKSTEP_NEEDS("LOCKSTEP_GOLDEN");
  expect_vectors(golden_tokenizer(GetParam()),
                 read_text_vectors(folder_from("LOCKSTEP_GOLDEN") / "vocab" / (GetParam() + ".texts.jsonl")));
}

std::string test_name(const testing::TestParamInfo<std::string>& parameter) {
  std::string name = parameter.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Vocab, GoldenVocab, testing::ValuesIn(golden_vocab_names()), test_name);

TEST(GoldenModel, SmolLm2GivesTheIdsOfThreeHundredTexts) {
  LOCKSTEP_NEEDS("LOCKSTEP_GOLDEN");
  LOCKSTEP_NEEDS("LOCKSTEP_MODELS");
  expect_vectors(loaded_tokenizer(folder_from("LOCKSTEP_MODELS") / "SmolLM2-135M-Instruct.Q4_1.gguf"),
                 read_text_vectors(folder_from("LOCKSTEP_GOLDEN") / "smollm2" / "texts.jsonl"));
}

TEST(GoldenModel, Gemma3GivesTheIdsOfThreeHundredTexts) {
  LOCKSTEP_NEEDS("LOCKSTEP_GOLDEN");
  LOCKSTEP_NEEDS("LOCKSTEP_MODELS");
  expect_vectors(loaded_tokenizer(folder_from("LOCKSTEP_MODELS") / "gemma-3-270m-q4_k_m.gguf"),
                 read_text_vectors(folder_from("LOCKSTEP_GOLDEN") / "gemma3" / "texts.jsonl"));
}

}  // namespace
}  // namespace lockstep::tokenizer
