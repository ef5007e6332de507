#include "doctor_machine.h"

#include <fmt/format.h>

#if defined(__linux__)
#include <sched.h>
#endif

#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "base/buffer.h"
#include "base/cpu.h"

namespace lockstep {
namespace {

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

template <typename Number>
std::optional<Number> number_at_start(std::string_view text, int base = 10) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end != text.data() ? std::optional(value) : std::nullopt;
}

// The text after "NAME:" of the first line that begins so.
std::optional<std::string_view> field_of(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos && trimmed(line.substr(0, colon)) == name)
      return trimmed(line.substr(colon + 1));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::nullopt;
}

std::optional<uint64_t> kilobytes(std::string_view text, std::string_view name) {
  const auto field = field_of(text, name);
  const auto value = field ? number_at_start<uint64_t>(*field) : std::nullopt;
  return value ? std::optional(*value * 1024) : std::nullopt;
}

// "7f00-7f80 rw-p ...": the first line of a mapping.
bool is_mapping_with(std::string_view line, uint64_t address) {
  const size_t dash = line.find('-');
  if (dash == std::string_view::npos) return false;
  const auto begin = number_at_start<uint64_t>(line.substr(0, dash), 16);
  const auto end = number_at_start<uint64_t>(line.substr(dash + 1), 16);
  return begin && end && *begin <= address && address < *end;
}

int affinity_cpus() {
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

std::string system_file(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string cpu_name(std::string_view cpuinfo) {
  const auto name = field_of(cpuinfo, "model name");
  return name && !name->empty() ? std::string(*name) : "unknown";
}

int count_cpu_list(std::string_view list) {
  int count = 0;
  for (std::string_view rest = trimmed(list); !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find(','));
    const size_t dash = part.find('-');
    const auto first = number_at_start<int>(part);
    const auto last = dash == std::string_view::npos ? first : number_at_start<int>(part.substr(dash + 1));
    if (!first || !last || *last < *first) return 0;
    count += *last - *first + 1;
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  }
  return count;
}

std::string chosen_word(std::string_view choice) {
  const size_t begin = choice.find('[');
  const size_t end = choice.find(']');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return {};
  return std::string(choice.substr(begin + 1, end - begin - 1));
}

std::optional<uint64_t> huge_page_bytes(std::string_view smaps, uint64_t address) {
  while (!smaps.empty()) {
    const size_t end = std::min(smaps.find('\n'), smaps.size());
    const bool found = is_mapping_with(smaps.substr(0, end), address);
    smaps.remove_prefix(std::min(end + 1, smaps.size()));
    if (found) return kilobytes(smaps, "AnonHugePages");
  }
  return std::nullopt;
}

ThreadPlan thread_plan() {
  const int threads = usable_cpus();
  const int allowed = affinity_cpus();
  const int online = count_cpu_list(system_file("/sys/devices/system/cpu/online"));
  std::string why = fmt::format("one per usable CPU: the affinity mask has {}", allowed);
  if (online > 0) why += fmt::format(" of the {} online", online);
  const std::string quota(trimmed(system_file("/sys/fs/cgroup/cpu.max")));
  const bool limited = !quota.empty() && !quota.starts_with("max");
  why += limited ? fmt::format(", the cgroup quota is {} microseconds", quota) : ", no cgroup quota";
  const int siblings = count_cpu_list(system_file("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list"));
  if (siblings > 0) why += fmt::format(", {} hardware thread{} a core", siblings, siblings == 1 ? "" : "s");
  return {threads, threads, why};
}

HugePages try_huge_pages() {
  constexpr uint64_t kBytes = uint64_t{8} << 20;
  Buffer region(kBytes, "a try of huge pages");
  std::memset(region.data(), 1, kBytes);
  const auto address = reinterpret_cast<uint64_t>(region.data());
  const uint64_t got = huge_page_bytes(system_file("/proc/self/smaps"), address).value_or(0);
  const std::string setting = chosen_word(system_file("/sys/kernel/mm/transparent_hugepage/enabled"));
  return {setting, kBytes, std::min(got, kBytes)};
}

}  // namespace lockstep
