// Any bytes as a GGUF file: header, metadata with its look-ups, tensor table, hyper-parameters.
#include "forge/memory_file.h"
#include "fuzz/metadata_lookups.h"
#include "gguf/model_file.h"
#include "model/config.h"

namespace lockstep::fuzz {
namespace {

void check_tensors(const gguf::ModelFile& model) {
  for (const gguf::TensorInfo& tensor : model.tensors()) {
    require(model.find(tensor.name) == &tensor, "a tensor is found where it stands");
    require(tensor.bytes > 0, "a tensor has data");
    const uint64_t begin = model.data_start(tensor.shard) + tensor.offset;
    const uint64_t size = model.file(tensor.shard).size();
    require(begin <= size && tensor.bytes <= size - begin, "a tensor lies within its file");
    std::byte first, last;
    model.read(tensor, 0, {&first, 1});
    model.read(tensor, tensor.bytes - 1, {&last, 1});
    require(!accepts([&] { model.read(tensor, tensor.bytes, {&last, 1}); }), "nothing is read behind a tensor");
  }
}

void check_config(const gguf::Metadata& metadata) {
  (void)accepts([&] {
    const model::Config c = model::load_config(metadata, 1);
    require(c.n_layers > 0 && c.n_embd > 0 && c.n_ff > 0 && c.head_dim > 0, "sizes are positive");
    require(c.n_kv_heads > 0 && c.n_heads % c.n_kv_heads == 0, "heads share keys evenly");
  });
}

}  // namespace
}  // namespace lockstep::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep;
  static forge::MemoryFile file;
  file.set({reinterpret_cast<const char*>(data), size});
  (void)fuzz::accepts([&] {
    const gguf::ModelFile model = gguf::ModelFile::open(file.path());
    fuzz::look_up_everything(model.metadata());
    fuzz::check_tensors(model);
    fuzz::check_config(model.metadata());
  });
  return 0;
}
