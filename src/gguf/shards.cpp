#include "gguf/shards.h"

#include <optional>
#include <string>

#include "base/error.h"
#include "gguf/cursor.h"

namespace lockstep::gguf {
namespace {

constexpr uint64_t kMostShards = 99999;  // five digits in the name

std::string suffix(uint64_t index, uint64_t count) {
  return fmt::format("-{:05}-of-{:05}.gguf", index + 1, count);
}

// The sibling of shard `index` with another index; nothing when the name is not of the pattern.
std::optional<std::filesystem::path> sibling(const std::filesystem::path& path, uint64_t index, uint64_t count,
                                             uint64_t wanted) {
  const std::string name = path.filename().native();
  const std::string ending = suffix(index, count);
  if (!name.ends_with(ending)) return std::nullopt;
  return path.parent_path() / (name.substr(0, name.size() - ending.size()) + suffix(wanted, count));
}

}  // namespace

uint64_t count_shards(const std::filesystem::path& path, const Metadata& metadata) {
  const uint64_t count = metadata.find_uint("split.count").value_or(1);
  const uint64_t index = metadata.find_uint("split.no").value_or(0);
  if (count > kMostShards) {
    fail(ErrorCode::kBadFile, "{}: key \"split.count\": found {}, wanted at most {}", shown(path), count, kMostShards);
  }
  if (index == 0) return count == 0 ? 1 : count;
  if (index >= count) {
    fail(ErrorCode::kBadFile, "{}: key \"split.no\": found {}, wanted less than split.count, which is {}", shown(path),
         index, count);
  }
  const auto first = sibling(path, index, count, 0);
  fail(ErrorCode::kBadFile, "{}: this is shard {} of {}: open the first shard{}", shown(path), index + 1, count,
       first ? ", " + shown(*first) : "");
}

std::vector<std::filesystem::path> later_shard_paths(const std::filesystem::path& first, uint64_t count) {
  constexpr size_t kMostNamed = 4;
  std::vector<std::filesystem::path> paths;
  std::string missing;
  size_t n_missing = 0;
  for (uint64_t i = 1; i < count; ++i) {
    const auto path = sibling(first, 0, count, i);
    if (!path) {
      fail(ErrorCode::kBadFile, "{}: the file is shard 1 of {}, so its name must end in {} for the others to be found",
           shown(first), count, suffix(0, count));
    }
    std::error_code ignored;
    if (!std::filesystem::exists(*path, ignored) && n_missing++ < kMostNamed) {
      missing += (missing.empty() ? "" : ", ") + shown(*path);
    }
    paths.push_back(*path);
  }
  if (n_missing == 0) return paths;
  if (n_missing > kMostNamed) missing += fmt::format(" and {} more", n_missing - kMostNamed);
  fail(ErrorCode::kNotFound, "{}: {} of {} shards missing: {}", shown(first), n_missing, count, missing);
}

void check_shard(const std::filesystem::path& path, const Metadata& metadata, uint64_t index, uint64_t count) {
  const uint64_t found_count = metadata.get_uint("split.count");
  if (found_count != count) {
    fail(ErrorCode::kBadFile, "{}: key \"split.count\": found {}, wanted {} as in the first shard", shown(path),
         found_count, count);
  }
  const uint64_t found_index = metadata.get_uint("split.no");
  if (found_index != index) {
    fail(ErrorCode::kBadFile, "{}: key \"split.no\": found {}, wanted {} for this place in the set", shown(path),
         found_index, index);
  }
}

}  // namespace lockstep::gguf
