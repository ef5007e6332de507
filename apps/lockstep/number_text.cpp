#include "number_text.h"

#include <charconv>
#include <cmath>

#include "base/error.h"

namespace lockstep {
namespace {

constexpr int64_t kMostId = std::numeric_limits<int32_t>::max();

// from_chars reads no leading plus; people write one.
std::string_view without_plus(std::string_view text) {
  return text.size() > 1 && text[0] == '+' && text[1] != '-' ? text.substr(1) : text;
}

template <typename T>
std::errc parse_whole(std::string_view text, T& value) {
  text = without_plus(text);
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc() && result.ptr != end ? std::errc::invalid_argument : result.ec;
}

[[noreturn]] void fail_range(std::string_view option, std::string_view text, IntegerRange range) {
  constexpr IntegerRange kAny;
  if (range.highest != kAny.highest) {
    fail(ErrorCode::kBadRequest, "option {}: {} is out of range, expected {} to {}", option, printable(text),
         range.lowest, range.highest);
  }
  fail(ErrorCode::kBadRequest, "option {}: {} is out of range, expected {} or more", option, printable(text),
       range.lowest);
}

}  // namespace

void check_range(std::string_view option, int64_t value, IntegerRange range) {
  if (value < range.lowest || value > range.highest) fail_range(option, fmt::format("{}", value), range);
}

int64_t parse_integer(std::string_view option, std::string_view text, IntegerRange range) {
  int64_t value = 0;
  const std::errc error = parse_whole(text, value);
  if (error == std::errc::result_out_of_range) fail_range(option, text, range);
  if (error != std::errc()) {
    fail(ErrorCode::kBadRequest, "option {}: \"{}\" is not a whole number", option, printable(text));
  }
  check_range(option, value, range);
  return value;
}

std::optional<uint64_t> parse_seed(std::string_view option, std::string_view text) {
  if (text == "-1") return std::nullopt;
  uint64_t value = 0;
  if (parse_whole(text, value) != std::errc()) {
    fail(ErrorCode::kBadRequest, "option {}: {} is not a whole number of 0 to 18446744073709551615, or -1 (random)",
         option, printable(text));
  }
  return value;
}

float parse_float(std::string_view option, std::string_view text) {
  double value = 0;
  const std::errc error = parse_whole(text, value);
  if (error == std::errc::invalid_argument) {
    fail(ErrorCode::kBadRequest, "option {}: \"{}\" is not a number", option, printable(text));
  }
  if (error != std::errc()) {
    fail(ErrorCode::kBadRequest, "option {}: {} is out of range, expected a 32-bit floating-point number", option,
         printable(text));
  }
  return narrow_float(option, value);
}

float narrow_float(std::string_view option, double value) {
  if (std::isfinite(value) && std::abs(value) > std::numeric_limits<float>::max()) {
    fail(ErrorCode::kBadRequest, "option {}: {} is out of range, expected a 32-bit floating-point number", option,
         value);
  }
  return static_cast<float>(value);
}

std::vector<int32_t> parse_ids(std::string_view option, std::string_view text) {
  std::vector<int32_t> ids;
  while (true) {
    const size_t end = text.find(',');
    const std::string_view item = text.substr(0, end);
    ids.push_back(static_cast<int32_t>(parse_integer(option, item, {0, kMostId})));
    if (end == text.npos) return ids;
    text.remove_prefix(end + 1);
  }
}

}  // namespace lockstep
