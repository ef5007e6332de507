// For fuzz targets only: the bytes of one input handed out piece by piece, and the check that ends the process when a
// property does not hold. A target is a file NAME_fuzz.cpp with LLVMFuzzerTestOneInput; whatever it calls may throw
// Error, since that is what hostile input is meant to end in; any other exception is a finding.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lockstep::fuzz {

inline void require(bool holds, std::string_view property) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %.*s\n", static_cast<int>(property.size()), property.data());
  std::abort();
}

// Runs f; false when it refused with an Error, whose message must be one line.
template <typename F>
bool accepts(const F& f) {
  try {
    f();
    return true;
  } catch (const Error& error) {
    const std::string_view message = error.what();
    require(!message.empty() && message.find('\n') == message.npos, "an error's message is one line");
    return false;
  }
}

// What is asked for beyond the end is zero, or empty.
class FuzzInput {
 public:
  FuzzInput(const uint8_t* data, size_t size) : left_(data, size) {}

  [[nodiscard]] bool empty() const { return left_.empty(); }

  template <typename T>
  T number() {
    T value = {};
    const auto bytes = take(sizeof(T));
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  // 0 .. n-1 for n up to 2^16
  int64_t below(int64_t n) { return number<uint16_t>() % n; }
  bool flag() { return (number<uint8_t>() & 1u) != 0; }
  // Two bytes of length, then so many bytes.
  std::string text() { return as_text(take(number<uint16_t>())); }
  // One byte of length.
  std::string short_text() { return as_text(take(number<uint8_t>())); }
  std::string rest() { return as_text(take(left_.size())); }
  std::span<const uint8_t> bytes(size_t n) { return take(n); }

 private:
  std::span<const uint8_t> take(size_t n) {
    const auto head = left_.first(std::min(n, left_.size()));
    left_ = left_.subspan(head.size());
    return head;
  }
  static std::string as_text(std::span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

  std::span<const uint8_t> left_;
};

}  // namespace lockstep::fuzz
