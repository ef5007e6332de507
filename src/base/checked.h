// Size arithmetic on numbers that come from a file: every operation says whether it overflowed instead of wrapping.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>

namespace lockstep {

[[nodiscard]] constexpr std::optional<uint64_t> checked_add(uint64_t a, uint64_t b) {
  if (a > std::numeric_limits<uint64_t>::max() - b) return std::nullopt;
  return a + b;
}

[[nodiscard]] constexpr std::optional<uint64_t> checked_mul(uint64_t a, uint64_t b) {
  if (b != 0 && a > std::numeric_limits<uint64_t>::max() / b) return std::nullopt;
  return a * b;
}

// `value` rounded up to a multiple of `unit` (unit > 0).
[[nodiscard]] constexpr std::optional<uint64_t> checked_round_up(uint64_t value, uint64_t unit) {
  const uint64_t rest = value % unit;
  return rest == 0 ? std::optional(value) : checked_add(value, unit - rest);
}

// Unchecked form for sizes that are already known to be small.
template <std::integral T>
[[nodiscard]] constexpr T round_up(T value, T unit) {
  return (value + unit - 1) / unit * unit;
}

template <std::integral T>
[[nodiscard]] constexpr T ceil_div(T value, T unit) {
  return (value + unit - 1) / unit;
}

// `value` as To, or nothing when To cannot hold it.
template <std::integral To, std::integral From>
[[nodiscard]] constexpr std::optional<To> checked_cast(From value) {
  const To result = static_cast<To>(value);
  if (static_cast<From>(result) != value || ((result < To{}) != (value < From{}))) return std::nullopt;
  return result;
}

}  // namespace lockstep
