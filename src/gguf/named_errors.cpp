#include "gguf/named_errors.h"

#include <string_view>

#include "gguf/cursor.h"

namespace lockstep::gguf {
namespace {

// Options, memory and the system are not the file's fault.
bool is_about_contents(ErrorCode code) {
  return code == ErrorCode::kBadFile || code == ErrorCode::kNotFound || code == ErrorCode::kUnsupported ||
         code == ErrorCode::kNotFinite;
}

bool names_a_shard(const ModelFile& file, std::string_view message) {
  for (uint32_t i = 0; i < file.n_shards(); ++i) {
    if (message.starts_with(shown(file.file(i).path()) + ": ")) return true;
  }
  return false;
}

}  // namespace

void throw_named(const ModelFile& file, const Error& error) {
  if (!is_about_contents(error.code()) || names_a_shard(file, error.what())) throw error;
  fail(error.code(), "{}: {}", shown(file.file().path()), error.what());
}

}  // namespace lockstep::gguf
