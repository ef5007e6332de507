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

TEST_F(NewFiles, AreMadeWhereADanglingLinkPoints) {
  std::filesystem::create_directory(folder_ / "sub");
  std::filesystem::create_symlink("sub/second", folder_ / "link");
  std::filesystem::create_symlink("target", folder_ / "sub" / "second");
  {
    NewFile file(folder_ / "link");
    write(file, "text");
    file.commit();
  }
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "sub" / "second"));
  EXPECT_EQ(read_text_file(folder_ / "sub" / "target"), "text");
}

TEST_F(NewFiles, NeverReplaceLinksThatLeadNowhere) {
  std::filesystem::create_symlink("loop", folder_ / "loop");
  std::filesystem::create_symlink("there", folder_ / "here");
  std::filesystem::create_symlink("here", folder_ / "there");
  std::filesystem::create_symlink("no/folder", folder_ / "lost");
  for (const char* name : {"loop", "here", "lost"}) {
    EXPECT_THROW(NewFile{folder_ / name}, Error) << name;
    EXPECT_TRUE(std::filesystem::is_symlink(folder_ / name)) << name;
  }
  EXPECT_EQ(n_entries(), 4);
}

TEST_F(NewFiles, ReplaceNoFileOfAnotherKind) {
  const auto write_plainly = [&](std::string_view text) {
    NewFile file(folder_ / "a");
    write(file, text);
    file.commit();
  };
  for (const std::string_view own : {"", "KIND", "KIND and more"}) {
    write_plainly(own);
    EXPECT_NO_THROW((NewFile{folder_ / "a", NewFileMode::kByUmask, "KIND"})) << own;
  }
  for (const std::string_view other : {"K", "KIN", "kind", "a letter"}) {
    write_plainly(other);
    EXPECT_THROW((NewFile{folder_ / "a", NewFileMode::kByUmask, "KIND"}), Error) << other;
    EXPECT_EQ(read_text_file(folder_ / "a"), other);
  }
  EXPECT_EQ(n_entries(), 1);
}

TEST_F(NewFiles, KnowTheirPlaceByEveryName) {
  std::filesystem::create_symlink("a", folder_ / "link");
  std::filesystem::create_directory_symlink(".", folder_ / "here");
  const NewFile file(folder_ / "a");
  for (const char* name : {"a", "./a", "link", "here/a", "here/link"})
    EXPECT_TRUE(file.has_place_of(NewFile(folder_ / name))) << name;
  EXPECT_FALSE(file.has_place_of(NewFile(folder_ / "b")));
  EXPECT_FALSE(file.has_place_of(NewFile(folder_ / ".." / "a")));
}

class NewFileModes : public NewFiles {
 protected:
  // The mode of a file that has been written.
  mode_t mode_after(const std::string& name, NewFileMode mode) {
    NewFile file(folder_ / name, mode);
    write(file, "new");
    file.commit();
    struct stat status = {};
    EXPECT_EQ(::stat((folder_ / name).c_str(), &status), 0);
    return status.st_mode & 07777;
  }
};

TEST_F(NewFileModes, AreKeptWhereAFileIsReplaced) {
  for (const mode_t mode : {0600, 0640, 0400, 0666}) {
    const std::string name = "a" + std::to_string(mode);
    static_cast<void>(mode_after(name, NewFileMode::kByUmask));
    ASSERT_EQ(::chmod((folder_ / name).c_str(), mode), 0);
    EXPECT_EQ(mode_after(name, NewFileMode::kByUmask), mode);
    EXPECT_EQ(mode_after(name, NewFileMode::kPrivate), mode);
  }
}

TEST_F(NewFileModes, OfNewFilesAreTheUmasksOrPrivate) {
  const mode_t before = ::umask(027);
  EXPECT_EQ(mode_after("shared", NewFileMode::kByUmask), 0640U);
  EXPECT_EQ(mode_after("private", NewFileMode::kPrivate), 0600U);
  ::umask(before);
}

TEST_F(NewFileModes, KeepOwnerAndGroupOfAFileThatIsReplaced) {
  static_cast<void>(mode_after("a", NewFileMode::kByUmask));
  const auto path = folder_ / "a";
  static_cast<void>(!::chown(path.c_str(), 1234, 2345));  // only a superuser can: others keep their own
  struct stat before = {}, after = {};
  ASSERT_EQ(::stat(path.c_str(), &before), 0);
  static_cast<void>(mode_after("a", NewFileMode::kByUmask));
  ASSERT_EQ(::stat(path.c_str(), &after), 0);
  EXPECT_NE(after.st_ino, before.st_ino);
  EXPECT_EQ(after.st_uid, before.st_uid);
  EXPECT_EQ(after.st_gid, before.st_gid);
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
