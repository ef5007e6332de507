// Numbers as people type them: the whole text must be the number, and an error names the option and the range. Pure
// functions.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

namespace lockstep {

struct IntegerRange {
  int64_t lowest = std::numeric_limits<int64_t>::min();
  int64_t highest = std::numeric_limits<int64_t>::max();
};

// Errors of all: kBadRequest, "option NAME: ...".
[[nodiscard]] int64_t parse_integer(std::string_view option, std::string_view text, IntegerRange range);
[[nodiscard]] float parse_float(std::string_view option, std::string_view text);
// -1 is no seed: a random one.
[[nodiscard]] std::optional<uint64_t> parse_seed(std::string_view option, std::string_view text);

// "1,2,3" as token ids, which are not yet held against a vocabulary.
[[nodiscard]] std::vector<int32_t> parse_ids(std::string_view option, std::string_view text);

void check_range(std::string_view option, int64_t value, IntegerRange range);

// A double as a float; finite stays finite or is refused.
[[nodiscard]] float narrow_float(std::string_view option, double value);

}  // namespace lockstep
