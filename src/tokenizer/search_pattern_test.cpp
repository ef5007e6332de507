#include "tokenizer/search_pattern.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace lockstep::tokenizer {
namespace {

TEST(SearchPattern, IsFoundAnywhereUnlessItSaysWhere) {
  EXPECT_TRUE(SearchPattern("norm").found_in("attn_norm-0"));
  EXPECT_FALSE(SearchPattern("^norm").found_in("attn_norm-0"));
  EXPECT_TRUE(SearchPattern("^(Q|K)cur-1\\d$").found_in("Kcur-17"));
  EXPECT_FALSE(SearchPattern("^(Q|K)cur-1\\d$").found_in("Kcur-170"));
  EXPECT_TRUE(SearchPattern("").found_in("anything"));
}

TEST(SearchPattern, RefusesWhatIsNoExpression) {
  for (const std::string pattern : {"(", "a{2,1}", "[z-a]", "\\C"}) {
    EXPECT_THROW(SearchPattern{pattern}, Error) << pattern;
  }
  EXPECT_THROW(SearchPattern(std::string(60, '(') + std::string(60, ')')), Error);
  EXPECT_THROW(SearchPattern(std::string(SearchPattern::kMostBytes + 1, 'a')), Error);
}

TEST(SearchPattern, GivesUpOnHostileExpressions) {
  const SearchPattern hostile("^(a|aa)+$");
  EXPECT_THROW(static_cast<void>(hostile.found_in(std::string(200, 'a') + "c")), Error);
}

}  // namespace
}  // namespace lockstep::tokenizer
