// Which kernel set a name selects, on any processor.
#include "kernels/select.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lockstep::kernels {
namespace {

TEST(SelectTable, TakesTheBestOfAFamilyByItsFirstName) {
  for (const KernelTable* table : available_tables()) {
    const std::string_view name = table->isa;
    const size_t dash = name.find('-');
    if (dash == std::string_view::npos) continue;
    const std::string_view family = name.substr(0, dash);
    const auto best = std::ranges::find_if(available_tables(), [family](const KernelTable* other) {
      return std::string_view(other->isa).starts_with(family);
    });
    EXPECT_EQ(&select_table(family), *best) << name;
  }
#if defined(__aarch64__)
  EXPECT_EQ(&select_table("neon"), available_tables().front());
#endif
}

}  // namespace
}  // namespace lockstep::kernels
