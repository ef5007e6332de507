#include "chat/chat_template.h"

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <utility>

#include "base/error.h"

// rust/chat_template/src/lib.rs
extern "C" {
struct LockstepBytes {
  const uint8_t* data;
  size_t size;
};
LockstepTemplate* lockstep_template_create(LockstepBytes source);
void lockstep_template_destroy(const LockstepTemplate* created);
int32_t lockstep_template_render(const LockstepTemplate* created, LockstepBytes variables, LockstepBytes now,
                                 LockstepBytes* result);
void lockstep_template_free(LockstepBytes bytes);
}

namespace lockstep::chat {
namespace {

constexpr size_t kLongestMessage = 1000;
constexpr size_t kLongestOrigin = 200;
constexpr std::string_view kTimeForm = "0000-00-00T00:00:00";

// The numbers of `Status` in rust/chat_template/src/render.rs.
enum Status : int32_t { kRendered, kRefused, kMalformed, kFailed, kOverBudget, kBadInput, kInternal };

LockstepBytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string_view verdict(int32_t status) {
  switch (status) {
    case kRefused:
      return "refuses the conversation";
    case kMalformed:
      return "is malformed";
    case kOverBudget:
      return "was stopped";
    default:
      return "failed";
  }
}

[[noreturn]] void report(int32_t status, std::string_view origin, std::string_view message) {
  const std::string text = printable(message, kLongestMessage);
  if (status == kBadInput) fail(ErrorCode::kBadRequest, "input of the chat template: {}", text);
  fail(ErrorCode::kTemplate, "{}the chat template {}: {}", origin, verdict(status), text);
}

// What the other side of the bridge gave, to be given back.
struct Result {
  LockstepBytes bytes = {nullptr, 0};

  Result() = default;
  ~Result() { lockstep_template_free(bytes); }
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
};

}  // namespace

std::string error_start(std::string_view origin) {
  return origin.empty() ? "" : printable(origin, kLongestOrigin) + ": ";
}

ChatTemplate::ChatTemplate(std::string source, std::string_view origin)
    : source_(std::move(source)),
      origin_(error_start(origin)),
      template_(lockstep_template_create(bytes_of(source_)), lockstep_template_destroy) {}

std::string ChatTemplate::render(std::string_view variables, std::string_view now) const {
  Result result;
  const int32_t status = lockstep_template_render(template_.get(), bytes_of(variables), bytes_of(now), &result.bytes);
  const std::string text(reinterpret_cast<const char*>(result.bytes.data), result.bytes.size);
  if (status != kRendered) report(status, origin_, text);
  return text;
}

std::string local_time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &local)};
}

bool is_local_time(std::string_view text) {
  if (text.size() != kTimeForm.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool fits = kTimeForm[i] == '0' ? text[i] >= '0' && text[i] <= '9' : text[i] == kTimeForm[i];
    if (!fits) return false;
  }
  return true;
}

}  // namespace lockstep::chat
