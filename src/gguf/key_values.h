// The key/value section of a GGUF file, read in two walks: the first only checks, the second builds. So a file that is
// refused costs no more memory than a buffer, however many strings it holds, and one that is not no more than its size
// and 80 MiB.
#pragma once

#include <cstdint>

#include "gguf/cursor.h"
#include "gguf/metadata.h"

namespace lockstep::gguf {

// Bytes of the smallest key/value record: length, one byte of key, type, one byte of value.
constexpr uint64_t kLeastKeyValueBytes = 8 + 1 + 4 + 1;

// Checks `n_keys` records: lengths, types, keys of 1 to 65,535 bytes. Leaves the cursor behind them.
// Returns general.alignment, 32 when absent. Errors: kBadFile, kUnsupported (nested arrays; more memory than
// that), naming the key.
uint64_t check_key_values(Cursor& cursor, uint64_t n_keys);

// Builds the metadata. Booleans other than 0 and 1, which the specification calls invalid, and keys that are there
// twice are refused here. Errors: kBadFile; kNoMemory.
Metadata read_key_values(Cursor& cursor, uint64_t n_keys);

}  // namespace lockstep::gguf
