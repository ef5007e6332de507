// A base: the logits of a text's scored positions in a file, to measure other runs against.
//
// All numbers little-endian. A header of 96 bytes: "lockbase", then u32 version (1), tokens of the vocabulary, tokens
// of a window, windows, compute mode (0 fast, 1 exact), cache type (0 f16, 1 f32, 2 q8_0); 32 characters tree hash of
// the model file, 32 characters model identity (see below). The windows' tokens as i32; 16 bytes XXH3 (128 bits,
// canonical) of all before. Then for each window its scored positions' logits (text_windows.h) as fp32, [n_scored,
// n_vocab], and 16 bytes XXH3 of them. Nothing after. fp32 logits lose nothing: a run against its own base diverges by
// exactly 0.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/hash128.h"
#include "base/new_file.h"
#include "engine/engine.h"
#include "verify/text_windows.h"

namespace lockstep::verify {

// What all quantizations of one model share: a hash of architecture, sizes and vocabulary, 32 hexadecimal digits. A
// base of another file with the same identity is what quantizations are measured against.
[[nodiscard]] std::string model_identity(const engine::Engine& engine);

struct BaseHeader {
  char magic[8];
  uint32_t version;
  uint32_t n_vocab;
  uint32_t window_size;
  uint32_t n_windows;
  uint32_t compute;
  uint32_t cache_type;
  char tree_hash[32];
  char identity[32];
};
static_assert(sizeof(BaseHeader) == 96);

class BaseWriter {
 public:
  // Errors of all: those of NewFile.
  BaseWriter(const std::filesystem::path& path, const engine::Engine& engine, const TextWindows& windows);

  // The logits [n, n_vocab] of the next n scored positions; a call never spans two windows.
  void write(std::span<const float> rows);

  // After the last position: the file stands in its place.
  void commit() { file_.commit(); }

 private:
  NewFile file_;
  RunningHash128 hash_;
  uint64_t window_bytes_;
  uint64_t left_in_window_;
};

class BaseReader {
 public:
  // Errors, naming the file and what is wrong: kBadFile for what is no base or damaged, kBadRequest for a base of
  // another model, of other windows or of another text.
  BaseReader(const std::filesystem::path& path, const engine::Engine& engine, const TextWindows& windows);

  // The logits [n, n_vocab] of the next n scored positions, valid until the next call; a call never spans two windows.
  // Error kNotFinite for a value that is not finite, kBadFile at the end of a window that has been changed.
  [[nodiscard]] std::span<const float> next(int64_t n);

  [[nodiscard]] const BaseHeader& header() const { return header_; }

 private:
  void check_header(const engine::Engine& engine, const TextWindows& windows) const;
  void check_size(const TextWindows& windows) const;
  void check_tokens(const TextWindows& windows);

  File file_;
  BaseHeader header_;
  uint64_t offset_ = 0;
  uint64_t window_bytes_ = 0;
  uint64_t left_in_window_ = 0;
  RunningHash128 hash_;
  std::vector<float> rows_;
};

}  // namespace lockstep::verify
