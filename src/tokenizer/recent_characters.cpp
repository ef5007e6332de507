#include "tokenizer/recent_characters.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace lockstep::tokenizer {
namespace {

// Stand-ins by category. Three bytes long in UTF-8:
constexpr uint32_t kMark3 = 0xe31, kSymbol3 = 0x2300;
// ... and four:
constexpr uint32_t kLetter = 0x10300, kHan = 0x20000, kSmallLetter = 0x10428, kModifierLetter = 0x16b40;
constexpr uint32_t kMark = 0x1d167, kDigit = 0x1d7ce, kNumber = 0x10107, kPunctuation = 0x10100, kSymbol = 0x1f300;

struct Range {
  uint32_t first, last, stand_in;
};

// Ascending. From UnicodeData.txt of 15.1: what 14.0 leaves unassigned.
constexpr auto kRecent = std::to_array<Range>({
    {0xcf3, 0xcf3, kMark3},
    {0xece, 0xece, kMark3},
    {0x2ffc, 0x2fff, kSymbol3},
    {0x31ef, 0x31ef, kSymbol3},
    {0x10efd, 0x10eff, kMark},
    {0x1123f, 0x11240, kLetter},
    {0x11241, 0x11241, kMark},
    {0x11b00, 0x11b09, kPunctuation},
    {0x11f00, 0x11f01, kMark},
    {0x11f02, 0x11f02, kLetter},
    {0x11f03, 0x11f03, kMark},
    {0x11f04, 0x11f10, kLetter},
    {0x11f12, 0x11f33, kLetter},
    {0x11f34, 0x11f3a, kMark},
    {0x11f3e, 0x11f42, kMark},
    {0x11f43, 0x11f4f, kPunctuation},
    {0x11f50, 0x11f59, kDigit},
    {0x1342f, 0x1342f, kLetter},
    {0x13440, 0x13440, kMark},
    {0x13441, 0x13446, kLetter},
    {0x13447, 0x13455, kMark},
    {0x1b132, 0x1b132, kLetter},
    {0x1b155, 0x1b155, kLetter},
    {0x1d2c0, 0x1d2d3, kNumber},
    {0x1df25, 0x1df2a, kSmallLetter},
    {0x1e030, 0x1e06d, kModifierLetter},
    {0x1e08f, 0x1e08f, kMark},
    {0x1e4d0, 0x1e4ea, kLetter},
    {0x1e4eb, 0x1e4eb, kModifierLetter},
    {0x1e4ec, 0x1e4ef, kMark},
    {0x1e4f0, 0x1e4f9, kDigit},
    {0x1f6dc, 0x1f6dc, kSymbol},
    {0x1f774, 0x1f776, kSymbol},
    {0x1f77b, 0x1f77f, kSymbol},
    {0x1f7d9, 0x1f7d9, kSymbol},
    {0x1fa75, 0x1fa77, kSymbol},
    {0x1fa87, 0x1fa88, kSymbol},
    {0x1faad, 0x1faaf, kSymbol},
    {0x1fabb, 0x1fabd, kSymbol},
    {0x1fabf, 0x1fabf, kSymbol},
    {0x1face, 0x1facf, kSymbol},
    {0x1fada, 0x1fadb, kSymbol},
    {0x1fae8, 0x1fae8, kSymbol},
    {0x1faf7, 0x1faf8, kSymbol},
    {0x2b739, 0x2b739, kHan},
    {0x2ebf0, 0x2ee5d, kHan},
    {0x31350, 0x323af, kHan},
});

// Calls visit(offset, length, code point) for each character of three or four bytes until it returns false.
template <typename Visit>
void for_long_characters(std::string_view text, Visit visit) {
  for (size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0xe0) {
      ++at;
      continue;
    }
    const size_t length = static_cast<unsigned char>(text[at]) < 0xf0 ? 3 : 4;
    if (!visit(at, length, utf8_decode(text.substr(at), length))) return;
    at += length;
  }
}

}  // namespace

uint32_t stand_in_for(uint32_t code_point) {
  const auto* range = std::partition_point(kRecent.begin(), kRecent.end(),
                                           [code_point](const Range& r) { return r.last < code_point; });
  return range != kRecent.end() && range->first <= code_point ? range->stand_in : code_point;
}

bool holds_recent_characters(std::string_view text) {
  bool found = false;
  for_long_characters(text, [&found](size_t, size_t, uint32_t code_point) {
    found = stand_in_for(code_point) != code_point;
    return !found;
  });
  return found;
}

std::string with_stand_ins(std::string_view text) {
  std::string result(text);
  for_long_characters(text, [&result](size_t at, size_t length, uint32_t code_point) {
    std::string stand_in;
    utf8_append(stand_in, stand_in_for(code_point));
    result.replace(at, length, stand_in);
    return true;
  });
  return result;
}

}  // namespace lockstep::tokenizer
