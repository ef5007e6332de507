#include "gguf/writer.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <type_traits>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "gguf/cursor.h"

namespace lockstep::gguf {
namespace {

template <typename T>
void append(std::string& out, T number) {
  static_assert(std::is_arithmetic_v<T>);
  char bytes[sizeof(T)];
  std::memcpy(bytes, &number, sizeof(T));
  out.append(bytes, sizeof(T));
}

void append(std::string& out, const std::string& text) {
  append(out, uint64_t{text.size()});
  out += text;
}

void append_array(std::string& out, const ArrayValue& array) {
  append(out, static_cast<uint32_t>(element_type_of(array)));
  append(out, uint64_t{size_of(array)});
  std::visit(
      [&]<typename T>(const std::vector<T>& items) {
        for (const auto& item : items) append(out, static_cast<const T&>(item));
      },
      array);
}

void append_value(std::string& out, const Value& value) {
  append(out, static_cast<uint32_t>(type_of(value)));
  std::visit(
      [&]<typename T>(const T& content) {
        if constexpr (std::is_same_v<T, ArrayValue>) {
          append_array(out, content);
        } else {
          append(out, content);
        }
      },
      value);
}

void append_tensor(std::string& out, const TensorInfo& tensor) {
  append(out, tensor.name);
  append(out, tensor.n_dims);
  for (uint32_t i = 0; i < tensor.n_dims; ++i) append(out, tensor.shape[i]);
  append(out, static_cast<uint32_t>(tensor.type));
  append(out, tensor.offset);
}

}  // namespace

void Writer::add(std::string key, Value value) {
  if (key.empty()) fail(ErrorCode::kBadRequest, "GGUF writer: empty key");
  std::string name = key;
  if (!metadata_.add(std::move(key), std::move(value))) {
    fail(ErrorCode::kBadRequest, "GGUF writer: key \"{}\" is there already", printable(name));
  }
}

void Writer::set_alignment(uint32_t alignment) {
  constexpr uint32_t kMostAlignment = 1u << 20;
  if (!std::has_single_bit(alignment) || alignment > kMostAlignment) {
    fail(ErrorCode::kBadRequest, "GGUF writer: alignment {}, wanted a power of two from 1 to {}", alignment,
         kMostAlignment);
  }
  if (!tensors_.empty()) fail(ErrorCode::kBadRequest, "GGUF writer: alignment set after the first tensor");
  add("general.alignment", alignment);
  alignment_ = alignment;
}

void Writer::add_split_keys(uint16_t index, uint16_t count, int32_t n_tensors_in_all) {
  add("split.no", index);
  add("split.count", count);
  add("split.tensors.count", n_tensors_in_all);
}

void Writer::add_tensor(std::string name, quant::TensorType type, std::vector<uint64_t> shape,
                        std::span<const std::byte> data) {
  TensorInfo info = {};
  if (shape.empty() || shape.size() > info.shape.size()) {
    fail(ErrorCode::kBadRequest, "GGUF writer: tensor \"{}\" has {} dimensions", printable(name), shape.size());
  }
  info.name = std::move(name);
  info.type = type;
  info.n_dims = static_cast<uint32_t>(shape.size());
  info.shape.fill(1);
  std::ranges::copy(shape, info.shape.begin());
  const quant::FormatInfo& format = quant::format_info(type);
  info.bytes = info.n_elements() / format.block_size * format.block_bytes;
  if (info.shape[0] % format.block_size != 0 || data.size() != info.bytes) {
    fail(ErrorCode::kBadRequest, "GGUF writer: tensor \"{}\" of {}: {} bytes given, {} wanted in rows of whole blocks",
         printable(info.name), format.name, data.size(), info.bytes);
  }
  info.offset = next_offset_;
  next_offset_ = round_up(info.offset + info.bytes, uint64_t{alignment_});
  tensors_.push_back(Tensor{std::move(info), data});
}

std::string Writer::directory() const {
  std::string out = "GGUF";
  append(out, version_);
  append(out, uint64_t{tensors_.size()});
  append(out, uint64_t{metadata_.entries().size()});
  for (const Metadata::Entry& entry : metadata_.entries()) {
    append(out, entry.key);
    append_value(out, entry.value);
  }
  for (const Tensor& tensor : tensors_) append_tensor(out, tensor.info);
  if (!tensors_.empty()) out.resize(round_up(out.size(), size_t{alignment_}));
  return out;
}

void Writer::write(const std::filesystem::path& path) const {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  const std::string head = directory();
  out.write(head.data(), static_cast<std::streamsize>(head.size()));
  for (const Tensor& tensor : tensors_) {
    const std::string padding(round_up(tensor.data.size(), size_t{alignment_}) - tensor.data.size(), '\0');
    out.write(reinterpret_cast<const char*>(tensor.data.data()), static_cast<std::streamsize>(tensor.data.size()));
    out.write(padding.data(), static_cast<std::streamsize>(padding.size()));
  }
  out.close();
  if (!out) fail(ErrorCode::kIo, "{}: cannot be written: {}", shown(path), std::strerror(errno));
}

}  // namespace lockstep::gguf
