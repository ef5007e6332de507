// For tests only: whether a sanitizer is in the program.
#pragma once

namespace lockstep {

// Sanitizers multiply time and memory, so limits on these are not tested then.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace lockstep
