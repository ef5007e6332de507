// Brings the tensors of a model into memory: several readers go through the file once, slice by slice, and turn rows
// into the layout of the kernels on the way (kernels/packed.h), so that nothing is in memory twice. Scales that are not
// finite are refused, and the hash that identifies the file is made from the same bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "exec/team.h"
#include "gguf/model_file.h"

namespace lockstep::model {

// Called by one thread now and then with the bytes read so far and in all; may throw to give up.
using Progress = std::function<void(uint64_t done, uint64_t total)>;

// Where a tensor goes. `packed`: as groups of 16 rows in the R16 layout, of which the last is filled up; otherwise as
// in the file.
struct TensorPlacement {
  const gguf::TensorInfo* tensor;
  std::byte* data;
  bool packed;
};

// Bytes that a placement takes.
[[nodiscard]] uint64_t placement_bytes(const gguf::TensorInfo& tensor, bool packed);

// Reads all placements. Returns the file's tree hash: xxh128 (canonical, hexadecimal) over the xxh128 of its slices of
// 4 MiB, shards one after another. Errors: kNotFinite naming the tensor, kIo, kBadFile (also for a file that is written
// to meanwhile), and whatever `progress` throws.
std::string load_tensors(const gguf::ModelFile& file, std::vector<TensorPlacement> placements, exec::Team& team,
                         const Progress& progress);

}  // namespace lockstep::model
