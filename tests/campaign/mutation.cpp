#include "campaign/mutation.h"

#include <algorithm>
#include <cstring>

#include "campaign/replaced_key.h"

namespace lockstep::campaign {
namespace {

using forge::RandomData;

constexpr double kBeforeData = 0.88;
constexpr double kAimed = 0.6;  // of those

uint64_t field_value(std::string_view file, const Field& field) {
  uint64_t value = 0;
  std::memcpy(&value, file.data() + field.at, std::min<uint64_t>(field.bytes, sizeof(value)));
  return value;
}

// The values that break readers: ends of the ranges, neighbours, what wraps when it is multiplied or rounded up.
uint64_t hostile_value(uint64_t old, uint64_t file_size, RandomData& random) {
  switch (random.below(16)) {
    case 0:
      return 0;
    case 1:
      return old + 1;
    case 2:
      return old - 1;
    case 3:
      return old * 2;
    case 4:
      return ~uint64_t{0} - static_cast<uint64_t>(random.below(64));
    case 5:
      return uint64_t{1} << random.below(64);
    case 6:
      return (uint64_t{1} << random.below(64)) - 1;
    case 7:
      return file_size - static_cast<uint64_t>(random.below(64));
    case 8:
      return old ^ (uint64_t{1} << random.below(16));
    case 9:
      return old / 2;
    case 10:
      return old + 32 * static_cast<uint64_t>(random.below(16));
    case 11:
      return random.bits();
    default:
      return static_cast<uint64_t>(random.below(48));  // types, small counts and ids
  }
}

void overwrite(std::string& bytes, const Field& field, uint64_t value) {
  std::memcpy(&bytes[field.at], &value, std::min<uint64_t>(field.bytes, sizeof(value)));
}

void edit_field(Mutation& mutation, const FileFields& fields, FieldKind first, FieldKind last, RandomData& random) {
  FieldKind kind = first;
  do {
    kind = static_cast<FieldKind>(static_cast<int64_t>(first) +
                                  random.below(static_cast<int64_t>(last) - static_cast<int64_t>(first) + 1));
  } while (fields.by_kind[static_cast<size_t>(kind)].empty());
  const auto& all = fields.by_kind[static_cast<size_t>(kind)];
  // Half of the time one of the first, which the others depend on.
  const auto most = static_cast<int64_t>(random.below(2) == 0 ? std::min<size_t>(all.size(), 40) : all.size());
  const Field& field = all[static_cast<size_t>(random.below(most))];
  mutation.kind = to_string(kind);
  overwrite(mutation.bytes, field, hostile_value(field_value(mutation.bytes, field), mutation.bytes.size(), random));
}

// Bits anywhere in [begin, end).
void flip_bits(std::string& bytes, uint64_t begin, uint64_t end, RandomData& random) {
  for (int64_t n = 1 + random.below(8); n > 0; --n) {
    char& byte = bytes[begin + random.bits() % (end - begin)];
    byte = static_cast<char>(byte ^ (1 << random.below(8)));
  }
}

// A text or number put in place of another of the same kind.
void swap_fields(Mutation& mutation, const FileFields& fields, RandomData& random) {
  const auto kind = random.below(2) == 0 ? FieldKind::kName : FieldKind::kValue;
  const auto& all = fields.by_kind[static_cast<size_t>(kind)];
  const Field& from = all[static_cast<size_t>(random.below(static_cast<int64_t>(all.size())))];
  const Field& to = all[static_cast<size_t>(random.below(static_cast<int64_t>(all.size())))];
  const uint64_t n = std::min(from.bytes, to.bytes);
  std::memmove(&mutation.bytes[to.at], &mutation.bytes[from.at], n);
  mutation.kind = kind == FieldKind::kName ? "name copied" : "value copied";
}

void change_directory(Mutation& mutation, const FileFields& fields, RandomData& random) {
  switch (random.below(6)) {
    case 4:
    case 5:
      mutation.bytes = replace_key(mutation.bytes, fields, random);
      mutation.kind = "key replaced";
      return;
    case 0:
      mutation.bytes.resize(random.bits() % fields.data_start);
      mutation.kind = "truncated, directory";
      return;
    case 1:
      return swap_fields(mutation, fields, random);
    case 2:
      edit_field(mutation, fields, FieldKind::kValue, FieldKind::kValue, random);
      return;
    default:
      flip_bits(mutation.bytes, 0, fields.data_start, random);
      mutation.kind = "bit flips, directory";
  }
}

void change_data(Mutation& mutation, const FileFields& fields, RandomData& random) {
  const uint64_t size = mutation.bytes.size();
  if (random.below(3) == 0) {
    mutation.bytes.resize(fields.data_start + random.bits() % (size - fields.data_start));
    mutation.kind = "truncated, data";
  } else {
    flip_bits(mutation.bytes, fields.data_start, size, random);
    mutation.kind = "bit flips, data";
  }
}

Mutation drawn_mutation(std::string_view file, const FileFields& fields, RandomData& random) {
  Mutation mutation = {.kind = "", .bytes = std::string(file)};
  mutation.before_data = random.unit() < kBeforeData;
  mutation.aimed = mutation.before_data && random.unit() < kAimed;
  if (mutation.aimed) {
    edit_field(mutation, fields, FieldKind::kLength, FieldKind::kId, random);
  } else if (mutation.before_data) {
    change_directory(mutation, fields, random);
  } else {
    change_data(mutation, fields, random);
  }
  return mutation;
}

}  // namespace

Mutation mutate(std::string_view file, const FileFields& fields, RandomData& random) {
  Mutation mutation;
  do {  // the value drawn may be the one that is there
    mutation = drawn_mutation(file, fields, random);
  } while (mutation.bytes == file);
  return mutation;
}

}  // namespace lockstep::campaign
