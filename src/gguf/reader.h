// Reads the directory (header, metadata, tensor table) of one GGUF file, version 2 or 3, little-endian. Source: the
// GGUF specification (ggml docs/gguf.md). Nothing of the tensor data is touched. Stateless.
#pragma once

#include <cstdint>
#include <vector>

#include "base/file.h"
#include "gguf/metadata.h"
#include "gguf/tensor_info.h"

namespace lockstep::gguf {

struct Directory {
  uint32_t version;
  uint64_t data_start;  // offset of the tensor data, a multiple of the alignment
  Metadata metadata;
  std::vector<TensorInfo> tensors;  // shard is 0
};

// Every count, length, offset and size is compared with the file before it is used. At most 2^20 keys and 2^18 tensors.
// Errors: kBadFile, kUnsupported, kIo, kNoMemory; one line that begins with the path and names key or tensor.
Directory read_directory(const File& file);

}  // namespace lockstep::gguf
