// PCRE2's objects with an owner, and its messages. For this floor's sources only.
#pragma once

#ifndef PCRE2_CODE_UNIT_WIDTH
#define PCRE2_CODE_UNIT_WIDTH 8
#endif
#include <pcre2.h>

#include <memory>
#include <string>

namespace lockstep::tokenizer {

template <auto Free>
struct Pcre2Deleter {
  template <typename T>
  void operator()(T* handle) const {
    Free(handle);
  }
};

using Pcre2MatchData = std::unique_ptr<pcre2_match_data, Pcre2Deleter<pcre2_match_data_free>>;
using Pcre2MatchContext = std::unique_ptr<pcre2_match_context, Pcre2Deleter<pcre2_match_context_free>>;

inline std::string pcre2_message(int code) {
  PCRE2_UCHAR buffer[120];
  pcre2_get_error_message(code, buffer, sizeof buffer);
  return reinterpret_cast<const char*>(buffer);
}

}  // namespace lockstep::tokenizer
