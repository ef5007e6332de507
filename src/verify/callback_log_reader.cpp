// Reads what llama.cpp's llama-eval-callback prints of each tensor: a line with name, type, operation, sources and
// shape; the values as nested lists, of each of the first three dimensions three from each end; the sum.
//
//   common_debug_cb_eval:   norm-0 = (f32)   RMS_NORM(embd{576, 5, 1, 1}, }) = {576, 5, 1, 1}
#include <charconv>
#include <cmath>

#include "base/checked.h"
#include "base/error.h"
#include "verify/reference.h"

namespace lockstep::verify {
namespace {

constexpr int64_t kEnd = 3;  // values printed from each end of a dimension that has more than twice as many
constexpr size_t kMostLineBytes = 4096;

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// The whole text as a number; nothing when it is none, or not finite.
std::optional<double> parse_double(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

int64_t n_printed(int64_t extent) {
  return extent > 2 * kEnd ? 2 * kEnd : extent;
}

// Which element of a dimension is printed at place i.
int64_t printed_index(int64_t extent, int64_t i) {
  return extent > 2 * kEnd && i >= kEnd ? extent - 2 * kEnd + i : i;
}

// "{576, 5, 1, 1}"
std::optional<std::array<int64_t, 4>> parse_extents(std::string_view text) {
  if (!text.starts_with('{') || !text.ends_with('}')) return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::array<int64_t, 4> ne = {};
  for (size_t i = 0; i < ne.size(); ++i) {
    const size_t comma = i + 1 < ne.size() ? text.find(',') : text.size();
    if (comma == text.npos) return std::nullopt;
    const std::string_view number = trimmed(text.substr(0, comma));
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), ne[i]);
    if (error != std::errc() || end != number.data() + number.size()) return std::nullopt;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return n_elements(ne) ? std::optional(ne) : std::nullopt;
}

// What follows the callback's name on the line that begins an entry. Older versions of llama.cpp call it otherwise.
std::optional<std::string_view> after_marker(std::string_view line) {
  for (const std::string_view marker : {"cb_eval:", "ggml_debug:"}) {
    const size_t at = line.find(marker);
    if (at != line.npos && line.find(" = (") != line.npos) return line.substr(at + marker.size());
  }
  return std::nullopt;
}

class LogReader {
 public:
  void read(std::string_view line, int64_t number) {
    if (const auto head = after_marker(line)) {
      finish_entry();
      begin_entry(*head, number);
    } else if (open_) {
      read_inside(trimmed(line), number);
    }
  }

  [[nodiscard]] size_t n_entries() const { return entries_.size(); }

  std::vector<ReferenceEntry> finish() {
    finish_entry();
    return std::move(entries_);
  }

 private:
  [[nodiscard]] ReferenceEntry& entry() { return entries_.back(); }

  void spoil(std::string why) {
    if (entry().unreadable.empty()) entry().unreadable = std::move(why);
  }

  void begin_entry(std::string_view head, int64_t number) {
    open_ = true;
    has_sum_ = false;
    n_rows_ = 0;
    entries_.emplace_back().line = number;
    if (head.size() > kMostLineBytes) return spoil("a line that is too long");
    const size_t equals = head.find(" = (");
    const size_t type_end = head.find(')', equals);
    const size_t shape = head.rfind(" = {");
    if (type_end == head.npos || shape == head.npos || shape < type_end) return spoil("no type, operation and shape");
    const std::string_view call = trimmed(head.substr(type_end + 1, shape - type_end - 1));
    const auto name = trimmed(head.substr(0, equals));
    entry().name = name.substr(0, kMostNameBytes);
    entry().op = call.substr(0, call.find('('));
    if (name.empty() || name.size() > kMostNameBytes || entry().op.empty()) return spoil("no name or operation");
    const auto ne = parse_extents(trimmed(head.substr(shape + 3)));
    if (!ne) return spoil("no shape of a tensor");
    entry().ne = *ne;
  }

  void read_inside(std::string_view line, int64_t number) {
    constexpr std::string_view kSum = "sum = ";
    if (!entry().unreadable.empty() || line.empty()) return;
    if (line.starts_with(kSum)) {
      const auto sum = parse_double(line.substr(kSum.size()));
      if (!sum) return spoil(fmt::format("line {}: the sum is no number", number));
      entry().sum = *sum;
      has_sum_ = true;
    } else if (line.starts_with('[') && line.size() > 1) {
      read_row(line, number);
    } else if (line != "[" && line != "]" && line != "]," && line != "...," && !has_sum_) {
      spoil(fmt::format("line {}: neither values nor a sum", number));
    }
  }

  // "[  0.1096,  0.0174, -0.0947,  ...,  0.0506,  0.1287,  0.0708  ],"
  void read_row(std::string_view line, int64_t number) {
    const int64_t width = entry().ne[0];
    const size_t end = line.find(']');
    if (end == line.npos || line.size() > kMostLineBytes) return spoil(fmt::format("line {}: a row cut short", number));
    std::string_view rest = line.substr(1, end - 1);
    int64_t n = 0;
    bool has_gap = width <= 2 * kEnd;
    while (!rest.empty()) {
      const size_t comma = rest.find(',');
      const std::string_view item = trimmed(rest.substr(0, comma));
      rest.remove_prefix(comma == rest.npos ? rest.size() : comma + 1);
      if (item == "..." && n == kEnd && !has_gap) {
        has_gap = true;
        continue;
      }
      const auto value = parse_double(item);
      if (!value) return spoil(fmt::format("line {}: \"{}\" is no number", number, printable(item, 40)));
      if (n >= n_printed(width)) return spoil(fmt::format("line {}: too many values", number));
      add_value(n++, *value, item);
    }
    if (n != n_printed(width) || !has_gap)
      spoil(fmt::format("line {}: {} values, which is not what its shape asks for", number, n));
    ++n_rows_;
  }

  void add_value(int64_t place, double value, std::string_view printed) {
    const auto& ne = entry().ne;
    const int64_t i1 = printed_index(ne[1], n_rows_ % n_printed(ne[1]));
    const int64_t i2 = printed_index(ne[2], n_rows_ / n_printed(ne[1]) % n_printed(ne[2]));
    const int64_t i3 = n_rows_ / n_printed(ne[1]) / n_printed(ne[2]);
    if (i3 >= ne[3]) return spoil("too many rows");
    const size_t point = printed.find('.');
    const auto digits = point == printed.npos ? 0 : static_cast<int>(printed.size() - point - 1);
    entry().values.push_back(
        {((i3 * ne[2] + i2) * ne[1] + i1) * ne[0] + printed_index(ne[0], place), value, 0.5 * std::pow(10.0, -digits)});
  }

  void finish_entry() {
    if (!open_ || !entry().unreadable.empty()) return;
    const auto& ne = entry().ne;
    if (!has_sum_) return spoil("it ends before its sum");
    if (n_rows_ / (n_printed(ne[1]) * n_printed(ne[2])) != ne[3] ||
        n_rows_ % (n_printed(ne[1]) * n_printed(ne[2])) != 0)
      spoil(fmt::format("{} rows of values, which is not what its shape asks for", n_rows_));
  }

  std::vector<ReferenceEntry> entries_;
  bool open_ = false;  // the last entry may still grow
  bool has_sum_ = false;
  int64_t n_rows_ = 0;
};

}  // namespace

Reference parse_callback_log(std::string_view text, const std::string& name) {
  LogReader reader;
  const bool is_cut = !text.ends_with('\n');  // a number that was cut is still a number
  for (int64_t number = 1; !text.empty(); ++number) {
    const std::string_view line = next_line(text);
    if (!text.empty() || !is_cut) reader.read(line, number);
    check_entry_count(reader.n_entries(), name);
  }
  Reference reference;
  reference.entries = reader.finish();
  if (reference.entries.empty())
    fail(ErrorCode::kBadFile, "{}: neither a trace nor what llama-eval-callback prints", name);
  return reference;
}

}  // namespace lockstep::verify
