// Any bytes as the file that `verify --against` reads: a trace, or the text of llama-eval-callback.
#include "forge/memory_file.h"
#include "fuzz/fuzz_input.h"
#include "verify/reference.h"

namespace lockstep::fuzz {
namespace {

void check(const verify::Reference& reference) {
  require(reference.entries.size() <= verify::kMostEntries, "entries are bounded");
  require(reference.n_tokens() >= 0, "a number of tokens");
  for (const verify::ReferenceEntry& entry : reference.entries) {
    require(entry.name.size() <= verify::kMostNameBytes, "names are bounded");
    if (!entry.unreadable.empty()) continue;
    const auto n = verify::n_elements(entry.ne);
    require(n.has_value(), "a readable entry has a shape");
    for (const verify::ListedValue& value : entry.values)
      require(value.index >= 0 && value.index < *n, "a listed value is one of the tensor's");
  }
}

}  // namespace
}  // namespace lockstep::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep;
  static forge::MemoryFile file;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  file.set(text);
  (void)fuzz::accepts([&] { fuzz::check(verify::read_reference(file.path())); });
  (void)fuzz::accepts([&] { fuzz::check(verify::parse_trace(text, "input")); });
  (void)fuzz::accepts([&] { fuzz::check(verify::parse_callback_log(text, "input")); });
  return 0;
}
