// The one exception type of lockstep. Input from outside (file, prompt, flag, request) that cannot be served is thrown
// as an Error whose message is a single line naming the thing and what was expected. Kernels and the team program never
// throw.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace lockstep {

// What kind of thing went wrong; apps map it to an exit status and to the `code` of the JSON error object.
enum class ErrorCode {
  kUsage,        // the command line alone is wrong
  kNotFound,     // a file, model, key or tensor that is not there
  kIo,           // the operating system refused a read or write
  kBadFile,      // a file whose contents contradict its format
  kUnsupported,  // well-formed, but something that lockstep does not compute
  kBadRequest,   // a prompt, id or option value out of range
  kContextFull,  // more tokens than the context holds
  kNoMemory,     // an allocation that cannot be had
  kNotFinite,    // NaN or infinity among weights, activations or logits
  kTemplate,     // a chat template that refuses the conversation, is malformed or wants too much
};

// The code as scripts see it ("bad_file").
std::string_view to_string(ErrorCode code);

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

// Throws Error with an fmt-formatted message: fail(ErrorCode::kBadFile, "{}: key {} ...", path, key).
template <typename... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

// `text` made safe for a one-line message or a terminal: control bytes and invalid UTF-8 as \xNN, cut with "..." after
// `max_bytes` bytes of input.
std::string printable(std::string_view text, size_t max_bytes = 80);

}  // namespace lockstep
