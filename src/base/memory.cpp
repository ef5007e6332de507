#include "base/memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string_view>

#include "base/error.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// What the two versions of control groups call the same things (Documentation/admin-guide/cgroup-v2.rst and
// cgroup-v1/memory.rst of Linux).
struct GroupFiles {
  const char* mount;
  const char* limit;
  const char* used;
  const char* inactive_cache;  // fields of memory.stat
  const char* active_cache;
};
constexpr GroupFiles kVersion1 = {"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                                  "total_inactive_file", "total_active_file"};
constexpr GroupFiles kVersion2 = {"sys/fs/cgroup", "memory.max", "memory.current", "inactive_file", "active_file"};

// Also nothing for "max", which is no limit.
std::optional<uint64_t> number_in(const fs::path& path) {
  std::ifstream in(path);
  uint64_t value = 0;
  return in >> value ? std::optional(value) : std::nullopt;
}

// The number after a name at the beginning of a line.
std::optional<uint64_t> field_of(const fs::path& path, std::string_view name) {
  std::ifstream in(path);
  for (std::string word; in >> word;) {
    uint64_t value = 0;
    if (word == name && in >> value) return value;
    in.clear();
    in.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

// meminfo counts in units of 1024 bytes.
std::optional<uint64_t> meminfo_bytes(const fs::path& root, std::string_view field) {
  const auto value = field_of(root / "proc/meminfo", field);
  return value ? std::optional(*value * 1024) : std::nullopt;
}

std::optional<uint64_t> room_of_group(const fs::path& folder, const GroupFiles& files, uint64_t free_swap) {
  const auto limit = number_in(folder / files.limit);
  const auto used = number_in(folder / files.used);
  if (!limit || !used) return std::nullopt;
  const uint64_t cache = field_of(folder / "memory.stat", files.inactive_cache).value_or(0) +
                         field_of(folder / "memory.stat", files.active_cache).value_or(0);
  const uint64_t taken = *used - std::min(*used, cache);
  const auto swap_limit = number_in(folder / "memory.swap.max");
  const uint64_t swap = swap_limit ? std::min(free_swap, *swap_limit) : free_swap;
  return *limit - std::min(*limit, taken) + swap;
}

void keep_least(std::optional<MemoryRoom>& least, std::optional<uint64_t> bytes, const std::string& of) {
  if (bytes && (!least || *bytes < least->bytes)) least = MemoryRoom{*bytes, of};
}

// The group and all that it is in: each may have a limit of its own.
void keep_least_of_groups(std::optional<MemoryRoom>& least, const fs::path& root, const GroupFiles& files,
                          const std::string& group, uint64_t free_swap) {
  std::error_code ignored;
  fs::path name = fs::path(group).relative_path();
  // A container may see its own group as the root, under another name than /proc gives.
  if (!fs::exists(root / files.mount / name, ignored)) name.clear();
  while (true) {
    keep_least(least, room_of_group(root / files.mount / name, files, free_swap),
               "the control group /" + printable(name.native(), 200));
    if (name.empty()) return;
    name = name.parent_path();
  }
}

// In a list such as "cpu,memory".
bool names_memory(std::string_view controllers) {
  while (!controllers.empty()) {
    const size_t end = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, end) == "memory") return true;
    controllers.remove_prefix(std::min(end + 1, controllers.size()));
  }
  return false;
}

}  // namespace

std::optional<MemoryRoom> memory_room() {
  return memory_room("/");
}

std::optional<MemoryRoom> memory_room(const fs::path& root) {
  std::optional<MemoryRoom> least;
  const uint64_t free_swap = meminfo_bytes(root, "SwapFree:").value_or(0);
  const auto available = meminfo_bytes(root, "MemAvailable:");
  keep_least(least, available ? std::optional(*available + free_swap) : std::nullopt, "this machine");
  // Lines are ID:CONTROLLERS:/PATH, with version 2 as 0::/PATH.
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first == line.npos ? first : first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    const bool is_version2 = controllers.empty();
    if (!is_version2 && !names_memory(controllers)) continue;
    keep_least_of_groups(least, root, is_version2 ? kVersion2 : kVersion1, line.substr(second + 1), free_swap);
  }
  return least;
}

}  // namespace lockstep
