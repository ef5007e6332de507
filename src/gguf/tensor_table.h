// The tensor table of one GGUF file: rows are read and checked on their own, then against each other and the file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "gguf/cursor.h"
#include "gguf/tensor_info.h"

namespace lockstep::gguf {

// Bytes of the smallest row: length, one byte of name, n_dims, one dimension, type, offset.
constexpr uint64_t kLeastTensorBytes = 8 + 1 + 4 + 8 + 4 + 8;

// Reads `n_tensors` rows: names of 1 to 65,535 bytes, 1 to 4 dimensions, none zero, no overflow, a known type, whole
// blocks along shape[0].
// Errors: kBadFile, kUnsupported (a type number that lockstep does not know), naming the tensor.
std::vector<TensorInfo> read_tensor_table(Cursor& cursor, uint64_t n_tensors);

// Refuses names that are there twice, offsets that are no multiple of `alignment`, data that overlaps or leaves the
// file. Gaps between tensors and any order are accepted. O(n log n).
void check_placement(const File& file, std::span<const TensorInfo> tensors, uint64_t data_start, uint64_t alignment);

// `tensor "blk.0.attn_q.weight" [576, 576] Q4_1` for messages.
std::string describe(const TensorInfo& tensor);

}  // namespace lockstep::gguf
