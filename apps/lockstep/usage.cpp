#include "usage.h"

#include <algorithm>

namespace lockstep {

std::string spelled_as_flag(std::string message) {
  constexpr std::string_view kOpening = "option ";
  if (!message.starts_with(kOpening)) return message;
  const size_t name_end = std::min(message.find_first_of(":, ", kOpening.size()), message.size());
  std::replace(message.begin() + static_cast<std::ptrdiff_t>(kOpening.size()),
               message.begin() + static_cast<std::ptrdiff_t>(name_end), '_', '-');
  return message.insert(kOpening.size(), "--");
}

}  // namespace lockstep
