// What another run computed, as a file tells it: a trace of lockstep's (JSONL), or the text that llama.cpp's
// llama-eval-callback prints. Both become the same list of entries. Files come from anywhere: an entry that cannot be
// read keeps its place and says why, so that a comparison cannot pass over it.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::verify {

// One value of a tensor; `index` counts elements as memory has them.
struct ListedValue {
  int64_t index;
  double value;
  double half_digit;  // half of the last printed digit; 0 where all digits are there
};

struct ReferenceEntry {
  std::string name;
  std::string op;
  std::array<int64_t, 4> ne = {1, 1, 1, 1};
  double sum = 0;
  std::vector<ListedValue> values;
  int64_t line = 0;
  std::string unreadable;  // why this entry cannot be compared; empty when it can
};

struct Reference {
  std::string prompt;                       // "" where the file does not say
  std::optional<std::vector<int32_t>> ids;  // not in a log
  std::string kv_type;                      // "" where the file does not say
  std::string compute;
  std::vector<ReferenceEntry> entries;

  // Tokens of the passes that were written down; 0 when no embedding is there.
  [[nodiscard]] int64_t n_tokens() const;
};

inline constexpr uint64_t kMostReferenceBytes = uint64_t{64} << 20;  // a log of a large model has ten or so
inline constexpr size_t kMostEntries = size_t{1} << 18;
inline constexpr size_t kMostNameBytes = 256;

// Error kBadFile when the file is neither, too large, or its first line says nothing usable; those of reading files.
[[nodiscard]] Reference read_reference(const std::filesystem::path& path);

// The two forms; `text` is the whole file, `name` stands in messages.
[[nodiscard]] Reference parse_trace(std::string_view text, const std::string& name);
[[nodiscard]] Reference parse_callback_log(std::string_view text, const std::string& name);

// n as a product of extents, nothing when they are not positive or too many.
[[nodiscard]] std::optional<int64_t> n_elements(const std::array<int64_t, 4>& ne);

// Error kBadFile for more entries than kMostEntries; `name` is the file's.
void check_entry_count(size_t n, const std::string& name);

// Splits off the next line of `rest`, without its end.
[[nodiscard]] std::string_view next_line(std::string_view& rest);

}  // namespace lockstep::verify
