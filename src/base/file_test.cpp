#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "base/error.h"

namespace lockstep {
namespace {

class Files : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(testing::TempDir()) / (std::string("Files.") + test->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  [[nodiscard]] std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }

  std::filesystem::path folder_;
};

// What is said, at once, instead of opening `path`.
void expect_refusal(const std::filesystem::path& path, ErrorCode code, const std::string& words) {
  try {
    (void)File::open_for_reading(path);
    ADD_FAILURE() << path << " opens";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(error.code(), code) << message;
    EXPECT_NE(message.find(words), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    if (!path.empty() && path.native().find_first_of(std::string("\n\0", 2)) == std::string::npos) {
      EXPECT_NE(message.find(path.native().substr(0, 200)), std::string::npos) << message;
    }
  }
}

TEST_F(Files, ReadsWhatIsThere) {
  const std::filesystem::path path = write("a", "0123456789");
  const File file = File::open_for_reading(path);
  EXPECT_EQ(file.size(), 10u);
  EXPECT_EQ(file.path(), path);
  std::array<std::byte, 4> part;
  file.read_at(3, part);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(part.data()), 4), "3456");
  EXPECT_EQ(read_text_file(path), "0123456789");
  EXPECT_EQ(read_text_file(write("empty", "")), "");
}

TEST_F(Files, LargerThanTheLimitAreRefusedUnread) {
  const std::filesystem::path path = write("a", "0123456789");
  EXPECT_EQ(read_text_file(path, 10), "0123456789");
  try {
    static_cast<void>(read_text_file(path, 9));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadFile);
    EXPECT_EQ(std::string(error.what()), path.string() + ": 10 bytes, expected at most 9");
  }
}

TEST_F(Files, SaysWhereAFileEndsThatIsReadBeyond) {
  const File file = File::open_for_reading(write("a", "0123456789"));
  std::array<std::byte, 4> part;
  for (const auto& [offset, words] : std::vector<std::pair<uint64_t, std::string>>{
           {8, "ends at byte 10, 2 bytes missing"}, {10, "4 bytes missing"}, {1000, "4 bytes missing"}}) {
    try {
      file.read_at(offset, part);
      ADD_FAILURE() << offset;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadFile);
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  }
  file.read_at(1000, {});  // nothing is wanted
}

TEST_F(Files, RefusesAnOffsetThatNoFileHas) {
  const File file = File::open_for_reading(write("a", "0123456789"));
  std::array<std::byte, 4> part;
  for (const uint64_t offset : {~uint64_t{0}, ~uint64_t{0} - 1, uint64_t{1} << 63})
    EXPECT_THROW(file.read_at(offset, part), Error) << offset;
}

TEST_F(Files, ThatShrinkWhileTheyAreOpenAreReported) {
  const std::filesystem::path path = write("a", std::string(10000, 'x'));
  const File file = File::open_for_reading(path);
  std::filesystem::resize_file(path, 5000);
  std::vector<std::byte> all(10000);
  EXPECT_THROW(file.read_at(0, all), Error);
}

TEST_F(Files, ThatAreWrittenToWhileTheyAreOpenAreReported) {
  const std::filesystem::path path = write("a", "old text");
  const File file = File::open_for_reading(path);
  EXPECT_NO_THROW(file.expect_unchanged());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the file system's clock
  std::fstream(path) << "new";
  EXPECT_THROW(file.expect_unchanged(), Error);
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now());
  const File again = File::open_for_reading(path);
  std::filesystem::rename(write("b", "another"), path);
  EXPECT_NO_THROW(again.expect_unchanged());
}

TEST_F(Files, BeyondFourGibibytesAreReadAtTheRightPlace) {
  const std::filesystem::path path = write("sparse", "");
  constexpr uint64_t kFar = (uint64_t{5} << 30) + 3;
  std::filesystem::resize_file(path, kFar);
  std::ofstream(path, std::ios::binary | std::ios::app) << "far";
  const File file = File::open_for_reading(path);
  EXPECT_EQ(file.size(), kFar + 3);
  std::array<std::byte, 3> part;
  file.read_at(kFar, part);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(part.data()), 3), "far");
  std::filesystem::remove(path);
}

TEST_F(Files, ThatAreNotThereAreNotFound) {
  expect_refusal(folder_ / "missing", ErrorCode::kNotFound, "No such file");
  expect_refusal(write("a", "x") / "below", ErrorCode::kNotFound, "Not a directory");
  expect_refusal("", ErrorCode::kNotFound, "empty file name");
  expect_refusal(std::string("a\0b", 3), ErrorCode::kNotFound, "NUL");
  expect_refusal("no\nsuch", ErrorCode::kNotFound, "no\\x0Asuch");
  expect_refusal(folder_ / std::string(300, 'x'), ErrorCode::kIo, "");
}

TEST_F(Files, ThatAreFoldersDevicesPipesOrSocketsAreRefusedAtOnce) {
  expect_refusal(folder_, ErrorCode::kBadFile, "not a regular file");
  expect_refusal("/dev/zero", ErrorCode::kBadFile, "not a regular file");
  const std::filesystem::path fifo = folder_ / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  expect_refusal(fifo, ErrorCode::kBadFile, "not a regular file");  // nobody writes: a plain open would hang
  std::filesystem::create_symlink(fifo, folder_ / "link");
  expect_refusal(folder_ / "link", ErrorCode::kBadFile, "not a regular file");
}

TEST_F(Files, ThatMayNotBeReadAreRefused) {
  const std::filesystem::path path = write("secret", "x");
  std::filesystem::permissions(path, std::filesystem::perms::none);
  // Root may read everything: be somebody else for a moment.
  constexpr uid_t kNobody = 65534;
  const bool is_root = ::geteuid() == 0;
  if (is_root) {
    ASSERT_EQ(::seteuid(kNobody), 0);
  }
  expect_refusal(path, ErrorCode::kIo, "Permission denied");
  if (is_root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
}

TEST_F(Files, AreFollowedThroughLinksAndMoved) {
  const std::filesystem::path path = write("a", "text");
  std::filesystem::create_symlink(path, folder_ / "link");
  EXPECT_EQ(read_text_file(folder_ / "link"), "text");
  File first = File::open_for_reading(path);
  File second = std::move(first);
  std::array<std::byte, 4> part;
  second.read_at(0, part);
  second = File::open_for_reading(write("b", "other"));
  EXPECT_EQ(second.size(), 5u);
}

TEST_F(Files, AreReadByManyThreadsAtOnce) {
  std::string text;
  for (unsigned i = 0; i < 100000; ++i) text += static_cast<char>(i * i);
  const File file = File::open_for_reading(write("a", text));
  std::vector<std::thread> readers;
  for (int t = 0; t < 4; ++t) {
    readers.emplace_back([&, t] {
      std::array<std::byte, 64> part;
      for (size_t at = static_cast<size_t>(t); at + 64 <= text.size(); at += 997) {
        file.read_at(at, part);
        ASSERT_EQ(std::memcmp(part.data(), &text[at], 64), 0);
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace lockstep
