// Reads traces: JSONL, the header's line first.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/checked.h"
#include "base/error.h"
#include "verify/reference.h"
#include "verify/trace_record.h"

namespace lockstep::verify {
namespace {

using Json = nlohmann::json;

constexpr int kMostLevels = 8;
constexpr size_t kMostIds = size_t{1} << 20;
constexpr size_t kMostValues = 2 * kMostIds;  // of a line

// Why an entry cannot be read. Never leaves this file.
struct Unreadable {
  std::string why;
};

Json parse_line(std::string_view line) {
  size_t n_values = 0;
  const auto check = [&](int depth, Json::parse_event_t event, Json&) {
    if (depth > kMostLevels) throw Unreadable{"nested too deep"};
    const bool begins = event != Json::parse_event_t::array_end && event != Json::parse_event_t::object_end;
    if (begins && ++n_values > kMostValues) throw Unreadable{fmt::format("more than {} values", kMostValues)};
    return true;
  };
  try {
    Json value = Json::parse(line.begin(), line.end(), check);
    if (!value.is_object()) throw Unreadable{"no JSON object"};
    return value;
  } catch (const Json::exception&) {
    throw Unreadable{"no JSON, or a line that was cut"};
  }
}

const Json& member(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) throw Unreadable{fmt::format("no {}", key)};
  return *found;
}

std::string text_member(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_string()) throw Unreadable{fmt::format("{} is no text", key)};
  std::string text = value.get<std::string>();
  if (text.empty() || text.size() > kMostNameBytes) throw Unreadable{fmt::format("{} is empty or too long", key)};
  return text;
}

double number(const Json& value, const char* key) {
  if (!value.is_number()) throw Unreadable{fmt::format("{} holds what is no number", key)};
  return value.get<double>();  // JSON has no NaN, and the parser refuses what a double cannot hold
}

std::array<int64_t, 4> extents(const Json& value) {
  if (!value.is_array() || value.empty() || value.size() > 4) throw Unreadable{"ne is no list of up to 4 extents"};
  std::array<int64_t, 4> ne = {1, 1, 1, 1};
  for (size_t i = 0; i < value.size(); ++i) {
    if (!value[i].is_number_unsigned()) throw Unreadable{"ne holds what is no extent"};
    ne[i] = checked_cast<int64_t>(value[i].get<uint64_t>()).value_or(0);
  }
  if (!n_elements(ne)) throw Unreadable{"ne is not the shape of a tensor"};
  return ne;
}

// `first` and `last`: as many values as there can be, from element `begin` on.
void add_listed(const Json& object, const char* key, int64_t begin, int64_t n, std::vector<ListedValue>& values) {
  const Json& list = member(object, key);
  if (!list.is_array() || static_cast<int64_t>(list.size()) != n)
    throw Unreadable{fmt::format("{} does not hold {} values", key, n)};
  for (int64_t i = 0; i < n; ++i) values.push_back({begin + i, number(list[static_cast<size_t>(i)], key), 0});
}

void read_entry(std::string_view line, ReferenceEntry& entry) {
  const Json object = parse_line(line);
  entry.name = text_member(object, "name");
  entry.op = text_member(object, "op");
  entry.ne = extents(member(object, "ne"));
  entry.sum = number(member(object, "sum"), "sum");
  const int64_t n = *n_elements(entry.ne);
  const int64_t listed = std::min(n, kListed);
  add_listed(object, "first", 0, listed, entry.values);
  add_listed(object, "last", n - listed, listed, entry.values);
}

std::vector<int32_t> read_ids(const Json& list) {
  if (!list.is_array() || list.empty() || list.size() > kMostIds)
    throw Unreadable{"ids is no list of tokens, or too long"};
  std::vector<int32_t> ids;
  for (const Json& id : list) {
    const auto value = id.is_number_unsigned() ? checked_cast<int32_t>(id.get<uint64_t>()) : std::nullopt;
    if (!value) throw Unreadable{"ids holds what is no token"};
    ids.push_back(*value);
  }
  return ids;
}

// One of a few words, or "" where the key is not there.
std::string choice(const Json& object, const char* key, std::initializer_list<std::string_view> words) {
  if (!object.contains(key)) return {};
  std::string word = text_member(object, key);
  if (std::ranges::find(words, word) == words.end()) throw Unreadable{fmt::format("{} is none that there is", key)};
  return word;
}

void read_header(std::string_view line, Reference& reference) {
  const Json object = parse_line(line);
  reference.ids = read_ids(member(object, "ids"));
  if (const auto prompt = object.find("prompt"); prompt != object.end() && prompt->is_string())
    reference.prompt = prompt->get<std::string>();
  reference.kv_type = choice(object, "kv", {"f16", "f32", "q8_0"});
  reference.compute = choice(object, "compute", {"fast", "exact"});
}

}  // namespace

Reference parse_trace(std::string_view text, const std::string& name) {
  Reference reference;
  bool header_read = false;
  for (int64_t number = 1; !text.empty(); ++number) {
    const std::string_view line = next_line(text);
    if (line.find_first_not_of(" \t") == line.npos) continue;
    if (!header_read) {
      try {
        read_header(line, reference);
      } catch (const Unreadable& problem) {
        fail(ErrorCode::kBadFile, "{}: line {}: {}; expected the first line of a trace, with ids", name, number,
             problem.why);
      }
      header_read = true;
      continue;
    }
    ReferenceEntry entry;
    entry.line = number;
    try {
      read_entry(line, entry);
    } catch (const Unreadable& problem) {
      entry.unreadable = problem.why;
    }
    reference.entries.push_back(std::move(entry));
    check_entry_count(reference.entries.size(), name);
  }
  return reference;
}

}  // namespace lockstep::verify
