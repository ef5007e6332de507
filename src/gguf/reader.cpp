#include "gguf/reader.h"

#include <array>
#include <string_view>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "gguf/cursor.h"
#include "gguf/key_values.h"
#include "gguf/tensor_table.h"

namespace lockstep::gguf {
namespace {

// A row in memory takes about five times its place in the file; these limits, far above any real model, bound that.
constexpr uint64_t kMostKeys = uint64_t{1} << 20;
constexpr uint64_t kMostTensors = uint64_t{1} << 18;

struct Header {
  uint32_t version;
  uint64_t n_tensors;
  uint64_t n_keys;
};

void check_magic(Cursor& cursor) {
  std::array<char, 4> magic = {};
  cursor.read(std::as_writable_bytes(std::span(magic)), "magic");
  const std::string_view text(magic.data(), magic.size());
  if (text == "FUGG") cursor.refuse(ErrorCode::kUnsupported, "big-endian byte order, wanted a little-endian file");
  if (text != "GGUF") cursor.refuse(ErrorCode::kBadFile, "not a GGUF file: it begins with \"{}\"", printable(text));
}

uint32_t read_version(Cursor& cursor) {
  const auto version = cursor.number<uint32_t>("version");
  // Big-endian files carry the same magic; the low half of their version number comes out as zero.
  if (version != 0 && (version & 0xffffu) == 0) {
    cursor.refuse(ErrorCode::kUnsupported, "big-endian byte order (version {}), wanted a little-endian file",
                  __builtin_bswap32(version));
  }
  if (version != 2 && version != 3) {
    cursor.refuse(ErrorCode::kUnsupported, "GGUF version {}, wanted 2 or 3", version);
  }
  return version;
}

uint64_t read_count(Cursor& cursor, uint64_t record_bytes, uint64_t most, std::string_view what) {
  const uint64_t n = cursor.count(record_bytes, what);
  if (n > most) cursor.refuse(ErrorCode::kUnsupported, "{} is {}, at most {} are supported", what, n, most);
  return n;
}

Header read_header(Cursor& cursor) {
  check_magic(cursor);
  Header header = {};
  header.version = read_version(cursor);
  header.n_tensors = read_count(cursor, kLeastTensorBytes, kMostTensors, "tensor count");
  header.n_keys = read_count(cursor, kLeastKeyValueBytes, kMostKeys, "key count");
  return header;
}

}  // namespace

Directory read_directory(const File& file) {
  Cursor cursor(file);
  const Header header = read_header(cursor);
  const uint64_t keys_start = cursor.position();
  const uint64_t alignment = check_key_values(cursor, header.n_keys);

  Directory directory = {};
  directory.version = header.version;
  directory.tensors = read_tensor_table(cursor, header.n_tensors);
  directory.data_start = round_up(cursor.position(), alignment);  // both are far below 2^63: the cursor stops at 1 GiB
  check_placement(file, directory.tensors, directory.data_start, alignment);

  // Last, because it is the part that costs memory: everything else in the file is known to be sound.
  Cursor again(file, keys_start);
  directory.metadata = read_key_values(again, header.n_keys);
  return directory;
}

}  // namespace lockstep::gguf
