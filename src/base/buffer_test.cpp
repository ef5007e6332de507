#include "base/buffer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"

namespace lockstep {
namespace {

TEST(Buffer, IsZeroedAndAligned) {
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{64}, uint64_t{4097}, uint64_t{3} << 20}) {
    Buffer buffer(bytes, "a test");
    EXPECT_EQ(buffer.size(), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % (bytes >= (uint64_t{2} << 20) ? uintptr_t{2} << 20 : 64u),
              0u);
    EXPECT_TRUE(std::ranges::all_of(buffer.bytes(), [](std::byte b) { return b == std::byte{0}; }));
    std::ranges::fill(buffer.bytes(), std::byte{1});
  }
}

TEST(Buffer, OfNothingHasNoMemory) {
  EXPECT_EQ(Buffer(0, "a test").size(), 0u);
  EXPECT_EQ(Buffer().data(), nullptr);
  EXPECT_TRUE(Buffer().bytes().empty());
}

TEST(Buffer, MovesItsMemory) {
  Buffer first(100, "a test");
  first.data()[99] = std::byte{7};
  const std::byte* data = first.data();
  Buffer second(std::move(first));
  EXPECT_EQ(second.data(), data);
  Buffer third(10, "a test");
  third = std::move(second);
  EXPECT_EQ(third.data(), data);
  EXPECT_EQ(third.size(), 100u);
  EXPECT_EQ(third.data()[99], std::byte{7});
}

TEST(Buffer, SaysForWhatAndHowMuchMemoryIsMissing) {
  for (const uint64_t bytes : {~uint64_t{0}, ~uint64_t{0} - 4096, uint64_t{1} << 60, uint64_t{1} << 48}) {
    try {
      const Buffer buffer(bytes, "the weights");
      ADD_FAILURE() << bytes;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kNoMemory);
      const std::string wanted = "no memory for the weights: " + std::to_string(bytes) + " bytes wanted";
      EXPECT_TRUE(std::string(error.what()).starts_with(wanted)) << error.what();
    }
  }
}

}  // namespace
}  // namespace lockstep
