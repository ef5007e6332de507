#include "request.h"

#include <new>

#include "base/error.h"
#include "exit_status.h"
#include "input_lines.h"
#include "interrupt.h"
#include "prompt_source.h"

namespace lockstep {
namespace {

using tokenizer::TokenId;

constexpr int64_t kMostId = std::numeric_limits<int32_t>::max();
constexpr int64_t kMostByte = 255;

bool is_prompt_field(std::string_view key) {
  return key == "text" || key == "ids" || key == "bytes";
}

// The one field of a request that holds its prompt.
std::string prompt_field(const Json& request) {
  if (!request.is_object()) fail(ErrorCode::kBadRequest, "a request is a JSON object");
  std::string found;
  for (const auto& field : request.items()) {
    if (!is_prompt_field(field.key())) continue;
    if (!found.empty()) fail(ErrorCode::kBadRequest, "fields {} and {}: expected one of them", found, field.key());
    found = field.key();
  }
  if (found.empty()) fail(ErrorCode::kBadRequest, "no prompt, expected a field text, ids or bytes");
  return found;
}

int64_t item_of(std::string_view field, const Json& item, size_t position, int64_t highest) {
  const bool fits = item.is_number_integer() && item >= 0 && item <= highest;
  if (!fits) {
    fail(ErrorCode::kBadRequest, "field {}: {} at position {}: expected a whole number of 0 to {}", field,
         printable(item.dump(-1, ' ', false, Json::error_handler_t::replace), 40), position, highest);
  }
  return item.get<int64_t>();
}

template <typename T>
std::vector<T> numbers_of(std::string_view field, const Json& value, int64_t highest) {
  if (!value.is_array()) fail(ErrorCode::kBadRequest, "field {}: expected an array of whole numbers", field);
  std::vector<T> numbers;
  numbers.reserve(value.size());
  for (const Json& item : value) numbers.push_back(static_cast<T>(item_of(field, item, numbers.size(), highest)));
  return numbers;
}

std::string text_of(const std::string& field, const Json& value) {
  if (field == "bytes") {
    const std::vector<char> bytes = numbers_of<char>(field, value, kMostByte);
    return {bytes.begin(), bytes.end()};
  }
  if (!value.is_string()) fail(ErrorCode::kBadRequest, "field {}: expected a text", field);
  return value.get<std::string>();
}

}  // namespace

std::vector<TokenId> token_ids_of(std::string_view field, const Json& value) {
  return numbers_of<TokenId>(field, value, kMostId);
}

Request parse_request(std::string_view line, const GenerationSettings& defaults, const tokenizer::Tokenizer& tokenizer,
                      int64_t n_context) {
  check_length(line);
  const Json json = parse_json(line);
  const std::string field = prompt_field(json);
  Request request = {{}, defaults};
  for (const auto& entry : json.items()) {
    if (is_prompt_field(entry.key())) continue;
    const GenerationOption* option = find_generation_option(entry.key());
    if (option == nullptr) fail(ErrorCode::kBadRequest, "unknown field {}", printable(entry.key()));
    set_from_json(request.settings, *option, entry.value());
  }
  if (field == "ids") {
    request.prompt = token_ids_of(field, json[field]);
  } else {
    request.prompt = encode_prompt({std::nullopt, text_of(field, json[field])}, tokenizer, n_context);
  }
  return request;
}

std::string text_request(std::string_view line) {
  const Json json = parse_json(line);
  const std::string field = prompt_field(json);
  if (field == "ids") fail(ErrorCode::kBadRequest, "field ids: expected text or bytes");
  for (const auto& entry : json.items()) {
    if (!is_prompt_field(entry.key())) fail(ErrorCode::kBadRequest, "unknown field {}", printable(entry.key()));
  }
  return text_of(field, json[field]);
}

int serve_lines(Output& output, const std::function<Json(std::string_view)>& serve) {
  int status = kExitDone;
  const auto answer_or_error = [&](std::string_view line) -> Json {
    try {
      check_length(line);
      return serve(line);
    } catch (const Error& error) {
      status = kExitFailed;
      return error_json(to_string(error.code()), error.what());
    } catch (const std::bad_alloc&) {
      status = kExitFailed;
      return error_json(to_string(ErrorCode::kNoMemory), "not enough memory for this request");
    }
  };
  InputLines lines;
  for (std::string_view line; !interrupted() && lines.next(line);) {
    if (is_blank(line)) continue;
    const Json answer = answer_or_error(line);
    const DeferSignals until_written;
    output.write_line(answer);
  }
  return status;
}

}  // namespace lockstep
