#include "gguf/tensor_table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/checked.h"
#include "base/error.h"

namespace lockstep::gguf {
namespace {

constexpr uint32_t kMostDims = 4;
// Indices and byte counts fit signed 64-bit arithmetic everywhere further on.
constexpr uint64_t kMostElements = uint64_t{1} << 62;

// Not fmt::join: g++ 12 warns about fmt 9's own code there.
std::string shape_text(std::span<const uint64_t> dims) {
  std::string text;
  for (const uint64_t dim : dims) text += fmt::format("{}{}", text.empty() ? "[" : ", ", dim);
  return text + "]";
}

void read_shape(Cursor& cursor, TensorInfo& tensor) {
  tensor.n_dims = cursor.number<uint32_t>("number of dimensions");
  if (tensor.n_dims == 0 || tensor.n_dims > kMostDims) {
    cursor.refuse(ErrorCode::kBadFile, "{} dimensions, wanted 1 to {}", tensor.n_dims, kMostDims);
  }
  tensor.shape.fill(1);
  const auto dims = std::span(tensor.shape).first(tensor.n_dims);
  for (uint64_t& dim : dims) dim = cursor.number<uint64_t>("dimensions");
  std::optional<uint64_t> elements = 1;
  for (const uint64_t dim : dims) {
    if (dim == 0) cursor.refuse(ErrorCode::kBadFile, "shape {} has a zero dimension", shape_text(dims));
    if (elements) elements = checked_mul(*elements, dim);
  }
  if (!elements || *elements > kMostElements) {
    cursor.refuse(ErrorCode::kBadFile, "shape {} has more elements than a 64-bit file can hold", shape_text(dims));
  }
}

void read_type(Cursor& cursor, TensorInfo& tensor) {
  const auto number = cursor.number<uint32_t>("type");
  const quant::FormatInfo* format = quant::find_format(number);
  if (format == nullptr) {
    cursor.refuse(ErrorCode::kUnsupported, "unknown tensor type {} (as signed number {})", number,
                  static_cast<int32_t>(number));
  }
  tensor.type = format->type;
  const auto dims = std::span(tensor.shape).first(tensor.n_dims);
  if (tensor.shape[0] % format->block_size != 0) {
    cursor.refuse(ErrorCode::kBadFile, "rows of {} elements in shape {}, wanted a multiple of {} for {}",
                  tensor.shape[0], shape_text(dims), format->block_size, format->name);
  }
  const auto bytes = checked_mul(tensor.n_elements() / format->block_size, format->block_bytes);
  if (!bytes) {
    cursor.refuse(ErrorCode::kBadFile, "shape {} of {} takes more bytes than a file can have", shape_text(dims),
                  format->name);
  }
  tensor.bytes = *bytes;
}

void check_names(const File& file, std::span<const TensorInfo> tensors) {
  std::vector<uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), uint32_t{0});
  const auto name_of = [&](uint32_t i) -> const std::string& { return tensors[i].name; };
  std::ranges::sort(order, {}, name_of);
  const auto twice = std::ranges::adjacent_find(order, {}, name_of);
  if (twice == order.end()) return;
  fail(ErrorCode::kBadFile, "{}: tensor \"{}\": the name is there twice", shown(file.path()),
       printable(name_of(*twice)));
}

void check_extent(const File& file, const TensorInfo& tensor, uint64_t data_start, uint64_t alignment) {
  if (tensor.offset % alignment != 0) {
    fail(ErrorCode::kBadFile, "{}: {}: offset {} is not a multiple of the alignment {}", shown(file.path()),
         describe(tensor), tensor.offset, alignment);
  }
  const uint64_t room = data_start <= file.size() ? file.size() - data_start : 0;
  if (tensor.offset <= room && tensor.bytes <= room - tensor.offset) return;
  const uint64_t there = tensor.offset <= room ? room - tensor.offset : 0;
  fail(ErrorCode::kBadFile,
       "{}: {}: {} bytes at offset {} of the data, but only {} of them are in the file ({} missing)",
       shown(file.path()), describe(tensor), tensor.bytes, tensor.offset, there, tensor.bytes - there);
}

void check_overlap(const File& file, std::span<const TensorInfo> tensors) {
  std::vector<uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), uint32_t{0});
  std::ranges::sort(order, {}, [&](uint32_t i) { return std::pair(tensors[i].offset, i); });
  for (size_t i = 1; i < order.size(); ++i) {
    const TensorInfo& before = tensors[order[i - 1]];
    const TensorInfo& after = tensors[order[i]];
    if (after.offset - before.offset >= before.bytes) continue;
    fail(ErrorCode::kBadFile, "{}: {} at offset {} overlaps {}, which takes {} bytes from offset {}",
         shown(file.path()), describe(after), after.offset, describe(before), before.bytes, before.offset);
  }
}

}  // namespace

std::string describe(const TensorInfo& tensor) {
  return fmt::format("tensor \"{}\" {} {}", printable(tensor.name),
                     shape_text(std::span(tensor.shape).first(tensor.n_dims)), quant::to_string(tensor.type));
}

std::vector<TensorInfo> read_tensor_table(Cursor& cursor, uint64_t n_tensors) {
  std::vector<TensorInfo> tensors;
  for (uint64_t i = 0; i < n_tensors; ++i) {
    cursor.start_record("tensor", i, n_tensors);
    cursor.read_name("name");
    TensorInfo tensor = {};
    tensor.name = cursor.place().name;
    read_shape(cursor, tensor);
    read_type(cursor, tensor);
    tensor.offset = cursor.number<uint64_t>("offset");
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

void check_placement(const File& file, std::span<const TensorInfo> tensors, uint64_t data_start, uint64_t alignment) {
  check_names(file, tensors);
  for (const TensorInfo& tensor : tensors) check_extent(file, tensor, data_start, alignment);
  check_overlap(file, tensors);
}

}  // namespace lockstep::gguf
