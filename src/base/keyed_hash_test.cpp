#include "base/keyed_hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

namespace lockstep {
namespace {

TEST(KeyedHash, OfATextDependsOnTheKeyAndNothingElse) {
  for (const std::string& text : {std::string(), std::string("a"), std::string(1000, 'x')}) {
    EXPECT_EQ(TextHash(7)(text), TextHash(7)(std::string(text)));
    EXPECT_NE(TextHash(7)(text), TextHash(8)(text));
    EXPECT_EQ(TextHash()(text), TextHash(process_hash_key())(text));
  }
}

TEST(KeyedHash, FindsViewsInATableOfStrings) {
  const std::unordered_set<std::string, TextHash, std::equal_to<>> table = {"one", ""};
  EXPECT_TRUE(table.contains(std::string_view("one and more").substr(0, 3)));
  EXPECT_TRUE(table.contains(std::string_view()));
  EXPECT_FALSE(table.contains(std::string_view("two")));
}

// The most numbers of `numbers` that fall on one of 256 places.
size_t fullest_place(const std::vector<uint64_t>& numbers, const NumberHash& hash) {
  std::vector<size_t> places(256);
  for (const uint64_t number : numbers) ++places[hash(number) >> 56];
  return *std::max_element(places.begin(), places.end());
}

TEST(KeyedHash, NumbersChosenToMeetUnderOneKeySpreadUnderAnother) {
  std::vector<uint64_t> chosen, progression;
  for (uint64_t number = 0; chosen.size() < 4096; ++number) {
    if (NumberHash(1)(number) >> 56 == 0) chosen.push_back(number);
  }
  for (uint64_t i = 0; i < 4096; ++i) progression.push_back(i << 32 | i);
  for (const uint64_t key : {uint64_t{0}, uint64_t{2}, uint64_t{0x123456789abcdef0}, ~uint64_t{0}}) {
    EXPECT_LT(fullest_place(chosen, NumberHash(key)), 128u) << key;  // 16 on average
    EXPECT_LT(fullest_place(progression, NumberHash(key)), 128u) << key;
  }
  EXPECT_EQ(fullest_place(chosen, NumberHash(1)), chosen.size());
}

}  // namespace
}  // namespace lockstep
