// Split models: NAME-00001-of-00003.gguf and so on, each a GGUF file of its own with the keys split.no (from 0),
// split.count and split.tensors.count. What a file is, is decided by these keys, never by its name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "gguf/reader.h"

namespace lockstep::gguf {

// 1 for a model in one file. Errors: kBadFile when `path` is a later shard, naming the first.
uint64_t count_shards(const std::filesystem::path& path, const Metadata& metadata);

// Paths of shards 2 to `count` beside the first. Errors: kBadFile for a first shard whose name is not of the pattern;
// kNotFound naming the missing files.
std::vector<std::filesystem::path> later_shard_paths(const std::filesystem::path& first, uint64_t count);

// Refuses a file whose keys do not say that it is shard `index` (from 0) of `count`.
void check_shard(const std::filesystem::path& path, const Metadata& metadata, uint64_t index, uint64_t count);

}  // namespace lockstep::gguf
