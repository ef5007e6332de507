#include "gguf/metadata.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"

namespace lockstep::gguf {
namespace {

using Strings = std::vector<std::string>;

template <typename F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

Metadata sample() {
  Metadata metadata;
  metadata.add("u8", uint8_t{200});
  metadata.add("i16", int16_t{-5});
  metadata.add("u64", std::numeric_limits<uint64_t>::max());
  metadata.add("f32", 1.5f);
  metadata.add("f64", 2.5);
  metadata.add("huge", 1e300);
  metadata.add("bool", true);
  metadata.add("text", std::string("hello"));
  metadata.add("i32s", ArrayValue(std::vector<int32_t>{1, 2, 3}));
  metadata.add("mixed", ArrayValue(std::vector<int8_t>{1, -2}));
  metadata.add("words", ArrayValue(Strings{"a", "b"}));
  return metadata;
}

TEST(Metadata, FindsIntegersOfAnyWidth) {
  const Metadata metadata = sample();
  EXPECT_EQ(metadata.get_uint("u8"), 200u);
  EXPECT_EQ(metadata.get_uint("u64"), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(metadata.find_uint("absent"), std::nullopt);
}

TEST(Metadata, RefusesNegativeNumbersWhereUnsignedOnesAreWanted) {
  const Metadata metadata = sample();
  EXPECT_EQ(message_of([&] { (void)metadata.get_uint("i16"); }), "key \"i16\": found -5, wanted an integer >= 0");
  EXPECT_EQ(message_of([&] { (void)metadata.find_uint_list("mixed"); }),
            "key \"mixed\": item 1: found -2, wanted an integer >= 0");
}

TEST(Metadata, FindsFloatsOfBothWidths) {
  const Metadata metadata = sample();
  EXPECT_EQ(metadata.get_float("f32"), 1.5f);
  EXPECT_EQ(metadata.get_float("f64"), 2.5f);
  EXPECT_EQ(message_of([&] { (void)metadata.get_float("huge"); }),
            "key \"huge\": found 1e+300, wanted a number in the range of f32");
}

TEST(Metadata, FindsTextsBooleansAndArrays) {
  const Metadata metadata = sample();
  EXPECT_EQ(metadata.find_bool("bool"), true);
  EXPECT_EQ(metadata.get_string("text"), "hello");
  ASSERT_NE(metadata.find_array<std::string>("words"), nullptr);
  EXPECT_EQ(*metadata.find_array<std::string>("words"), (Strings{"a", "b"}));
  EXPECT_EQ(metadata.find_array<float>("absent"), nullptr);
  EXPECT_EQ(metadata.find_uint_list("i32s"), (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(metadata.find_uint_list("u8"), (std::vector<uint64_t>{200}));
}

TEST(Metadata, NamesKeyWantedAndFoundTypeOfAWrongValue) {
  const Metadata metadata = sample();
  EXPECT_EQ(message_of([&] { (void)metadata.get_uint("text"); }), "key \"text\": found string, wanted an integer");
  EXPECT_EQ(message_of([&] { (void)metadata.get_uint("f32"); }), "key \"f32\": found f32, wanted an integer");
  EXPECT_EQ(message_of([&] { (void)metadata.get_float("u8"); }), "key \"u8\": found u8, wanted f32");
  EXPECT_EQ(message_of([&] { (void)metadata.find_bool("u8"); }), "key \"u8\": found u8, wanted bool");
  EXPECT_EQ(message_of([&] { (void)metadata.get_string("i32s"); }), "key \"i32s\": found array<i32>, wanted string");
  EXPECT_EQ(message_of([&] { (void)metadata.find_array<std::string>("i32s"); }),
            "key \"i32s\": found array<i32>, wanted array<string>");
  EXPECT_EQ(message_of([&] { (void)metadata.find_uint_list("words"); }),
            "key \"words\": found array<string>, wanted an integer or an array of integers");
}

TEST(Metadata, NamesAMissingKeyAndTheFileItIsMissingFrom) {
  const Metadata metadata({{"a", uint32_t{1}}}, "model.gguf");
  EXPECT_EQ(message_of([&] { (void)metadata.get_string("b\n"); }),
            "model.gguf: key \"b\\x0A\": missing, wanted string");
}

TEST(Metadata, KeepsFileOrderAndRefusesASecondValue) {
  Metadata metadata = sample();
  EXPECT_FALSE(metadata.add("text", uint8_t{1}));
  EXPECT_EQ(metadata.get_string("text"), "hello");
  EXPECT_EQ(metadata.entries().front().key, "u8");
  EXPECT_EQ(metadata.entries().back().key, "words");
  EXPECT_EQ(message_of([] {
              const Metadata twice({{"x", 1.0f}, {"y", 1.0f}, {"x", 2.0f}}, "f");
            }),
            "f: key \"x\": the key is there twice");
}

// Among 200 000 keys some share their 32 bits of hash.
TEST(Metadata, FindsEachOfManyKeys) {
  std::vector<Metadata::Entry> entries;
  for (uint32_t i = 0; i < 200000; ++i) entries.push_back({fmt::format("key{}", i), i});
  const Metadata metadata(entries, "f");
  for (uint32_t i = 0; i < 200000; ++i) ASSERT_EQ(metadata.find_uint(entries[i].key), i);
  EXPECT_EQ(metadata.find("key200000"), nullptr);
  entries.push_back({"key77777", uint8_t{1}});
  EXPECT_EQ(message_of([&] { const Metadata twice(entries, "f"); }), "f: key \"key77777\": the key is there twice");
}

TEST(Metadata, TypesHaveTheNamesThatScriptsSee) {
  EXPECT_EQ(type_name(Value(uint64_t{1})), "u64");
  EXPECT_EQ(type_name(Value(std::string())), "string");
  EXPECT_EQ(type_name(Value(1.0)), "f64");
  EXPECT_EQ(type_name(Value(ArrayValue(std::vector<double>()))), "array<f64>");
  EXPECT_EQ(type_name(Value(ArrayValue(std::vector<bool>()))), "array<bool>");
  EXPECT_EQ(type_of(Value(int64_t{1})), ValueType::kI64);
}

}  // namespace
}  // namespace lockstep::gguf
