// What the limits on hostile files cost honest ones, in processor time of one thread:
//   limits_bench [MODEL.gguf]
// a vocabulary of 256k tokens, files of up to 10^6 keys, and, of a model, the checks of its directory and of its
// weights against the whole load.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/checked.h"
#include "engine/engine.h"
#include "gguf/model_file.h"
#include "gguf/tensor_table.h"
#include "gguf/writer.h"
#include "kernels/packed.h"
#include "quant/dequantize.h"
#include "quant/format.h"
#include "tokenizer/tokenizer.h"

namespace lockstep {
namespace {

constexpr int kRepeats = 5;

double cpu_seconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The least of some runs: what is added by others is never less than nothing.
template <typename F>
double least_ms(const F& f) {
  double least = 1e30;
  for (int i = 0; i < kRepeats; ++i) {
    const double start = cpu_seconds();
    f();
    least = std::min(least, (cpu_seconds() - start) * 1e3);
  }
  return least;
}

// Byte-level pairs and their pairs, with the merges that make them.
void write_vocabulary(const std::filesystem::path& path, size_t n_tokens) {
  std::vector<std::string> tokens, merges;
  for (char c = '!'; c <= '~'; ++c) tokens.emplace_back(1, c);
  for (size_t i = 0; tokens.size() < n_tokens; ++i) {
    const std::string left = tokens[i % 94];
    const std::string right = tokens[i / 94];
    tokens.push_back(left + right);
    merges.push_back(left + " " + right);
  }
  gguf::Writer writer;
  writer.add("tokenizer.ggml.model", std::string("gpt2"));
  writer.add("tokenizer.ggml.pre", std::string("qwen2"));
  writer.add("tokenizer.ggml.token_type", gguf::ArrayValue(std::vector<int32_t>(n_tokens, 1)));
  writer.add("tokenizer.ggml.tokens", gguf::ArrayValue(std::move(tokens)));
  writer.add("tokenizer.ggml.merges", gguf::ArrayValue(std::move(merges)));
  writer.write(path);
}

// By hand: a Writer looks for each key among those before.
void write_keys(const std::filesystem::path& path, uint64_t n_keys) {
  std::string bytes = "GGUF";
  const auto append = [&bytes](auto value) {
    char raw[sizeof(value)];
    std::memcpy(raw, &value, sizeof(value));
    bytes.append(raw, sizeof(value));
  };
  append(uint32_t{3});
  append(uint64_t{0});
  append(n_keys);
  for (uint64_t i = 0; i < n_keys; ++i) {
    const std::string key = fmt::format("key.{}", i);
    append(uint64_t{key.size()});
    bytes += key;
    append(uint32_t{0});  // u8
    append(uint8_t{1});
  }
  std::ofstream(path, std::ios::binary) << bytes;
}

void measure_directories(const std::filesystem::path& folder) {
  const std::filesystem::path vocabulary = folder / "vocabulary.gguf";
  write_vocabulary(vocabulary, size_t{1} << 18);
  const double vocabulary_ms =
      least_ms([&] { (void)tokenizer::Tokenizer::load(gguf::ModelFile::open(vocabulary).metadata()); });
  fmt::print("vocabulary of 262144 tokens, opened and loaded: {:.0f} ms (wanted below 500)\n", vocabulary_ms);
  for (const uint64_t n_keys : {250000, 500000, 1000000}) {
    const std::filesystem::path keys = folder / "keys.gguf";
    write_keys(keys, n_keys);
    const double ms = least_ms([&] { (void)gguf::ModelFile::open(keys); });
    fmt::print("file of {} keys, opened: {:.0f} ms, {:.0f} ns a key\n", n_keys, ms,
               ms * 1e6 / static_cast<double>(n_keys));
  }
}

// The first 16 rows of a tensor as loading holds them when it looks for values that are not finite: just read, for a
// matrix just packed, and in the cache.
class LoadedGroup {
 public:
  LoadedGroup(const gguf::ModelFile& file, const gguf::TensorInfo& tensor)
      : type_(tensor.type), n_cols_(static_cast<int64_t>(tensor.shape[0])) {
    const uint64_t row_bytes = quant::row_bytes(type_, tensor.shape[0]);
    const uint64_t n_rows = std::min<uint64_t>(tensor.bytes / row_bytes, kernels::kRowsPerGroup);
    n_groups_ = ceil_div<uint64_t>(tensor.bytes / row_bytes, kernels::kRowsPerGroup);
    rows_.resize(n_rows * row_bytes);
    file.read(tensor, 0, rows_);
    is_packed_ = tensor.n_dims > 1 && kernels::packed_unit_bytes(type_) != 0;
    if (!is_packed_) return;
    std::vector<std::byte> group(kernels::kRowsPerGroup * row_bytes);
    kernels::pack_group(type_, rows_.data(), static_cast<int64_t>(n_rows), n_cols_, row_bytes, group.data());
    rows_ = std::move(group);
  }

  // As often as the tensor has groups.
  [[nodiscard]] bool check() const {
    const uint64_t n_blocks = rows_.size() / quant::format_info(type_).block_bytes;
    bool finite = true;
    for (uint64_t i = 0; i < n_groups_; ++i) {
      finite &= is_packed_ ? kernels::group_is_finite(type_, rows_.data(), n_cols_)
                           : quant::scales_are_finite(type_, rows_.data(), n_blocks);
    }
    return finite;
  }

 private:
  quant::TensorType type_;
  int64_t n_cols_;
  bool is_packed_;
  uint64_t n_groups_;
  std::vector<std::byte> rows_;
};

void measure_load(const std::filesystem::path& path) {
  const gguf::ModelFile file = gguf::ModelFile::open(path);
  const double load_ms = least_ms([&] {
    engine::EngineOptions options;
    options.threads = 1;
    options.ctx_size = 512;
    (void)engine::Engine::load(path, options);
  });
  const double open_ms = least_ms([&] { (void)gguf::ModelFile::open(path); });
  const double check_ms = least_ms([&] { gguf::check_placement(file.file(), file.tensors(), file.data_start(), 32); });
  std::vector<LoadedGroup> groups;
  for (const gguf::TensorInfo& tensor : file.tensors()) groups.emplace_back(file, tensor);
  bool finite = true;
  const double scan_ms = least_ms([&] {
    for (const LoadedGroup& group : groups) finite &= group.check();
  });
  const auto part = [load_ms](double ms) { return fmt::format("{:.2f} ms ({:.2f} %)", ms, 100 * ms / load_ms); };
  fmt::print("{}: load {:.0f} ms; of it the directory read {}, its tensors checked {}, all weights found {} {}\n",
             path.filename().native(), load_ms, part(open_ms), part(check_ms), finite ? "finite" : "not finite",
             part(scan_ms));
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-limits-XXXXXX").native();
  if (mkdtemp(pattern.data()) == nullptr) return 1;
  lockstep::measure_directories(pattern);
  std::filesystem::remove_all(pattern);
  for (int i = 1; i < argc; ++i) lockstep::measure_load(argv[i]);
  return 0;
}
