// What `doctor` finds out about the machine from the system's files. The parsers are pure functions of their text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep {

// The processor's name for people: "model name" of /proc/cpuinfo; "unknown" without.
[[nodiscard]] std::string cpu_name(std::string_view cpuinfo);

// CPUs in a list as the kernel writes it ("0-3,8,10-11"); 0 for another form.
[[nodiscard]] int count_cpu_list(std::string_view list);

// The chosen word of a choice as the kernel writes it ("always [madvise] never"); empty without.
[[nodiscard]] std::string chosen_word(std::string_view choice);

// AnonHugePages in bytes of the mapping of /proc/self/smaps that `address` is in; nothing when there is none.
[[nodiscard]] std::optional<uint64_t> huge_page_bytes(std::string_view smaps, uint64_t address);

struct ThreadPlan {
  int decode;
  int prefill;
  std::string why;
};
// What an engine takes by default, and why.
[[nodiscard]] ThreadPlan thread_plan();

struct HugePages {
  std::string setting;  // of transparent huge pages; empty where the system has none
  uint64_t wanted;      // bytes of a region made for this question
  uint64_t got;         // of them in huge pages
  [[nodiscard]] bool ok() const { return got == wanted; }
};
[[nodiscard]] HugePages try_huge_pages();

// A system file's text; empty when it cannot be read.
[[nodiscard]] std::string system_file(const char* path);

}  // namespace lockstep
