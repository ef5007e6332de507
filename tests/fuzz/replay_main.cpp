// The main function of a fuzz target outside a fuzzer, for any compiler: runs the target on every file of the folders
// given and says how many there were. A property that does not hold ends the process.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "base/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
  size_t n = 0;
  for (int i = 1; i < argc; ++i) {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
    std::ranges::sort(paths);
    for (const std::filesystem::path& path : paths) {
      std::fprintf(stderr, "%s\n", path.c_str());  // the last line of a failing run names its input
      const std::string bytes = lockstep::read_text_file(path);
      (void)LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
      ++n;
    }
  }
  std::printf("%zu inputs\n", n);
  return n > 0 ? 0 : 1;
}
