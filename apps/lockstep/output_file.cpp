#include "output_file.h"

#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"

namespace lockstep {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they are in memory");

bool is_pipe_or_device(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  return std::filesystem::is_fifo(status) || std::filesystem::is_character_file(status);
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  if (is_pipe_or_device(path_)) {
    const WaitingForOthers reader;  // a pipe is opened when its other end is
    stream_.reset(std::fopen(path_.c_str(), "wb"));
    if (!stream_) fail_with(errno);
  } else {
    until_complete_.emplace();
    file_.emplace(path_);
  }
}

void OutputFile::write(std::span<const float> numbers) {
  write_bytes(std::as_bytes(numbers));
}

void OutputFile::write_bytes(std::span<const std::byte> bytes) {
  if (file_) return file_->write(bytes);
  if (std::fwrite(bytes.data(), 1, bytes.size(), stream_.get()) != bytes.size()) fail_with(errno);
}

void OutputFile::commit() {
  if (file_) file_->commit();
  if (stream_ && std::fclose(stream_.release()) != 0) fail_with(errno);
  until_complete_.reset();
}

void OutputFile::fail_with(int system_error) const {
  fail(ErrorCode::kIo, "{}: {}", printable(path_, 200), std::strerror(system_error));
}

}  // namespace lockstep
