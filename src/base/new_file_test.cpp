#include "base/new_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/error.h"
#include "base/file.h"

namespace lockstep {
namespace {

class NewFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              (std::string("NewFiles.") + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }

  static void write(NewFile& file, std::string_view text) { file.write(std::as_bytes(std::span(text))); }
  [[nodiscard]] auto n_entries() const {
    return std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator());
  }

  std::filesystem::path folder_;
};

TEST_F(NewFiles, StandInTheirPlaceWhenTheyAreComplete) {
  const auto path = folder_ / "a";
  {
    NewFile file(path);
    write(file, "one ");
    write(file, "two");
    EXPECT_FALSE(std::filesystem::exists(path));
    file.commit();
  }
  EXPECT_EQ(read_text_file(path), "one two");
  EXPECT_EQ(n_entries(), 1);
}

TEST_F(NewFiles, LeaveNothingAndWhatWasThereWhenTheyAreGivenUp) {
  const auto path = folder_ / "a";
  {
    NewFile file(path);
    write(file, "old");
    file.commit();
  }
  {
    NewFile file(path);
    write(file, "new, half");
  }
  EXPECT_EQ(read_text_file(path), "old");
  EXPECT_EQ(n_entries(), 1);
}

// As a second Control-C or the kernel does, at any time before the file is complete.
TEST_F(NewFiles, LeaveNothingOfAProgramThatIsKilled) {
  const auto path = folder_ / "a";
  const pid_t child = ::fork();
  if (child == 0) {
    NewFile file(path);
    write(file, "half");
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(n_entries(), 0);
}

TEST_F(NewFiles, KeepTheLinkThroughWhichTheyAreReplaced) {
  std::filesystem::create_symlink("target", folder_ / "link");
  std::filesystem::copy_file(__FILE__, folder_ / "target");
  NewFile file(folder_ / "link");
  write(file, "text");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link"));
  EXPECT_EQ(read_text_file(folder_ / "target"), "text");
}

TEST_F(NewFiles, NeverReplaceWhatIsNoRegularFile) {
  const auto pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(NewFile{pipe}, Error);
  EXPECT_THROW(NewFile{folder_}, Error);
  EXPECT_THROW(NewFile{folder_ / "none" / "a"}, Error);
  EXPECT_THROW(NewFile{""}, Error);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_EQ(n_entries(), 1);
}

}  // namespace
}  // namespace lockstep
