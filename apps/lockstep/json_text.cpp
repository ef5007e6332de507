#include "json_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>
#include <string>

#include "base/utf8.h"

namespace lockstep {
namespace {

bool is_del_or_c1(std::string_view text, size_t i) {
  if (text[i] == '\x7f') return true;
  return text[i] == '\xc2' && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
}

// DEL and the C1 control characters, which JSON lets stand as they are and terminals obey (ECMA-48, U+009B is CSI), as
// \u00XX. `json` is valid UTF-8 and has them in texts only.
std::string escape_del_and_c1(std::string json) {
  std::string out;
  size_t start = 0;
  for (size_t i = 0; i < json.size(); ++i) {
    if (!is_del_or_c1(json, i)) continue;
    out.append(json, start, i - start);
    if (json[i] == '\xc2') ++i;  // the code point is the second byte
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(json[i]));
    start = i + 1;
  }
  if (start == 0) return json;
  return out.append(json, start);
}

}  // namespace

std::string dump_line(const Json& value) {
  return escape_del_and_c1(value.dump(-1, ' ', false, Json::error_handler_t::replace)) + '\n';
}

Json bytes_json(std::string_view text) {
  Json bytes = Json::array();
  for (const char byte : text) bytes.push_back(static_cast<uint8_t>(byte));
  return bytes;
}

void set_text(Json& object, const std::string& key, std::string_view text) {
  object[key] = utf8_sanitize(text);
  if (!utf8_is_valid(text)) object["bytes"] = bytes_json(text);
}

Json error_json(std::string_view code, std::string_view message) {
  return {{"error", {{"code", code}, {"message", message}}}};
}

double shortest(float value) {
  if (!std::isfinite(value)) return value;
  char digits[32];
  const auto written = std::to_chars(std::begin(digits), std::end(digits), value);
  double result = 0;
  std::from_chars(digits, written.ptr, result);
  return result;
}

}  // namespace lockstep
