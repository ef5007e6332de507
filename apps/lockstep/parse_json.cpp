// parse_json() of json_text.h. The library's own parser lets nesting without end and doubled fields pass, and searches
// all fields of an object for each that follows: this reader takes its events and builds the value in linear time.
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/keyed_hash.h"
#include "chat/json_fields.h"
#include "json_text.h"

namespace lockstep {
namespace {

constexpr size_t kMostLevels = 64;
constexpr size_t kMostValues = size_t{1} << 22;  // an empty one has 3 bytes of text and up to 80 of memory

// An array or object whose end has not come yet.
struct OpenValue {
  bool is_object;
  Json items = Json::array();  // of an array
  chat::JsonFields fields;     // of an object, as the next two
  std::unordered_set<std::string, TextHash> names;
  std::string name;  // of the field whose value comes next
};

// The events of Json::sax_parse(): true is to go on.
class JsonReader {
 public:
  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(Json::number_integer_t value) { return add(value); }
  bool number_unsigned(Json::number_unsigned_t value) { return add(value); }
  bool number_float(Json::number_float_t value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(Json::binary_t&) { return false; }  // no text has any

  bool start_object(size_t) { return open(true); }
  bool start_array(size_t) { return open(false); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    OpenValue& object = open_.back();
    if (!object.names.insert(name).second) fail(ErrorCode::kBadRequest, "field {}: it is there twice", printable(name));
    object.name = std::move(name);
    return true;
  }

  [[noreturn]] bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 5: ...": the part for people.
    const std::string_view what = error.what();
    const size_t start = what.find("] ");
    fail(ErrorCode::kBadRequest, "not JSON: {}", printable(start == what.npos ? what : what.substr(start + 2), 200));
  }

  [[nodiscard]] Json take() { return std::move(root_); }

 private:
  bool open(bool is_object) {
    if (open_.size() >= kMostLevels) fail(ErrorCode::kBadRequest, "JSON with more than {} levels", kMostLevels);
    open_.emplace_back().is_object = is_object;
    return true;
  }

  bool close() {
    OpenValue& closed = open_.back();
    Json value = closed.is_object ? closed.fields.take() : std::move(closed.items);
    open_.pop_back();
    return add(std::move(value));
  }

  bool add(Json value) {
    if (++n_values_ > kMostValues) fail(ErrorCode::kBadRequest, "JSON of more than {} values", kMostValues);
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().is_object) {
      open_.back().fields.add(std::move(open_.back().name), std::move(value));
    } else {
      open_.back().items.push_back(std::move(value));
    }
    return true;
  }

  std::vector<OpenValue> open_;  // from the root on
  size_t n_values_ = 0;
  Json root_;
};

}  // namespace

Json parse_json(std::string_view text) {
  JsonReader reader;
  Json::sax_parse(text.begin(), text.end(), &reader);
  return reader.take();
}

}  // namespace lockstep
