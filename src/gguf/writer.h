// Writes GGUF files, for tests and tools. The layout is the one that the reader takes: header, metadata and tensor
// table in the order of the calls, then the data, each tensor at a multiple of the alignment. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "gguf/metadata.h"
#include "gguf/tensor_info.h"

namespace lockstep::gguf {

class Writer {
 public:
  // `version` is 2 or 3 (the same layout).
  explicit Writer(uint32_t version = 3) : version_(version) {}

  // Errors: kBadRequest for a key that is empty or there already.
  void add(std::string key, Value value);
  // Adds the key general.alignment. Errors: kBadRequest unless a power of two from 1 to 1 MiB.
  void set_alignment(uint32_t alignment);
  // Adds the split.* keys of shard `index` (from 0) with the value types that llama.cpp's gguf-split writes.
  void add_split_keys(uint16_t index, uint16_t count, int32_t n_tensors_in_all);

  // `shape` as in TensorInfo, 1 to 4 dimensions; `data` must be as long as shape and type say and outlive write().
  // Errors: kBadRequest naming the tensor.
  void add_tensor(std::string name, quant::TensorType type, std::vector<uint64_t> shape,
                  std::span<const std::byte> data);

  // Everything before the tensor data, padded to the alignment.
  [[nodiscard]] std::string directory() const;
  // The file, replacing one that exists. Errors: kIo.
  void write(const std::filesystem::path& path) const;

 private:
  struct Tensor {
    TensorInfo info;
    std::span<const std::byte> data;
  };

  uint32_t version_;
  uint32_t alignment_ = 32;
  Metadata metadata_;
  std::vector<Tensor> tensors_;
  uint64_t next_offset_ = 0;
};

}  // namespace lockstep::gguf
