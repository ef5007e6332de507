// A split model: two bytes with the number of files that are there, less one; then the files, each two bytes of length
// and its bytes. They stand side by side as shards 1 to 3 of 3.
#include <filesystem>

#include "forge/memory_file.h"
#include "fuzz/metadata_lookups.h"
#include "gguf/model_file.h"

namespace lockstep::fuzz {
namespace {

constexpr int64_t kShards = 3;

void fill(forge::MemoryShards& shards, FuzzInput& input) {
  const auto n = static_cast<size_t>(1 + input.below(kShards));
  for (size_t i = 0; i < shards.count(); ++i) {
    if (i < n) {
      shards.set(i, input.text());
    } else {
      shards.remove(i);
    }
  }
}

void check(const std::filesystem::path& path) {
  (void)accepts([&] {
    const gguf::ModelFile model = gguf::ModelFile::open(path);
    look_up_everything(model.metadata());
    for (const gguf::TensorInfo& tensor : model.tensors()) {
      require(model.find(tensor.name) == &tensor, "a tensor is found where it stands");
      require(tensor.shard < model.n_shards(), "a tensor is in a shard that is there");
      std::byte last;
      model.read(tensor, tensor.bytes - 1, {&last, 1});
    }
  });
}

}  // namespace
}  // namespace lockstep::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep;
  static forge::MemoryShards shards(fuzz::kShards);
  fuzz::FuzzInput input(data, size);
  fuzz::fill(shards, input);
  fuzz::check(shards.path(0));
  fuzz::check(shards.path(1));
  return 0;
}
