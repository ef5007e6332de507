#include "model_hash.h"

#include "model/tensor_loader.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <filesystem>
#include <fstream>

namespace lockstep {
namespace {

namespace fs = std::filesystem;

const fs::path kModel = fs::path(__FILE__).parent_path() / "../../tests/data/models/mini-llama.Q4_0.gguf";

std::string canonical(std::string_view bytes) {
  XXH128_canonical_t result;
  XXH128_canonicalFromHash(&result, XXH3_128bits(bytes.data(), bytes.size()));
  return {reinterpret_cast<const char*>(result.digest), sizeof(result.digest)};
}

TEST(ModelHash, OfNoTextIsThePublishedOne) {
  EXPECT_EQ(text_xxh128(""), "99aa06d3014798d86001c324468d497f");
}

TEST(ModelHash, OfAFileIsTheHashOfTheHashesOfItsSlices) {
  // A model with so much behind its tensors that it has three slices, the last of them short.
  const std::string start = read_text_file(kModel);
  std::string bytes = start + std::string(9'000'000 - start.size(), '\0');
  for (size_t i = start.size(); i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 2654435761u >> 13);
  const fs::path path = fs::path(testing::TempDir()) / "three_slices.gguf";
  std::ofstream(path, std::ios::binary) << bytes;
  constexpr size_t kSlice = 4 * 1024 * 1024;
  const std::string hashes = canonical(bytes.substr(0, kSlice)) + canonical(bytes.substr(kSlice, kSlice)) +
                             canonical(bytes.substr(2 * kSlice));
  exec::Team team(2);
  EXPECT_EQ(model::load_tensors(gguf::ModelFile::open(path), {}, team, {}), text_xxh128(hashes));
  fs::remove(path);
}

}  // namespace
}  // namespace lockstep
