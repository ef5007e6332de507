#include "base/buffer.h"

#include <sys/mman.h>

#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "base/memory.h"

namespace lockstep {
namespace {

constexpr uint64_t kPage = 4096;

// The system promises memory that it does not have and kills whoever then uses it. Smaller regions are not worth the
// question, which reads some small files.
void refuse_what_cannot_fit(uint64_t bytes, std::string_view purpose) {
  constexpr uint64_t kWorthAsking = uint64_t{1} << 20;
  if (bytes < kWorthAsking) return;
  const std::optional<MemoryRoom> room = memory_room();
  if (!room || bytes <= room->bytes) return;
  fail(ErrorCode::kNoMemory, "no memory for {}: {} bytes wanted, {} has {} left", purpose, bytes, room->of,
       room->bytes);
}

}  // namespace

Buffer::Buffer(uint64_t bytes, std::string_view purpose) : size_(bytes) {
  if (bytes == 0) return;
  refuse_what_cannot_fit(bytes, purpose);
  const bool huge = bytes >= kHugePage;
  // A huge page must begin at a multiple of its size: map one more than needed and begin inside.
  const auto rounded = checked_round_up(bytes, kPage);
  const auto wanted = rounded ? checked_add(*rounded, huge ? kHugePage : 0) : std::nullopt;
  if (wanted) mapping_ = ::mmap(nullptr, *wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!wanted || mapping_ == MAP_FAILED) {
    mapping_ = nullptr;
    fail(ErrorCode::kNoMemory, "no memory for {}: {} bytes wanted", purpose, bytes);
  }
  mapped_bytes_ = *wanted;
  const auto address = reinterpret_cast<uintptr_t>(mapping_);
  data_ = reinterpret_cast<std::byte*>(huge ? round_up(address, static_cast<uintptr_t>(kHugePage)) : address);
#if defined(MADV_HUGEPAGE)
  if (huge) ::madvise(data_, bytes, MADV_HUGEPAGE);  // a wish: without it everything works, a little slower
#endif
}

Buffer::Buffer(Buffer&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      mapped_bytes_(std::exchange(other.mapped_bytes_, 0)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Buffer::~Buffer() {
  if (mapping_ != nullptr) ::munmap(mapping_, mapped_bytes_);
}

void commit_pages(std::span<std::byte> part) noexcept {
  for (uint64_t i = 0; i < part.size(); i += kPage) {
    volatile std::byte& byte = part[i];
    byte = byte;
  }
}

}  // namespace lockstep
