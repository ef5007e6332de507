#include "logits_file.h"

#include <bit>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace lockstep {

static_assert(std::endian::native == std::endian::little, "rows are written as they are in memory");

LogitsFile::LogitsFile(std::string path) : path_(std::move(path)), file_(std::fopen(path_.c_str(), "wb")) {
  if (!file_) fail_with(errno);
}

void LogitsFile::write(std::span<const float> row) {
  if (std::fwrite(row.data(), sizeof(float), row.size(), file_.get()) != row.size()) fail_with(errno);
}

void LogitsFile::close() {
  if (std::fclose(file_.release()) != 0) fail_with(errno);
}

void LogitsFile::fail_with(int system_error) const {
  fail(ErrorCode::kIo, "{}: {}", printable(path_, 200), std::strerror(system_error));
}

}  // namespace lockstep
