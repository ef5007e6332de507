#include "base/hash128.h"

#include <gtest/gtest.h>

#include <string_view>

namespace lockstep {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// From xxhsum 0.8: xxhsum -H2 of an empty file.
TEST(Hash128, IsTheCanonicalForm) {
  EXPECT_EQ(hexadecimal(hash128({})), "99aa06d3014798d86001c324468d497f");
}

TEST(Hash128, OfPiecesIsThatOfTheWhole) {
  const std::string_view text = "one, two and three";
  RunningHash128 hash;
  hash.add(bytes_of(text.substr(0, 5)));
  hash.add_values(std::span(text.substr(5)));
  EXPECT_EQ(hash.digest(), hash128(bytes_of(text)));
  hash.reset();
  EXPECT_EQ(hash.digest(), hash128({}));
}

}  // namespace
}  // namespace lockstep
