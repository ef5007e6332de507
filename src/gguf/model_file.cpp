#include "gguf/model_file.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "gguf/cursor.h"
#include "gguf/reader.h"
#include "gguf/shards.h"
#include "gguf/tensor_table.h"

namespace lockstep::gguf {
namespace {

void check_total(const std::filesystem::path& first, const Metadata& metadata, size_t n_tensors) {
  const uint64_t wanted = metadata.get_uint("split.tensors.count");
  if (wanted == n_tensors) return;
  fail(ErrorCode::kBadFile, "{}: key \"split.tensors.count\": found {}, but the shards hold {} tensors", shown(first),
       wanted, n_tensors);
}

}  // namespace

ModelFile ModelFile::open(const std::filesystem::path& path) {
  ModelFile model;
  model.metadata_ = model.add_shard(path);
  const uint64_t count = count_shards(path, model.metadata_);
  if (count > 1) {
    const auto others = later_shard_paths(path, count);
    for (size_t i = 0; i < others.size(); ++i) check_shard(others[i], model.add_shard(others[i]), i + 1, count);
    check_total(path, model.metadata_, model.tensors_.size());
  }
  model.index_tensors();
  return model;
}

Metadata ModelFile::add_shard(const std::filesystem::path& path) {
  File file = File::open_for_reading(path);
  Directory directory = read_directory(file);
  if (files_.empty()) version_ = directory.version;
  for (TensorInfo& tensor : directory.tensors) tensor.shard = static_cast<uint32_t>(files_.size());
  std::ranges::move(directory.tensors, std::back_inserter(tensors_));
  files_.push_back(std::move(file));
  data_start_.push_back(directory.data_start);
  return std::move(directory.metadata);
}

void ModelFile::index_tensors() {
  by_name_.resize(tensors_.size());
  std::iota(by_name_.begin(), by_name_.end(), uint32_t{0});
  const auto name_of = [this](uint32_t i) -> const std::string& { return tensors_[i].name; };
  std::ranges::sort(by_name_, {}, name_of);
  const auto twice = std::ranges::adjacent_find(by_name_, {}, name_of);
  if (twice == by_name_.end()) return;
  const TensorInfo& a = tensors_[*twice];
  const TensorInfo& b = tensors_[*std::next(twice)];
  fail(ErrorCode::kBadFile, "{}: tensor \"{}\" is in shard {} and in shard {}", shown(file().path()), printable(a.name),
       std::min(a.shard, b.shard) + 1, std::max(a.shard, b.shard) + 1);
}

const TensorInfo* ModelFile::find(std::string_view name) const {
  const auto place =
      std::ranges::lower_bound(by_name_, name, {}, [this](uint32_t i) { return std::string_view(tensors_[i].name); });
  return place != by_name_.end() && tensors_[*place].name == name ? &tensors_[*place] : nullptr;
}

void ModelFile::read(const TensorInfo& tensor, uint64_t first, std::span<std::byte> out) const {
  if (first > tensor.bytes || out.size() > tensor.bytes - first) {
    fail(ErrorCode::kBadRequest, "{}: {}: bytes {} to {} asked for, it has {}", shown(file(tensor.shard).path()),
         describe(tensor), first, first + out.size(), tensor.bytes);
  }
  file(tensor.shard).read_at(data_start(tensor.shard) + tensor.offset + first, out);
}

}  // namespace lockstep::gguf
