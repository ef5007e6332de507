#include "name_list.h"

#include <algorithm>

#include "base/error.h"

namespace lockstep {

std::string listed_names(std::vector<std::string> names) {
  constexpr size_t kMostListed = 20;
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMostListed); ++i) text += (i > 0 ? ", " : "") + printable(names[i]);
  if (names.size() > kMostListed) text += fmt::format(" and {} more", names.size() - kMostListed);
  return text;
}

}  // namespace lockstep
