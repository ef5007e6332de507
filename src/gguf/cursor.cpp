#include "gguf/cursor.h"

#include <algorithm>

namespace lockstep::gguf {
namespace {

constexpr size_t kBufferBytes = size_t{256} << 10;

// The directory of the largest vocabularies is near 40 MiB. The limit keeps a sparse file of terabytes, which costs its
// maker nothing, from being walked over for hours.
constexpr uint64_t kMostDirectoryBytes = uint64_t{1} << 30;

constexpr uint64_t kMostNameBytes = 65535;

}  // namespace

std::string shown(const std::filesystem::path& path) {
  return printable(path.native(), 200);
}

std::string Place::describe() const {
  if (count == 0) return std::string(kind);
  std::string text =
      name.empty() ? fmt::format("{} {} of {}", kind, number, count) : fmt::format("{} \"{}\"", kind, printable(name));
  if (item) text += fmt::format(", item {}", *item);
  return text;
}

Cursor::Cursor(const File& file, uint64_t position)
    : file_(file),
      end_(std::min(file.size(), kMostDirectoryBytes)),
      buffer_(kBufferBytes),
      buffer_start_(std::min(position, end_)) {}

void Cursor::start_record(std::string_view kind, uint64_t index, uint64_t count) {
  place_.kind = kind;
  place_.number = index + 1;
  place_.count = count;
  place_.name.clear();
  place_.item.reset();
}

void Cursor::read_name(std::string_view called) {
  const auto length = number<uint64_t>("its name");
  need(length, "its name");
  if (length == 0) refuse(ErrorCode::kBadFile, "the {} is empty", called);
  if (length > kMostNameBytes) {
    refuse(ErrorCode::kUnsupported, "the {} has {} bytes, expected at most {}", called, length, kMostNameBytes);
  }
  place_.name.resize(length);
  read(std::as_writable_bytes(std::span(place_.name)), "its name");
}

uint64_t Cursor::count(uint64_t record_bytes, std::string_view what) {
  const auto n = number<uint64_t>(what);
  if (n > bytes_left() / record_bytes) {
    if (end_ < file_.size()) refuse_size(what);
    refuse(ErrorCode::kBadFile, "{} is {}, but the {} bytes left hold at most {}", what, n, bytes_left(),
           bytes_left() / record_bytes);
  }
  return n;
}

void Cursor::read_string(std::string& out, std::string_view what) {
  const auto length = number<uint64_t>(what);
  need(length, what);
  out.resize(length);
  read(std::as_writable_bytes(std::span(out)), what);
}

uint64_t Cursor::skip_string(std::string_view what) {
  const auto length = number<uint64_t>(what);
  skip(length, what);
  return length;
}

void Cursor::read(std::span<std::byte> out, std::string_view what) {
  need(out.size(), what);
  while (!out.empty()) {
    if (next_ == filled_) {
      if (out.size() >= kBufferBytes) {
        file_.read_at(position(), out);
        skip(out.size(), what);
        return;
      }
      refill();
    }
    const size_t n = std::min(out.size(), filled_ - next_);
    std::memcpy(out.data(), buffer_.data() + next_, n);
    next_ += n;
    out = out.subspan(n);
  }
}

void Cursor::skip(uint64_t n, std::string_view what) {
  need(n, what);
  if (n <= filled_ - next_) {
    next_ += n;
    return;
  }
  buffer_start_ = position() + n;
  next_ = 0;
  filled_ = 0;
}

void Cursor::need(uint64_t n, std::string_view what) const {
  if (n <= bytes_left()) return;
  if (end_ < file_.size()) refuse_size(what);
  refuse(ErrorCode::kBadFile, "the file ends early in {}: {} bytes wanted, {} left", what, n, bytes_left());
}

void Cursor::refuse_size(std::string_view what) const {
  refuse(ErrorCode::kUnsupported, "{}: metadata and tensor table take more than {} bytes", what, kMostDirectoryBytes);
}

// Called with an empty buffer and bytes left.
void Cursor::refill() {
  buffer_start_ = position();
  next_ = 0;
  filled_ = static_cast<size_t>(std::min<uint64_t>(kBufferBytes, end_ - buffer_start_));
  file_.read_at(buffer_start_, std::span(buffer_).first(filled_));
}

}  // namespace lockstep::gguf
