// JSON as lockstep's commands speak it: one object a line, numbers plain, text that is not UTF-8 made visible. Pure
// functions.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace lockstep {

using Json = nlohmann::ordered_json;

// `text` is one JSON value. Error kBadRequest for a syntax error, with its place, for more than 64 levels or 2^22
// values and for a field that an object has twice. The time is linear in the length of the text, whatever it says.
[[nodiscard]] Json parse_json(std::string_view text);

// One line with its end, without control characters: those from U+007F on are escaped too. A number that is not finite
// is null, bytes that are not UTF-8 are U+FFFD.
[[nodiscard]] std::string dump_line(const Json& value);

// object[key] = text; when `text` is not UTF-8, with U+FFFD, and object["bytes"] has its bytes.
void set_text(Json& object, const std::string& key, std::string_view text);

// The bytes of `text` as an array of integers.
[[nodiscard]] Json bytes_json(std::string_view text);

// {"error":{"code":...,"message":...}}
[[nodiscard]] Json error_json(std::string_view code, std::string_view message);

// The double whose shortest decimal form is that of `value`: 0.8f becomes 0.8, not 0.800000011920929.
[[nodiscard]] double shortest(float value);

}  // namespace lockstep
