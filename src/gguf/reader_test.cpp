// The damaged files of public bug reports (headers and metadata), forged byte by byte.
#include "gguf/reader.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <functional>

#include "forge/peak_memory.h"
#include "gguf/forged_file_test.h"
#include "gguf/writer.h"

namespace lockstep::gguf {
namespace {

constexpr uint64_t kMost = ~uint64_t{0};

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// What a good file with two keys of each shape and one tensor of 32 bytes looks like.
std::string small_file() {
  ByteBuilder file;
  file.header(1, 3);
  file.key("general.name", ValueType::kString).text("tiny");
  file.array("words", ValueType::kString, 2).text("a").text("bc");
  file.array("numbers", ValueType::kU64, 1).number(uint64_t{7});
  file.tensor("weight", {8}, 0, 0);
  return file.data(32).bytes();
}

// A file of one key/value record and nothing else; `value` follows the key's name and type.
std::string one_key(std::string_view key, ValueType type, const ByteBuilder& value) {
  return ByteBuilder().header(0, 1).key(key, type).raw(value.bytes()).bytes();
}

double seconds_of(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(Reader, AcceptsTheSmallFileThatTheOtherTestsDamage) {
  EXPECT_EQ(refusal_of(small_file()), "");
}

TEST(Reader, RefusesEveryProperPrefix) {
  const std::string file = small_file();
  for (size_t n = 0; n < file.size(); ++n) {
    const std::string message = refusal_of(std::string_view(file).substr(0, n));
    const bool says_so = contains(message, "ends early") || contains(message, "bytes left") ||
                         contains(message, "tensor \"weight\" [8] F32: 32 bytes at offset 0 of the data, but only");
    EXPECT_TRUE(says_so) << n << " bytes: " << message;
  }
}

TEST(Reader, RefusesCountsThatTheFileCannotHold) {
  for (const uint64_t count : {uint64_t{1} << 40, uint64_t{1} << 63, kMost}) {
    EXPECT_EQ(refusal_of(ByteBuilder().header(0, count).bytes()),
              fmt::format("header: key count is {}, but the 0 bytes left hold at most 0", count));
    EXPECT_EQ(refusal_of(ByteBuilder().header(count, 0).bytes()),
              fmt::format("header: tensor count is {}, but the 8 bytes left hold at most 0", count));
  }
}

TEST(Reader, RefusesAKeyNameLongerThanTheFile) {
  const std::string start = ByteBuilder().header(0, 2).key("first", ValueType::kU8).number(uint8_t{1}).bytes();
  const std::string rest(30, 'x');
  for (const uint64_t length : {kMost, uint64_t{1} << 63, uint64_t{31}}) {
    EXPECT_EQ(refusal_of(ByteBuilder().raw(start).number(length).raw(rest).bytes()),
              fmt::format("key 2 of 2: the file ends early in its name: {} bytes wanted, 30 left", length));
  }
}

TEST(Reader, RefusesStringsLongerThanTheFile) {
  for (const uint64_t length : {kMost, uint64_t{1} << 63, uint64_t{6}}) {
    EXPECT_EQ(refusal_of(one_key("text", ValueType::kString, ByteBuilder().number(length).raw("12345"))),
              fmt::format("key \"text\": the file ends early in string: {} bytes wanted, 5 left", length));
    ByteBuilder array;
    array.number(static_cast<uint32_t>(ValueType::kString)).number(uint64_t{3});
    array.text("a").text("b").number(length).raw("12345");
    EXPECT_EQ(refusal_of(one_key("words", ValueType::kArray, array)),
              fmt::format("key \"words\", item 2: the file ends early in string: {} bytes wanted, 5 left", length));
  }
}

TEST(Reader, RefusesArraysLongerThanTheFile) {
  for (const uint64_t count : {uint64_t{1} << 61, uint64_t{2}, kMost}) {
    const std::string file =
        ByteBuilder().header(0, 1).array("ids", ValueType::kU64, count).number(uint64_t{1}).bytes();
    EXPECT_EQ(refusal_of(file),
              fmt::format("key \"ids\": element count is {}, but the 8 bytes left hold at most 1", count));
  }
}

TEST(Reader, RefusesNestedArraysWithoutRecursion) {
  ByteBuilder nested;
  for (int depth = 0; depth < 10000; ++depth) nested.number(uint32_t{9}).number(uint64_t{1});
  EXPECT_EQ(refusal_of(one_key("deep", ValueType::kArray, nested)), "key \"deep\": arrays of arrays are not supported");
}

TEST(Reader, RefusesUnknownValueTypes) {
  for (const uint32_t type : {13u, 255u, ~0u}) {
    EXPECT_EQ(refusal_of(one_key("k", static_cast<ValueType>(type), ByteBuilder().number(uint64_t{0}))),
              fmt::format("key \"k\": unknown value type {}, the types are 0 to 12", type));
    EXPECT_EQ(refusal_of(ByteBuilder().header(0, 1).array("k", static_cast<ValueType>(type), 1).number(1.0).bytes()),
              fmt::format("key \"k\": unknown element type {}, the types are 0 to 12", type));
  }
}

TEST(Reader, RefusesADuplicateAndAnEmptyKey) {
  ByteBuilder twice;
  twice.header(0, 3).key("a", ValueType::kU8).number(uint8_t{1}).key("b", ValueType::kU8).number(uint8_t{1});
  EXPECT_EQ(refusal_of(twice.key("a", ValueType::kU8).number(uint8_t{2}).bytes()), "key \"a\": the key is there twice");
  EXPECT_EQ(refusal_of(one_key("", ValueType::kU32, ByteBuilder().number(1u))), "key 1 of 1: the key is empty");
}

TEST(Reader, RefusesAKeyOfMoreThan65535Bytes) {
  const ByteBuilder value = ByteBuilder().number(uint8_t{1});
  EXPECT_EQ(refusal_of(one_key(std::string(65535, 'k'), ValueType::kU8, value)), "");
  EXPECT_EQ(refusal_of(one_key(std::string(65536, 'k'), ValueType::kU8, value)),
            "key 1 of 1: the key has 65536 bytes, expected at most 65535");
}

TEST(Reader, RefusesBooleansOtherThan0And1) {
  EXPECT_EQ(refusal_of(one_key("b", ValueType::kBool, ByteBuilder().number(uint8_t{2}))),
            "key \"b\": found 2, wanted a bool of 0 or 1");
  EXPECT_EQ(refusal_of(ByteBuilder().header(0, 1).array("b", ValueType::kBool, 2).raw(std::string("\1\xff")).bytes()),
            "key \"b\", item 1: found 255, wanted a bool of 0 or 1");
}

TEST(Reader, RefusesAlignmentsThatAreNoPowerOfTwoOrTooLarge) {
  for (const uint32_t alignment : {0u, 3u, 1u << 21, 1u << 31}) {
    EXPECT_EQ(refusal_of(one_key("general.alignment", ValueType::kU32, ByteBuilder().number(alignment))),
              fmt::format("key \"general.alignment\": found {}, wanted a power of two from 1 to 1048576", alignment));
  }
}

TEST(Reader, RefusesAlignmentsOfAnotherType) {
  const auto message = [](std::string_view type) {
    return fmt::format("key \"general.alignment\": found {}, wanted u32", type);
  };
  const std::string key = "general.alignment";
  EXPECT_EQ(refusal_of(one_key(key, ValueType::kI32, ByteBuilder().number(32))), message("i32"));
  EXPECT_EQ(refusal_of(one_key(key, ValueType::kU64, ByteBuilder().number(uint64_t{32}))), message("u64"));
  EXPECT_EQ(refusal_of(one_key(key, ValueType::kString, ByteBuilder().text("32"))), message("string"));
  EXPECT_EQ(refusal_of(ByteBuilder().header(0, 1).array(key, ValueType::kU32, 1).number(32u).bytes()),
            message("array"));
}

TEST(Reader, SaysThatAFileIsBigEndian) {
  std::string swapped_version = small_file();
  std::swap(swapped_version[4], swapped_version[7]);
  EXPECT_EQ(refusal_of(swapped_version), "header: big-endian byte order (version 3), wanted a little-endian file");
  std::string swapped_magic = small_file();
  swapped_magic.replace(0, 4, "FUGG");
  EXPECT_EQ(refusal_of(swapped_magic), "header: big-endian byte order, wanted a little-endian file");
}

TEST(Reader, RefusesOtherVersionsAndOtherFiles) {
  for (const uint32_t version : {0u, 1u, 4u}) {
    EXPECT_EQ(refusal_of(ByteBuilder().header(0, 0, version).bytes()),
              fmt::format("header: GGUF version {}, wanted 2 or 3", version));
  }
  EXPECT_EQ(refusal_of("\x7f"
                       "ELF............................"),
            "header: not a GGUF file: it begins with \"\\x7FELF\"");
}

// Version 2 has the layout of version 3, which added big-endian files.
TEST(Reader, Version2IsReadAsVersion3) {
  const std::string third = small_file();
  std::string second = third;
  second[4] = 2;
  const auto path = forged_path("second.gguf");
  const auto path_of_third = forged_path("third.gguf");
  write_bytes(path, second);
  write_bytes(path_of_third, third);
  const ModelFile got = ModelFile::open(path);
  const ModelFile wanted = ModelFile::open(path_of_third);
  ASSERT_EQ(got.metadata().entries().size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(got.metadata().entries()[i].key, wanted.metadata().entries()[i].key);
    EXPECT_EQ(got.metadata().entries()[i].value, wanted.metadata().entries()[i].value);
  }
  ASSERT_EQ(got.tensors().size(), 1u);
  EXPECT_EQ(got.tensors()[0].name, wanted.tensors()[0].name);
  EXPECT_EQ(got.tensors()[0].shape, wanted.tensors()[0].shape);
  EXPECT_EQ(got.data_start(0), wanted.data_start(0));
}

TEST(Reader, ShowsControlBytesOfAKeyEscaped) {
  EXPECT_EQ(refusal_of(one_key("a\n\x1b[2J", ValueType::kBool, ByteBuilder().number(uint8_t{9}))),
            "key \"a\\x0A\\x1B[2J\": found 9, wanted a bool of 0 or 1");
}

TEST(Reader, AMillionKeysLoadInUnderThreeSeconds) {
  constexpr uint64_t kKeys = 1000000;
  ByteBuilder file;
  file.header(0, kKeys);
  for (uint64_t i = 0; i < kKeys; ++i) file.key(fmt::format("key.{}", i), ValueType::kU8).number(uint8_t(i));
  const auto path = forged_path("million.gguf");
  write_bytes(path, file.bytes());
  const double seconds = seconds_of([&] {
    const ModelFile model = ModelFile::open(path);
    EXPECT_EQ(model.metadata().entries().size(), kKeys);
    EXPECT_EQ(model.metadata().get_uint("key.999999"), 999999 % 256);
  });
  EXPECT_LT(seconds, kSanitized ? 30.0 : 3.0);
  std::filesystem::remove(path);
}

TEST(Reader, AVocabularyOf256000TokensLoadsQuickly) {
  Writer writer;
  std::vector<std::string> tokens(256000);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = fmt::format("token{}", i);
  std::vector<std::string> merges(500000);
  for (size_t i = 0; i < merges.size(); ++i) merges[i] = fmt::format("to ken{}", i);
  writer.add("tokenizer.ggml.scores", ArrayValue(std::vector<float>(tokens.size(), 0.5f)));
  writer.add("tokenizer.ggml.tokens", ArrayValue(std::move(tokens)));
  writer.add("tokenizer.ggml.merges", ArrayValue(std::move(merges)));
  const auto path = forged_path("vocabulary.gguf");
  writer.write(path);
  const double seconds = seconds_of([&] {
    const ModelFile model = ModelFile::open(path);
    EXPECT_EQ(model.metadata().find_array<std::string>("tokenizer.ggml.merges")->back(), "to ken499999");
  });
  EXPECT_LT(seconds, kSanitized ? 20.0 : 2.0);  // 0.1 s on an idle machine
  std::filesystem::remove(path);
}

// What opening a file of `n_strings` empty strings and a key of the type `wrong` takes beside the file's size.
struct Refusal {
  uint64_t n_strings;
  ValueType wrong;
  std::string_view message;
  uint64_t most_memory;
};

// The strings would take four times their place in the file. The first file is refused by the walk that only checks,
// the second by the one that builds, the third for what building it would take.
TEST(Reader, ARefusedFileCostsNoMoreMemoryThanItsSizeAnd96MiB) {
  if (kSanitized) GTEST_SKIP() << "sanitizers keep freed memory";
  constexpr uint64_t kMebibyte = uint64_t{1} << 20;
  const Refusal refusals[] = {
      {3000000, static_cast<ValueType>(99), "\"wrong\": unknown value type 99, the types are 0 to 12", 8 * kMebibyte},
      {3000000, ValueType::kBool, "\"wrong\": found 9, wanted a bool of 0 or 1", 24000000 + 96 * kMebibyte},
      {8000000, ValueType::kBool, "\"empty\", item 7999999: up to here the metadata takes 2560", 8 * kMebibyte}};
  const auto path = forged_path("strings.gguf");
  for (const auto& [n_strings, wrong, message, most_memory] : refusals) {
    ByteBuilder file;
    file.header(0, 2).array("empty", ValueType::kString, n_strings).raw(std::string(n_strings * 8, '\0'));
    file.key("wrong", wrong).number(uint8_t{9});
    write_bytes(path, file.bytes());
    count_peak_memory_anew();
    const uint64_t before = peak_memory();
    ASSERT_GT(before, 0u);
    const std::string refused = refusal(path);
    EXPECT_LT(peak_memory() - before, most_memory);
    EXPECT_TRUE(contains(refused, message)) << refused;
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace lockstep::gguf
