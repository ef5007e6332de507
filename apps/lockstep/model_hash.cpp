#include "model_hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "interrupt.h"

namespace lockstep {
namespace {

constexpr size_t kSliceBytes = size_t{4} << 20;

XXH128_canonical_t canonical_hash(std::span<const std::byte> bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  return canonical;
}

std::string hexadecimal(std::span<const std::byte> bytes) {
  std::string text;
  for (const unsigned char byte : canonical_hash(bytes).digest) text += fmt::format("{:02x}", byte);
  return text;
}

void append_slices(const File& file, std::vector<std::byte>& hashes) {
  std::vector<std::byte> slice;
  for (uint64_t offset = 0; offset < file.size(); offset += slice.size()) {
    stop_if_interrupted();
    slice.resize(static_cast<size_t>(std::min<uint64_t>(kSliceBytes, file.size() - offset)));
    file.read_at(offset, slice);
    const XXH128_canonical_t canonical = canonical_hash(slice);
    const auto digest = std::as_bytes(std::span(canonical.digest));
    hashes.insert(hashes.end(), digest.begin(), digest.end());
  }
}

}  // namespace

std::string text_xxh128(std::string_view text) {
  return hexadecimal(std::as_bytes(std::span(text)));
}

std::string tree_xxh128(const gguf::ModelFile& model) {
  std::vector<std::byte> hashes;
  for (uint32_t i = 0; i < model.n_shards(); ++i) append_slices(model.file(i), hashes);
  return hexadecimal(hashes);
}

}  // namespace lockstep
