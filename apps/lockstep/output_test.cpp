#include "output.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/error.h"

namespace lockstep {
namespace {

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using FilePtr = std::unique_ptr<std::FILE, Closer>;

TEST(Output, KnowsWhetherALineIsOpen) {
  const FilePtr file(std::tmpfile());
  Output output(file.get());
  EXPECT_FALSE(output.inside_line());
  output.write("a");
  EXPECT_TRUE(output.inside_line());
  output.write("");
  EXPECT_TRUE(output.inside_line());
  output.write_line({{"a", 1}});
  EXPECT_FALSE(output.inside_line());
}

TEST(Output, AFullDiskIsAnErrorThatSaysSo) {
  const FilePtr file(std::fopen("/dev/full", "w"));
  if (!file) GTEST_SKIP() << "no /dev/full here";
  Output output(file.get());
  output.write("a");
  try {
    output.flush();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_NE(std::string(error.what()).find("No space left"), std::string::npos) << error.what();
  }
}

TEST(Output, AnEarlierFailureIsRemembered) {
  const FilePtr file(std::fopen("/dev/full", "w"));
  if (!file) GTEST_SKIP() << "no /dev/full here";
  std::fputs("somebody else wrote this", file.get());
  EXPECT_NE(std::fflush(file.get()), 0);
  Output output(file.get());
  EXPECT_THROW(output.flush(), Error);
}

}  // namespace
}  // namespace lockstep
