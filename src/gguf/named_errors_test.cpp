#include "gguf/named_errors.h"

#include <gtest/gtest.h>

#include <array>

#include "gguf/cursor.h"
#include "gguf/forged_file_test.h"
#include "gguf/writer.h"

namespace lockstep::gguf {
namespace {

// A model of two shards.
ModelFile split_model() {
  constexpr std::array<float, 8> kValues = {};
  for (const uint16_t index : {uint16_t{0}, uint16_t{1}}) {
    Writer writer;
    writer.add_split_keys(index, 2, 2);
    writer.add_tensor(index == 0 ? "first" : "second", quant::TensorType::kF32, {8}, std::as_bytes(std::span(kValues)));
    writer.write(forged_path(index == 0 ? "m-00001-of-00002.gguf" : "m-00002-of-00002.gguf"));
  }
  return ModelFile::open(forged_path("m-00001-of-00002.gguf"));
}

// What work that fails with this makes of it.
std::string named(const ModelFile& file, ErrorCode code, const std::string& message) {
  try {
    naming(file, [&]() -> int { throw Error(code, message); });
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  return "";
}

TEST(NamedErrors, BeginWithTheFileOnce) {
  const ModelFile file = split_model();
  const std::string path = shown(file.file().path());
  for (const ErrorCode code :
       {ErrorCode::kBadFile, ErrorCode::kNotFound, ErrorCode::kUnsupported, ErrorCode::kNotFinite}) {
    EXPECT_EQ(named(file, code, "tensor x is missing"), path + ": tensor x is missing");
    EXPECT_EQ(named(file, code, path + ": damaged"), path + ": damaged");
  }
  const std::string second = shown(file.file(1).path()) + ": damaged";
  EXPECT_EQ(named(file, ErrorCode::kBadFile, second), second);
}

TEST(NamedErrors, OfOptionsAndOfTheSystemStayAsTheyAre) {
  const ModelFile file = split_model();
  for (const ErrorCode code : {ErrorCode::kBadRequest, ErrorCode::kNoMemory, ErrorCode::kIo, ErrorCode::kUsage})
    EXPECT_EQ(named(file, code, "ctx-size 9: too many"), "ctx-size 9: too many");
}

TEST(NamedErrors, WorkThatSucceedsGivesItsResult) {
  EXPECT_EQ(naming(split_model(), [] { return 7; }), 7);
}

}  // namespace
}  // namespace lockstep::gguf
