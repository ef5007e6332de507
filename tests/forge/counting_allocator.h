// For tests only: operators new and delete that count, and that fail when a test wants it. A program has them when
// exactly one of its source files includes this. What C libraries and the template engine take from malloc is not
// counted and never fails.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "forge/allocation_counts.h"

namespace lockstep::forge {

inline bool allocation_fails() {
  AllocationCounts& counts = allocation_counts;
  if (counts.until_failure.load(std::memory_order_relaxed) <= 0) return false;
  if (counts.until_failure.fetch_sub(1) != 1) return false;
  if (counts.fail_all_after.load()) counts.until_failure.store(1);
  return true;
}

inline void* counted_allocation_or_null(std::size_t size, std::size_t alignment) noexcept {
  allocation_counts.made.fetch_add(1, std::memory_order_relaxed);
  const std::size_t room = (std::max<std::size_t>(size, 1) + alignment - 1) / alignment * alignment;
  void* memory = allocation_fails() ? nullptr : std::aligned_alloc(alignment, room);
  if (memory != nullptr) allocation_counts.live.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

inline void* counted_allocation(std::size_t size, std::size_t alignment) {
  void* memory = counted_allocation_or_null(size, alignment);
  if (memory == nullptr) {
    if (const std::new_handler handler = std::get_new_handler()) handler();
    throw std::bad_alloc();
  }
  return memory;
}

inline void counted_release(void* memory) noexcept {
  if (memory != nullptr) allocation_counts.live.fetch_sub(1, std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace lockstep::forge

void* operator new(std::size_t size) {
  return lockstep::forge::counted_allocation(size, alignof(std::max_align_t));
}
void* operator new[](std::size_t size) {
  return lockstep::forge::counted_allocation(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return lockstep::forge::counted_allocation(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return lockstep::forge::counted_allocation(size, static_cast<std::size_t>(alignment));
}
// As std::stable_sort asks for its buffer: it does without when there is none.
void* operator new(std::size_t size, const std::nothrow_t& /*unused*/) noexcept {
  return lockstep::forge::counted_allocation_or_null(size, alignof(std::max_align_t));
}
void* operator new[](std::size_t size, const std::nothrow_t& /*unused*/) noexcept {
  return lockstep::forge::counted_allocation_or_null(size, alignof(std::max_align_t));
}
void operator delete(void* memory) noexcept {
  lockstep::forge::counted_release(memory);
}
void operator delete[](void* memory) noexcept {
  lockstep::forge::counted_release(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  lockstep::forge::counted_release(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  lockstep::forge::counted_release(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  lockstep::forge::counted_release(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  lockstep::forge::counted_release(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  lockstep::forge::counted_release(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  lockstep::forge::counted_release(memory);
}
