#include "gguf/writer.h"

#include <gtest/gtest.h>

#include <limits>

#include "gguf/forged_file_test.h"

namespace lockstep::gguf {
namespace {

using quant::TensorType;

const std::vector<float> kRow = {1.0f, -2.0f, 3.0f, 0.5f, 0.25f, -1.0f, 7.0f, 8.0f};

// All 13 value types, arrays of all 12, extreme values, NUL inside a string.
std::vector<Metadata::Entry> every_type() {
  using I64 = std::numeric_limits<int64_t>;
  return {
      {"a.u8", uint8_t{255}},
      {"a.i8", int8_t{-128}},
      {"a.u16", uint16_t{65535}},
      {"a.i16", int16_t{-32768}},
      {"a.u32", uint32_t{4294967295u}},
      {"a.i32", std::numeric_limits<int32_t>::min()},
      {"a.f32", 1e-5f},
      {"a.bool", true},
      {"a.string", std::string("with\0NUL", 8)},
      {"a.u64", std::numeric_limits<uint64_t>::max()},
      {"a.i64", I64::min()},
      {"a.f64", 0.1},
      {"b.u8", ArrayValue(std::vector<uint8_t>{0, 255})},
      {"b.i8", ArrayValue(std::vector<int8_t>{-1, 1})},
      {"b.u16", ArrayValue(std::vector<uint16_t>{1, 65535})},
      {"b.i16", ArrayValue(std::vector<int16_t>{-1})},
      {"b.u32", ArrayValue(std::vector<uint32_t>{7, 8, 9})},
      {"b.i32", ArrayValue(std::vector<int32_t>{-7})},
      {"b.f32", ArrayValue(std::vector<float>{0.5f, -0.0f})},
      {"b.bool", ArrayValue(std::vector<bool>{true, false, true})},
      {"b.string", ArrayValue(std::vector<std::string>{"", "x", "\xff"})},
      {"b.u64", ArrayValue(std::vector<uint64_t>{1ull << 63})},
      {"b.i64", ArrayValue(std::vector<int64_t>{I64::max()})},
      {"b.f64", ArrayValue(std::vector<double>{})},
  };
}

void fill(Writer& writer) {
  for (Metadata::Entry& entry : every_type()) writer.add(entry.key, entry.value);
  writer.add_tensor("first", TensorType::kF32, {4, 2}, std::as_bytes(std::span(kRow)));
  writer.add_tensor("second", TensorType::kF16, {3}, std::as_bytes(std::span(kRow)).first(6));
}

void expect_content(const ModelFile& model) {
  const auto wanted = every_type();
  const auto found = model.metadata().entries();
  ASSERT_GE(found.size(), wanted.size());
  const size_t extra = found.size() - wanted.size();
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(found[i + extra].key, wanted[i].key);
    EXPECT_EQ(found[i + extra].value, wanted[i].value) << wanted[i].key;
  }
  ASSERT_EQ(model.tensors().size(), 2u);
  const TensorInfo* second = model.find("second");
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->n_dims, 1u);
  EXPECT_EQ(second->shape, (std::array<uint64_t, 4>{3, 1, 1, 1}));
  EXPECT_EQ(second->bytes, 6u);
  std::vector<float> values(4);
  model.read(*model.find("first"), 16, std::as_writable_bytes(std::span(values)));
  EXPECT_EQ(values, std::vector<float>(kRow.begin() + 4, kRow.end()));
}

TEST(Writer, EveryValueTypeAndTensorComesBackAsWritten) {
  Writer writer;
  fill(writer);
  const auto path = forged_path("all.gguf");
  writer.write(path);
  const ModelFile model = ModelFile::open(path);
  EXPECT_EQ(model.version(), 3u);
  EXPECT_EQ(model.data_start() % 32, 0u);
  EXPECT_EQ(model.find("second")->offset, 32u);
  expect_content(model);
}

TEST(Writer, Version2HasTheSameContentAsVersion3) {
  Writer writer(2);
  fill(writer);
  const auto path = forged_path("v2.gguf");
  writer.write(path);
  const ModelFile model = ModelFile::open(path);
  EXPECT_EQ(model.version(), 2u);
  expect_content(model);
}

TEST(Writer, AlignmentsOf1And64AreFollowed) {
  for (const auto& [alignment, offset] :
       std::vector<std::pair<uint32_t, uint64_t>>{{1, 32}, {64, 64}, {1u << 20, 1u << 20}}) {
    Writer writer;
    writer.set_alignment(alignment);
    fill(writer);
    const auto path = forged_path("aligned.gguf");
    writer.write(path);
    const ModelFile model = ModelFile::open(path);
    EXPECT_EQ(model.data_start() % alignment, 0u);
    EXPECT_EQ(model.find("second")->offset, offset) << alignment;
    expect_content(model);
  }
}

TEST(Writer, AFileWithoutTensorsNeedsNoData) {
  Writer writer;
  writer.add("general.name", std::string("vocabulary only"));
  const auto path = forged_path("vocab.gguf");
  writer.write(path);
  EXPECT_EQ(ModelFile::open(path).metadata().get_string("general.name"), "vocabulary only");
}

TEST(Writer, RefusesWhatTheReaderWouldRefuse) {
  Writer writer;
  writer.add("a", uint8_t{1});
  EXPECT_THROW(writer.add("a", uint8_t{2}), Error);
  EXPECT_THROW(writer.add("", uint8_t{2}), Error);
  EXPECT_THROW(writer.set_alignment(3), Error);
  EXPECT_THROW(writer.add_tensor("t", TensorType::kF32, {4}, std::as_bytes(std::span(kRow))), Error);
  EXPECT_THROW(writer.add_tensor("t", TensorType::kQ4_0, {8}, {}), Error);
  EXPECT_THROW(writer.add_tensor("t", TensorType::kF32, {}, {}), Error);
  EXPECT_THROW(writer.write("/nonexistent/folder/file.gguf"), Error);
}

}  // namespace
}  // namespace lockstep::gguf
