#include "gguf/model_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "gguf/forged_file_test.h"
#include "gguf/writer.h"

namespace lockstep::gguf {
namespace {

using quant::TensorType;

const std::array<float, 8> kFirst = {1, 2, 3, 4, 5, 6, 7, 8};
const std::array<float, 8> kSecond = {-1, -2, -3, -4, -5, -6, -7, -8};

struct Shard {
  uint16_t index = 0;
  uint16_t count = 2;
  int32_t total = 2;
  std::string tensor = "first";
};

void write_shard(const std::filesystem::path& path, const Shard& shard) {
  Writer writer;
  if (shard.index == 0) writer.add("general.name", std::string("split"));
  writer.add_split_keys(shard.index, shard.count, shard.total);
  const auto& values = shard.index == 0 ? kFirst : kSecond;
  writer.add_tensor(shard.tensor, TensorType::kF32, {8}, std::as_bytes(std::span(values)));
  writer.write(path);
}

// Writes both shards, the second as told, and opens the first.
std::string refusal_of_second(const Shard& second) {
  const auto path = forged_path("m-00001-of-00002.gguf");
  write_shard(path, {});
  write_shard(forged_path("m-00002-of-00002.gguf"), second);
  return refusal(path);
}

TEST(ModelFile, OpensAllShardsFromTheFirst) {
  EXPECT_EQ(refusal_of_second({.index = 1, .tensor = "second"}), "");
  const ModelFile model = ModelFile::open(forged_path("m-00001-of-00002.gguf"));
  EXPECT_EQ(model.n_shards(), 2u);
  EXPECT_EQ(model.metadata().get_string("general.name"), "split");
  ASSERT_NE(model.find("second"), nullptr);
  EXPECT_EQ(model.find("second")->shard, 1u);
  std::array<float, 8> values = {};
  model.read(*model.find("second"), 0, std::as_writable_bytes(std::span(values)));
  EXPECT_EQ(values, kSecond);
  model.read(*model.find("first"), 0, std::as_writable_bytes(std::span(values)));
  EXPECT_EQ(values, kFirst);
}

TEST(ModelFile, NamesTheFirstShardWhenALaterOneIsOpened) {
  const auto path = forged_path("m-00002-of-00002.gguf");
  write_shard(path, {.index = 1});
  EXPECT_EQ(refusal(path), path.native() + ": this is shard 2 of 2: open the first shard, " +
                               forged_path("m-00001-of-00002.gguf").native());
}

TEST(ModelFile, NamesAMissingShard) {
  const auto path = forged_path("m-00001-of-00003.gguf");
  write_shard(path, {.count = 3});
  write_shard(forged_path("m-00002-of-00003.gguf"), {.index = 1, .count = 3, .tensor = "second"});
  EXPECT_EQ(refusal(path), path.native() + ": 1 of 3 shards missing: " + forged_path("m-00003-of-00003.gguf").native());
}

TEST(ModelFile, NamesTheShardWhoseKeysDisagree) {
  const std::string path = forged_path("m-00002-of-00002.gguf").native();
  EXPECT_EQ(refusal_of_second({.index = 1, .count = 3, .tensor = "second"}),
            path + ": key \"split.count\": found 3, wanted 2 as in the first shard");
  EXPECT_EQ(refusal_of_second({.index = 0, .tensor = "second"}),
            path + ": key \"split.no\": found 0, wanted 1 for this place in the set");
  Writer plain;
  plain.write(path);
  EXPECT_EQ(refusal(forged_path("m-00001-of-00002.gguf")), path + ": key \"split.count\": missing, wanted an integer");
}

TEST(ModelFile, RefusesAWrongTotalOfTensorsAndATensorInTwoShards) {
  const auto path = forged_path("m-00001-of-00002.gguf");
  EXPECT_EQ(refusal_of_second({.index = 1, .tensor = "first"}),
            path.native() + ": tensor \"first\" is in shard 1 and in shard 2");
  write_shard(path, {.total = 3});
  write_shard(forged_path("m-00002-of-00002.gguf"), {.index = 1, .tensor = "second"});
  EXPECT_EQ(refusal(path), path.native() + ": key \"split.tensors.count\": found 3, but the shards hold 2 tensors");
}

TEST(ModelFile, DecidesByMetadataAndNotByTheName) {
  const auto whole = forged_path("whole-00001-of-00004.gguf");
  Writer writer;
  writer.add_tensor("t", TensorType::kF32, {8}, std::as_bytes(std::span(kFirst)));
  writer.write(whole);
  EXPECT_EQ(refusal(whole), "");
  const auto single = forged_path("single.gguf");
  write_shard(single, {.count = 1, .total = 1});
  EXPECT_EQ(refusal(single), "");
  const auto renamed = forged_path("renamed.gguf");
  write_shard(renamed, {});
  EXPECT_EQ(refusal(renamed), renamed.native() +
                                  ": the file is shard 1 of 2, so its name must end in -00001-of-00002.gguf for the "
                                  "others to be found");
}

TEST(ModelFile, RefusesAShardNumberBeyondTheCount) {
  const auto path = forged_path("m.gguf");
  write_shard(path, {.index = 5, .count = 2});
  EXPECT_EQ(refusal(path), path.native() + ": key \"split.no\": found 5, wanted less than split.count, which is 2");
}

TEST(ModelFile, ReadsATensorBeyond4GiB) {
  const uint64_t far = uint64_t{5} << 30;
  const auto path = forged_path("far.gguf");
  ByteBuilder file;
  file.header(2, 0).tensor("huge", {far / 4}, 0, 0).tensor("far", {8}, 0, far).data(0);
  write_bytes(path, file.bytes());
  ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(file.bytes().size() + far)), 0);
  std::ofstream(path, std::ios::binary | std::ios::app)
      .write(reinterpret_cast<const char*>(kSecond.data()), sizeof(kSecond));
  const ModelFile model = ModelFile::open(path);
  ASSERT_NE(model.find("far"), nullptr);
  EXPECT_EQ(model.find("far")->offset, far);
  std::array<float, 8> values = {};
  model.read(*model.find("far"), 0, std::as_writable_bytes(std::span(values)));
  EXPECT_EQ(values, kSecond);
  EXPECT_EQ(model.find("huge")->bytes, far);
  std::filesystem::remove(path);
}

TEST(ModelFile, RefusesASparseFileWhoseMetadataNeverEnds) {
  const auto path = forged_path("sparse.gguf");
  write_bytes(path, ByteBuilder().header(0, 1).array("words", ValueType::kU64, uint64_t{1} << 34).bytes());
  ASSERT_EQ(::truncate(path.c_str(), off_t{1} << 40), 0);
  EXPECT_EQ(
      refusal(path),
      path.native() + ": key \"words\": element count: metadata and tensor table take more than 1073741824 bytes");
  std::filesystem::remove(path);
}

TEST(ModelFile, ReadsOnlyInsideATensor) {
  const auto path = forged_path("m.gguf");
  write_shard(path, {.count = 1, .total = 1});
  const ModelFile model = ModelFile::open(path);
  std::array<std::byte, 8> out = {};
  EXPECT_NO_THROW(model.read(model.tensors()[0], 24, out));
  EXPECT_THROW(model.read(model.tensors()[0], 25, out), Error);
  EXPECT_THROW(model.read(model.tensors()[0], ~uint64_t{0}, out), Error);
  EXPECT_EQ(model.find("absent"), nullptr);
}

TEST(ModelFile, RefusesWhatIsNoRegularFileAtOnce) {
  const auto folder = forged_path("folder");
  std::filesystem::create_directories(folder);
  EXPECT_EQ(refusal(folder), folder.native() + ": not a regular file");
  const auto fifo = forged_path("fifo");
  ::unlink(fifo.c_str());
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(refusal(fifo), fifo.native() + ": not a regular file");
  EXPECT_EQ(refusal("/dev/zero"), "/dev/zero: not a regular file");
  EXPECT_EQ(refusal(""), "empty file name");
  const auto absent = forged_path("absent.gguf");
  EXPECT_EQ(refusal(absent), absent.native() + ": No such file or directory");
}

TEST(ModelFile, RefusesAnUnreadableFile) {
  const auto path = forged_path("secret.gguf");
  write_bytes(path, "GGUF");
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  const bool root = ::geteuid() == 0;  // whom no mode stops: try as nobody
  constexpr uid_t kNobody = 65534;
  if (root) {
    ASSERT_EQ(::seteuid(kNobody), 0);
  }
  const std::string message = refusal(path);
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  EXPECT_EQ(message, path.native() + ": Permission denied");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace lockstep::gguf
