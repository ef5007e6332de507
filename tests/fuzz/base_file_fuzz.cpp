// Any bytes as a base of `perplexity --against`, and changes of a good one.
#include <cmath>

#include "base/file.h"
#include "forge/memory_file.h"
#include "fuzz/changed_file.h"
#include "fuzz/fuzz_input.h"
#include "fuzz/small_engine.h"
#include "verify/base_file.h"

namespace lockstep::fuzz {
namespace {

using verify::BaseReader;
using verify::BaseWriter;
using verify::TextWindows;

// Two windows of six tokens, whose logits are numbers that are easily made.
class GoodBase {
 public:
  GoodBase() {
    windows_ = {.tokens = {1, 70, 71, 72, 73, 74, 1, 75, 76, 77, 78, 79}, .size = 6};
    const std::filesystem::path path = small_.folder() / "b";
    BaseWriter writer(path, engine(), windows_);
    const std::vector<float> rows(row_values(), 0.5f);
    for (int64_t i = 0; i < windows_.count(); ++i) writer.write(rows);
    writer.commit();
    bytes_ = read_text_file(path);
  }

  [[nodiscard]] engine::Engine& engine() const { return small_.engine(); }
  [[nodiscard]] const TextWindows& windows() const { return windows_; }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

  // The sums of a file that is laid out as the good one is.
  void set_checksums(std::string& bytes) const {
    size_t begin = 0, end = sizeof(verify::BaseHeader) + windows_.tokens.size() * sizeof(verify::TokenId);
    for (int64_t i = 0; i <= windows_.count(); ++i) {
      set_checksum(bytes, begin, end);
      begin = end + kDigestBytes;
      end = begin + row_values() * sizeof(float);
    }
  }

 private:
  [[nodiscard]] size_t row_values() const {
    return static_cast<size_t>(windows_.n_scored() * small_.engine().n_vocab());
  }

  SmallEngine small_{"base"};
  TextWindows windows_;
  std::string bytes_;
};

void check(const GoodBase& good, const std::filesystem::path& path) {
  const TextWindows& windows = good.windows();
  (void)accepts([&] {
    BaseReader base(path, good.engine(), windows);
    for (int64_t i = 0; i < windows.count(); ++i) {
      for (const float logit : base.next(windows.n_scored())) require(std::isfinite(logit), "logits are finite");
    }
  });
}

}  // namespace
}  // namespace lockstep::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep;
  static const fuzz::GoodBase good;
  static forge::MemoryFile file;
  file.set(fuzz::file_of({data, size}, good.bytes(), [](std::string& bytes) { good.set_checksums(bytes); }));
  fuzz::check(good, file.path());
  return 0;
}
