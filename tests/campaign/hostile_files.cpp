#include "campaign/hostile_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "campaign/altered_file.h"
#include "campaign/file_fields.h"
#include "gguf/forged_file_test.h"

namespace lockstep::campaign {
namespace {

using gguf::ByteBuilder;
using gguf::ValueType;

constexpr uint64_t kLargest = ~uint64_t{0};

class HostileFiles {
 public:
  HostileFiles(std::string_view good, const std::function<void(const HostileFile&)>& visit)
      : good_(good), fields_(fields_of(good)), visit_(visit) {}

  void cut_files_and_counts() {
    constexpr uint64_t kStep = 509;  // not a multiple of anything in the file
    for (uint64_t size = 0; size < fields_.data_start; size += kStep) {
      give("B01", fmt::format("cut after {} bytes", size), "left", std::string(good_.substr(0, size)));
    }
    for (const uint64_t count : {uint64_t{1} << 40, uint64_t{1} << 63, kLargest}) {
      for (const auto& [at, part] : {std::pair{kTensorCountAt, "tensors"}, std::pair{kKeyCountAt, "keys"}}) {
        give("B01", fmt::format("{} {}", count, part), std::to_string(count), with_number(good_, at, count));
      }
    }
  }

  void lengths() {
    const Key& second = fields_.keys.at(1);
    const Key& text = key("tokenizer.ggml.model");
    const uint64_t first_item_at = key("tokenizer.ggml.tokens").value_at + sizeof(uint32_t) + sizeof(uint64_t);
    for (const uint64_t at : {second.at - sizeof(uint64_t), text.value_at, first_item_at}) {
      for (const uint64_t length : {kLargest, uint64_t{1} << 63, good_.size() - at - sizeof(uint64_t) + 1}) {
        give("B02", fmt::format("a length of {} at byte {}", length, at), std::to_string(length),
             with_number(good_, at, length));
      }
    }
    ByteBuilder huge, nested;
    give_record("B02", "an array of 2^61 numbers", "huge", huge.array("huge", ValueType::kU64, uint64_t{1} << 61));
    nested.array("nested", ValueType::kArray, 1);
    for (int i = 0; i < 10000; ++i) nested.number(static_cast<uint32_t>(ValueType::kArray)).number(uint64_t{1});
    give_record("B02", "10,000 arrays in arrays", "nested", nested);
  }

  void shapes_and_types() {
    const TensorEntry& embedding = tensor("token_embd.weight");
    const uint64_t dims_at = embedding.n_dims_at + sizeof(uint32_t);
    const uint64_t second_at = dims_at + sizeof(uint64_t);
    const uint64_t two32 = uint64_t{1} << 32;
    give("B03", "a dimension of 2^42 + 1", embedding.name, with_number(good_, second_at, (uint64_t{1} << 42) + 1));
    give("B03", "dimensions whose product wraps", embedding.name,
         with_number(with_number(good_, dims_at, two32), second_at, two32 + 1));
    for (const uint64_t at : {dims_at, second_at})
      give("B03", "a dimension of 0", embedding.name, with_number(good_, at, uint64_t{0}));
    for (const uint32_t n : {5u, ~0u})
      give("B03", fmt::format("{} dimensions", n), embedding.name, with_number(good_, embedding.n_dims_at, n));
    for (const uint32_t type : {4u, 5u, 255u, ~0u})
      give("B03", fmt::format("tensor type {}", type), embedding.name, with_number(good_, embedding.type_at, type));
  }

  void alignments() {
    for (const uint32_t alignment : {0u, 3u, 1u << 31})
      give_key("B05", "general.alignment", ValueType::kU32, ByteBuilder().number(alignment));
    give_key("B05", "general.alignment", ValueType::kI32, ByteBuilder().number(int32_t{32}));
    give_key("B05", "general.alignment", ValueType::kU64, ByteBuilder().number(uint64_t{32}));
    give_key("B05", "general.alignment", ValueType::kString, ByteBuilder().text("32"));
  }

  void data_and_offsets() {
    const std::string last = last_tensor().name;
    give("B06", "the last byte cut off", last, std::string(good_.substr(0, good_.size() - 1)));
    give("B06", "cut in half", "missing", std::string(good_.substr(0, good_.size() / 2)));
    const TensorEntry& embedding = tensor("token_embd.weight");
    uint64_t offset;
    std::memcpy(&offset, &good_.at(embedding.offset_at), sizeof(offset));
    for (const uint64_t wrong : {kLargest - 31, uint64_t{0}, offset + 4})
      give("B06", fmt::format("an offset of {}", wrong), embedding.name,
           with_number(good_, embedding.offset_at, wrong));
  }

  void twice_or_empty() {
    give_record("B07", "a key twice", "twice", ByteBuilder().key("general.name", ValueType::kString).text("again"));
    give_record("B07", "an empty key", "empty", ByteBuilder().key("", ValueType::kBool).number(uint8_t{1}));
    for (const uint32_t type : {13u, 255u}) {
      give_record("B07", fmt::format("a value of type {}", type), fmt::format("{}", type),
                  ByteBuilder().key("unknown", static_cast<ValueType>(type)).number(uint64_t{0}));
    }
    const TensorEntry& entry = tensor("blk.1.attn_norm.weight");
    std::string doubled(good_);
    doubled[entry.name_at + std::string_view("blk.").size()] = '0';
    give("B07", "a tensor's name twice", "blk.0.attn_norm.weight", std::move(doubled));
  }

  void hyper_parameters() {
    for (const auto& [name, value] : std::vector<std::pair<std::string_view, uint32_t>>{{"attention.head_count", 0},
                                                                                        {"attention.head_count", 7},
                                                                                        {"attention.head_count_kv", 0},
                                                                                        {"attention.head_count_kv", 3},
                                                                                        {"attention.head_count_kv", 16},
                                                                                        {"block_count", 0},
                                                                                        {"block_count", 1u << 31},
                                                                                        {"embedding_length", 0},
                                                                                        {"feed_forward_length", 0},
                                                                                        {"context_length", 0},
                                                                                        {"rope.dimension_count", 7}})
      give_key("B10", fmt::format("llama.{}", name), ValueType::kU32, ByteBuilder().number(value));
    for (const float epsilon : {0.0f, -1.0f, std::numeric_limits<float>::quiet_NaN()})
      give_key("B10", "llama.attention.layer_norm_rms_epsilon", ValueType::kF32, ByteBuilder().number(epsilon));
    give_key("B10", "llama.block_count", ValueType::kString, ByteBuilder().text("two"));
    give("B10", "no block count", "llama.block_count", without_key(good_, fields_, "llama.block_count"));
    give_key("B10", "general.architecture", ValueType::kString, ByteBuilder().text("mamba"));
  }

  void versions_and_shards() {
    std::string swapped(good_);
    for (const auto& [at, n] : {std::pair<size_t, size_t>{kVersionAt, 4}, {kTensorCountAt, 8}, {kKeyCountAt, 8}})
      std::reverse(swapped.begin() + static_cast<ptrdiff_t>(at), swapped.begin() + static_cast<ptrdiff_t>(at + n));
    give("B11", "of the other byte order", "endian", std::move(swapped));
    for (const uint32_t version : {0u, 1u, 4u})
      give("B11", fmt::format("version {}", version), "version", with_number(good_, kVersionAt, version));
    give_record("B11", "one of two shards, by another name", "shard",
                ByteBuilder().key("split.count", ValueType::kU16).number(uint16_t{2}));
  }

  void missing_tensors() {
    for (const std::string_view name : {"token_embd.weight", "blk.1.ffn_up.weight", "output_norm.weight"}) {
      std::string renamed(good_);
      renamed[tensor(name).name_at] = '_';
      give("B13", fmt::format("without {}", name), std::string(name), std::move(renamed));
    }
  }

  void heads() {
    const auto kv_heads = [](const std::vector<uint32_t>& counts) {
      ByteBuilder value;
      value.number(static_cast<uint32_t>(ValueType::kU32)).number(uint64_t{counts.size()});
      for (const uint32_t n : counts) value.number(n);
      return value;
    };
    for (const std::vector<uint32_t>& counts : {std::vector<uint32_t>{2}, {2, 1}, {2, 2, 2}})
      give_key("B14", "llama.attention.head_count_kv", ValueType::kArray, kv_heads(counts));
    for (const uint32_t size : {0u, 48u})
      give_key("B14", "llama.attention.key_length", ValueType::kU32, ByteBuilder().number(size));
  }

  void rotations() {
    give_key("B15", "llama.rope.scaling.type", ValueType::kString, ByteBuilder().text("abc"));
    for (const float base : {0.0f, -1.0f, std::numeric_limits<float>::infinity()})
      give_key("B15", "llama.rope.freq_base", ValueType::kF32, ByteBuilder().number(base));
  }

  void block_scales() {
    constexpr uint16_t kNaN = 0x7e00, kInfinity = 0x7c00;
    for (const std::string_view name : {"token_embd.weight", "blk.0.ffn_down.weight"}) {
      uint64_t offset;
      std::memcpy(&offset, &good_.at(tensor(name).offset_at), sizeof(offset));
      for (const uint16_t scale : {kNaN, kInfinity})
        give("B17", scale == kNaN ? "a block scale that is not a number" : "an infinite block scale", std::string(name),
             with_number(good_, fields_.data_start + offset, scale));
    }
  }

  void vocabularies() {
    constexpr uint64_t kTokens = 2048;
    ByteBuilder scores, types, none;
    scores.number(static_cast<uint32_t>(ValueType::kF32)).number(kTokens - 1).raw(std::string((kTokens - 1) * 4, '\0'));
    types.number(static_cast<uint32_t>(ValueType::kU8)).number(kTokens).raw(std::string(kTokens, '\1'));
    none.number(static_cast<uint32_t>(ValueType::kString)).number(uint64_t{0});
    give_key("B18", "tokenizer.ggml.scores", ValueType::kArray, scores);
    give_key("B18", "tokenizer.ggml.token_type", ValueType::kArray, types);
    give_key("B18", "tokenizer.ggml.tokens", ValueType::kArray, none);
    give("B18", "no merges", "tokenizer.ggml.merges", without_key(good_, fields_, "tokenizer.ggml.merges"));
  }

 private:
  void give(std::string case_id, std::string what, std::string names, std::string bytes) {
    visit_({std::move(case_id), std::move(what), std::move(names), std::move(bytes)});
  }
  void give_record(std::string case_id, std::string what, std::string names, const ByteBuilder& record) {
    give(std::move(case_id), std::move(what), std::move(names), with_record(good_, fields_, record.bytes()));
  }
  // With this value under the key, whose name the refusal must hold.
  void give_key(std::string case_id, const std::string& name, ValueType type, const ByteBuilder& value) {
    const std::string record = ByteBuilder().key(name, type).raw(value.bytes()).bytes();
    give(std::move(case_id), fmt::format("another {}", name), name,
         with_record(without_key(good_, fields_, name), fields_, record));
  }

  template <typename Named>
  static const Named& named(const std::vector<Named>& all, std::string_view name) {
    const auto found = std::ranges::find(all, name, &Named::name);
    if (found == all.end()) throw std::runtime_error(fmt::format("the good model has no {}", name));
    return *found;
  }
  [[nodiscard]] const Key& key(std::string_view name) const { return named(fields_.keys, name); }
  [[nodiscard]] const TensorEntry& tensor(std::string_view name) const { return named(fields_.tensors, name); }
  [[nodiscard]] const TensorEntry& last_tensor() const { return fields_.tensors.back(); }

  std::string_view good_;
  FileFields fields_;
  const std::function<void(const HostileFile&)>& visit_;
};

}  // namespace

void each_hostile_file(std::string_view good, const std::function<void(const HostileFile&)>& visit) {
  HostileFiles files(good, visit);
  files.cut_files_and_counts();
  files.lengths();
  files.shapes_and_types();
  files.alignments();
  files.data_and_offsets();
  files.twice_or_empty();
  files.hyper_parameters();
  files.versions_and_shards();
  files.missing_tensors();
  files.heads();
  files.rotations();
  files.block_scales();
  files.vocabularies();
}

}  // namespace lockstep::campaign
