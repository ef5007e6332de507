// Errors about what a model file holds say which file it is, once. Safe from several threads.
#pragma once

#include "base/error.h"
#include "gguf/model_file.h"

namespace lockstep::gguf {

// Throws `error` again: with the path of `file` before it when it is about what a file holds and names none of the
// shards yet.
[[noreturn]] void throw_named(const ModelFile& file, const Error& error);

// What `work`, which makes something of `file`, returns; its errors as throw_named() throws them.
template <typename Work>
auto naming(const ModelFile& file, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw_named(file, error);
  }
}

}  // namespace lockstep::gguf
