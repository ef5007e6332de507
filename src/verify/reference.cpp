#include "verify/reference.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/file.h"

namespace lockstep::verify {
namespace {

// In most of llama.cpp's graphs the product with the attention's output matrix has a number for a name: it is what
// follows the heads.
void name_attention_outputs(std::vector<ReferenceEntry>& entries) {
  constexpr std::string_view kHeads = "kqv_out-";
  for (size_t i = 1; i < entries.size(); ++i) {
    const std::string& before = entries[i - 1].name;
    if (before.starts_with(kHeads) && entries[i].op == "MUL_MAT" && entries[i].name.starts_with("node_"))
      entries[i].name = "attn_out-" + before.substr(kHeads.size());
  }
}

}  // namespace

int64_t Reference::n_tokens() const {
  int64_t n = 0;
  for (const ReferenceEntry& entry : entries) {
    if (entry.name == "embd" && entry.unreadable.empty()) n += entry.ne[1];
  }
  return n;
}

std::optional<int64_t> n_elements(const std::array<int64_t, 4>& ne) {
  constexpr uint64_t kMostElements = uint64_t{1} << 48;
  uint64_t n = 1;
  for (const int64_t extent : ne) {
    if (extent < 1) return std::nullopt;
    const std::optional<uint64_t> product = checked_mul(n, static_cast<uint64_t>(extent));
    if (!product || *product > kMostElements) return std::nullopt;
    n = *product;
  }
  return static_cast<int64_t>(n);
}

void check_entry_count(size_t n, const std::string& name) {
  if (n > kMostEntries) fail(ErrorCode::kBadFile, "{}: more than {} tensors", name, kMostEntries);
}

std::string_view next_line(std::string_view& rest) {
  const size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

Reference read_reference(const std::filesystem::path& path) {
  const std::string name = printable(path.string(), 200);
  const std::string text = read_text_file(path, kMostReferenceBytes);
  const size_t start = text.find_first_not_of(" \t\r\n");
  const bool is_json = start != text.npos && text[start] == '{';
  Reference reference = is_json ? parse_trace(text, name) : parse_callback_log(text, name);
  name_attention_outputs(reference.entries);
  return reference;
}

}  // namespace lockstep::verify
