#include "model_path.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

class ModelPath : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("models_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    for (const char* name : {"a/one.gguf", "a/notes.txt", "a/big-00001-of-00002.gguf", "a/big-00002-of-00002.gguf",
                             "b/one.gguf", "b/two.gguf"}) {
      fs::create_directories((folder_ / name).parent_path());
      std::ofstream(folder_ / name) << "x";
    }
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path find(const std::string& model) const { return find_model(model, {folder_ / "a", folder_ / "b"}); }

  fs::path folder_;
};

TEST_F(ModelPath, ThePathOfAFileIsTakenAsItIs) {
  const std::string path = (folder_ / "b/two.gguf").native();
  EXPECT_EQ(find(path), path);
}

TEST_F(ModelPath, TheFirstFolderWithTheNameWins) {
  EXPECT_EQ(find("one"), folder_ / "a/one.gguf");
  EXPECT_EQ(find("one.gguf"), folder_ / "a/one.gguf");
  EXPECT_EQ(find("two"), folder_ / "b/two.gguf");
}

TEST_F(ModelPath, AnUnknownNameListsModelsOnceAndFirstPartsOnly) {
  try {
    find("three");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
    const std::string message = error.what();
    EXPECT_NE(message.find("models there: big-00001-of-00002, one, two"), std::string::npos) << message;
  }
  EXPECT_THROW(find(""), Error);
}

TEST_F(ModelPath, AFolderThatIsNotThereIsPassedOver) {
  EXPECT_EQ(find_model("two", {folder_ / "missing", folder_ / "b"}), folder_ / "b/two.gguf");
  EXPECT_THROW(static_cast<void>(find_model("two", {folder_ / "missing"})), Error);
}

}  // namespace
}  // namespace lockstep
