// The damaged tensor tables of public bug reports, forged byte by byte.
#include "gguf/tensor_table.h"

#include <gtest/gtest.h>

#include "gguf/forged_file_test.h"

namespace lockstep::gguf {
namespace {

constexpr uint32_t kF32 = 0;
constexpr uint32_t kQ4_0 = 2;
constexpr uint32_t kQ6_K = 14;

// What is said about a file of one tensor "embd", followed by 4096 bytes of data.
std::string refusal_of_tensor(const std::vector<uint64_t>& dims, uint32_t type = kF32, uint64_t offset = 0) {
  return refusal_of(ByteBuilder().header(1, 0).tensor("embd", dims, type, offset).data(4096).bytes());
}

// Two tensors of 32 bytes each, the second at `offset`, in a file with 64 bytes of data.
std::string refusal_of_pair(uint64_t offset, std::string_view second = "b") {
  ByteBuilder file;
  file.header(2, 0).tensor("a", {8}, kF32, 0).tensor(second, {8}, kF32, offset);
  return refusal_of(file.data(64).bytes());
}

TEST(TensorTable, AcceptsOneToFourDimensions) {
  EXPECT_EQ(refusal_of_tensor({1024}), "");
  EXPECT_EQ(refusal_of_tensor({2, 4, 8, 16}), "");
  EXPECT_EQ(refusal_of_pair(32), "");
}

TEST(TensorTable, RefusesDimensionsWhoseProductIsTooLarge) {
  const uint64_t two32 = uint64_t{1} << 32;
  EXPECT_EQ(refusal_of_tensor({two32, two32 + 1}),
            "tensor \"embd\": shape [4294967296, 4294967297] has more elements than a 64-bit file can hold");
  EXPECT_EQ(refusal_of_tensor({two32, two32, two32, two32}),
            "tensor \"embd\": shape [4294967296, 4294967296, 4294967296, 4294967296] has more elements than a 64-bit "
            "file can hold");
  EXPECT_EQ(refusal_of_tensor({~uint64_t{0}}),
            "tensor \"embd\": shape [18446744073709551615] has more elements than a 64-bit file can hold");
  EXPECT_EQ(refusal_of_tensor({uint64_t{1} << 62}),
            "tensor \"embd\": shape [4611686018427387904] of F32 takes more bytes than a file can have");
}

TEST(TensorTable, RefusesDimensionsThatLeaveTheFile) {
  EXPECT_EQ(
      refusal_of_tensor({256, (uint64_t{1} << 42) + 1}),
      "tensor \"embd\" [256, 4398046511105] F32: 4503599627371520 bytes at offset 0 of the data, but only 4096 of "
      "them are in the file (4503599627367424 missing)");
}

TEST(TensorTable, RefusesAZeroDimensionInEachPlace) {
  for (size_t place = 0; place < 4; ++place) {
    std::vector<uint64_t> dims = {2, 2, 2, 2};
    dims[place] = 0;
    EXPECT_EQ(refusal_of_tensor(dims), fmt::format("tensor \"embd\": shape [{}, {}, {}, {}] has a zero dimension",
                                                   dims[0], dims[1], dims[2], dims[3]));
  }
}

TEST(TensorTable, RefusesMoreThanFourAndNoDimensions) {
  EXPECT_EQ(refusal_of_tensor({1, 1, 1, 1, 1}), "tensor \"embd\": 5 dimensions, wanted 1 to 4");
  EXPECT_EQ(refusal_of_tensor({}), "tensor \"embd\": 0 dimensions, wanted 1 to 4");
  ByteBuilder file;
  file.header(1, 0).text("embd").number(~uint32_t{0}).number(uint64_t{8}).number(kF32).number(uint64_t{0});
  EXPECT_EQ(refusal_of(file.data(64).bytes()), "tensor \"embd\": 4294967295 dimensions, wanted 1 to 4");
}

TEST(TensorTable, RefusesTypeNumbersThatNoTypeHas) {
  for (const uint32_t type : {4u, 5u, 255u, ~0u}) {
    EXPECT_EQ(
        refusal_of_tensor({256}, type),
        fmt::format("tensor \"embd\": unknown tensor type {} (as signed number {})", type, static_cast<int32_t>(type)));
  }
}

TEST(TensorTable, AcceptsEveryKnownTypeWithItsSize) {
  for (const quant::FormatInfo& format : quant::all_formats()) {
    const auto path = forged_path("typed.gguf");
    ByteBuilder file;
    file.header(1, 0).tensor("t", {format.block_size, 3}, static_cast<uint32_t>(format.type), 0).data(4096);
    write_bytes(path, file.bytes());
    const ModelFile model = ModelFile::open(path);
    EXPECT_EQ(model.tensors()[0].type, format.type);
    EXPECT_EQ(model.tensors()[0].bytes, uint64_t{3} * format.block_bytes) << format.name;
  }
}

TEST(TensorTable, RefusesRowsThatAreNotWholeBlocks) {
  EXPECT_EQ(refusal_of_tensor({48, 2}, kQ4_0),
            "tensor \"embd\": rows of 48 elements in shape [48, 2], wanted a multiple of 32 for Q4_0");
  EXPECT_EQ(refusal_of_tensor({128, 2}, kQ6_K),
            "tensor \"embd\": rows of 128 elements in shape [128, 2], wanted a multiple of 256 for Q6_K");
}

TEST(TensorTable, RefusesATensorOfWhichTheEndIsCutOff) {
  const std::string file = ByteBuilder().header(1, 0).tensor("embd", {16}, kF32, 0).data(64).bytes();
  EXPECT_EQ(refusal_of(file), "");
  EXPECT_EQ(
      refusal_of(file.substr(0, file.size() - 1)),
      "tensor \"embd\" [16] F32: 64 bytes at offset 0 of the data, but only 63 of them are in the file (1 missing)");
  EXPECT_EQ(
      refusal_of(file.substr(0, file.size() - 32)),
      "tensor \"embd\" [16] F32: 64 bytes at offset 0 of the data, but only 32 of them are in the file (32 missing)");
}

TEST(TensorTable, RefusesOffsetsOutsideTheFile) {
  EXPECT_EQ(refusal_of_pair(~uint64_t{0} - 31),
            "tensor \"b\" [8] F32: 32 bytes at offset 18446744073709551584 of the data, but only 0 of them are in the "
            "file (32 missing)");
  EXPECT_EQ(refusal_of_pair(64),
            "tensor \"b\" [8] F32: 32 bytes at offset 64 of the data, but only 0 of them are in the file (32 missing)");
}

TEST(TensorTable, RefusesOverlappingAndMisalignedTensors) {
  EXPECT_EQ(refusal_of_pair(0),
            "tensor \"b\" [8] F32 at offset 0 overlaps tensor \"a\" [8] F32, which takes 32 bytes from offset 0");
  EXPECT_EQ(refusal_of_pair(4), "tensor \"b\" [8] F32: offset 4 is not a multiple of the alignment 32");
  ByteBuilder file;
  file.header(2, 0).tensor("late", {8}, kF32, 32).tensor("long", {16}, kF32, 0);
  EXPECT_EQ(
      refusal_of(file.data(64).bytes()),
      "tensor \"late\" [8] F32 at offset 32 overlaps tensor \"long\" [16] F32, which takes 64 bytes from offset 0");
}

TEST(TensorTable, AcceptsGapsAndAnyOrder) {
  ByteBuilder file;
  file.header(2, 0).tensor("late", {8}, kF32, 96).tensor("early", {8}, kF32, 0);
  EXPECT_EQ(refusal_of(file.data(128).bytes()), "");
}

TEST(TensorTable, RefusesANameThatIsThereTwiceOrEmpty) {
  EXPECT_EQ(refusal_of_pair(32, "a"), "tensor \"a\": the name is there twice");
  EXPECT_EQ(refusal_of_pair(32, ""), "tensor 2 of 2: the name is empty");
}

TEST(TensorTable, RefusesANameOfMoreThan65535Bytes) {
  EXPECT_EQ(refusal_of_pair(32, std::string(65535, 'n')), "");
  EXPECT_EQ(refusal_of_pair(32, std::string(65536, 'n')),
            "tensor 2 of 2: the name has 65536 bytes, expected at most 65535");
}

}  // namespace
}  // namespace lockstep::gguf
