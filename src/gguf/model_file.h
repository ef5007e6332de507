// One model on disk: a GGUF file, or all shards of a split one, opened and cross-checked. Nothing of the tensor data is
// read until asked for. Safe to read from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "gguf/metadata.h"
#include "gguf/tensor_info.h"

namespace lockstep::gguf {

class ModelFile {
 public:
  // Opens `path`; if its metadata says that it is the first of several shards, the others beside it too.
  // Every count, length, offset and size is checked against the file before it is used.
  static ModelFile open(const std::filesystem::path& path);

  [[nodiscard]] const Metadata& metadata() const noexcept { return metadata_; }  // of the first shard
  [[nodiscard]] std::span<const TensorInfo> tensors() const noexcept { return tensors_; }
  [[nodiscard]] const TensorInfo* find(std::string_view name) const;
  [[nodiscard]] uint32_t version() const noexcept { return version_; }
  [[nodiscard]] uint64_t data_start(uint32_t shard = 0) const { return data_start_.at(shard); }
  [[nodiscard]] size_t n_shards() const noexcept { return files_.size(); }
  [[nodiscard]] const File& file(uint32_t shard = 0) const { return files_.at(shard); }

  // Bytes [first, first + out.size()) of the tensor's data.
  void read(const TensorInfo& tensor, uint64_t first, std::span<std::byte> out) const;

 private:
  ModelFile() = default;
  Metadata add_shard(const std::filesystem::path& path);
  void index_tensors();

  uint32_t version_ = 0;
  Metadata metadata_;
  std::vector<TensorInfo> tensors_;
  std::vector<uint32_t> by_name_;  // indices of tensors_ sorted by name
  std::vector<File> files_;
  std::vector<uint64_t> data_start_;
};

}  // namespace lockstep::gguf
