#include "tokenizer/spelled_spaces.h"

namespace lockstep::tokenizer {

std::string with_real_spaces(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  size_t begin = 0;
  for (size_t at = text.find(kSpelledSpace); at != std::string_view::npos; at = text.find(kSpelledSpace, begin)) {
    result.append(text.substr(begin, at - begin)).push_back(' ');
    begin = at + kSpelledSpace.size();
  }
  return result.append(text.substr(begin));
}

}  // namespace lockstep::tokenizer
