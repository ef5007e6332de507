#include "json_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"

namespace lockstep {
namespace {

constexpr int kMostLevels = 64;

// What the library lets pass: nesting without end, and a field that is there twice, of which it would take one.
class Strictness {
 public:
  void see(int depth, Json::parse_event_t event, const Json& value) {
    switch (event) {
      case Json::parse_event_t::object_start:
        check_depth(depth);
        fields_.emplace_back();
        break;
      case Json::parse_event_t::array_start:
        check_depth(depth);
        break;
      case Json::parse_event_t::object_end:
        fields_.pop_back();
        break;
      case Json::parse_event_t::key: {
        const auto& name = value.get_ref<const std::string&>();
        if (!fields_.back().insert(name).second)
          fail(ErrorCode::kBadRequest, "field {}: it is there twice", printable(name));
        break;
      }
      default:
        break;
    }
  }

 private:
  static void check_depth(int depth) {
    if (depth >= kMostLevels) fail(ErrorCode::kBadRequest, "JSON with more than {} levels", kMostLevels);
  }

  std::vector<std::unordered_set<std::string>> fields_;  // of the objects that are open
};

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

Json parse_json(std::string_view text) {
  Strictness strictness;
  const auto see = [&strictness](int depth, Json::parse_event_t event, Json& value) {
    strictness.see(depth, event, value);
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), see);
  } catch (const Json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 5: ...": the part for people.
    const std::string_view what = error.what();
    const size_t start = what.find("] ");
    fail(ErrorCode::kBadRequest, "not JSON: {}", printable(start == what.npos ? what : what.substr(start + 2), 200));
  }
}

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
