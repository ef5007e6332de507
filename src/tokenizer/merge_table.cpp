#include "tokenizer/merge_table.h"

#include <fmt/format.h>

#include <bit>
#include <limits>
#include <optional>

#include "base/error.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/spelled_spaces.h"

namespace lockstep::tokenizer {
namespace {

constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";

constexpr uint64_t pair_of(TokenId left, TokenId right) {
  return (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) | static_cast<uint32_t>(right);
}

// Turns the two halves of a merge line into bytes. Buffers are reused: a vocabulary has half a million merges.
class MergeLine {
 public:
  explicit MergeLine(TextCoding coding) : coding_(coding) {}

  // False when the line has no separator or a half is not written in the vocabulary's coding.
  bool read(std::string_view line) {
    const size_t space = line.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == line.size()) return false;
    bytes_.clear();
    if (!append(line.substr(0, space))) return false;
    left_size_ = bytes_.size();
    return append(line.substr(space + 1));
  }

  [[nodiscard]] std::string_view left() const { return std::string_view(bytes_).substr(0, left_size_); }
  [[nodiscard]] std::string_view right() const { return std::string_view(bytes_).substr(left_size_); }
  [[nodiscard]] std::string_view whole() const { return bytes_; }

 private:
  bool append(std::string_view half) {
    if (coding_ == TextCoding::kByteLevel) return append_alphabet_bytes(half, bytes_);
    if (coding_ == TextCoding::kSpelledSpaces && half.find(kSpelledSpace) != std::string_view::npos) {
      bytes_ += with_real_spaces(half);
    } else {
      bytes_ += half;
    }
    return true;
  }

  TextCoding coding_;
  std::string bytes_;
  size_t left_size_ = 0;
};

}  // namespace

MergeTable::MergeTable(size_t max_merges) : slots_(std::bit_ceil(2 * max_merges + 2)) {
  shift_ = 64u - static_cast<unsigned>(std::countr_zero(slots_.size()));
}

size_t MergeTable::slot_of(uint64_t pair) const {
  size_t at = static_cast<size_t>(hash_(pair) >> shift_);
  while (slots_[at].pair != kEmpty && slots_[at].pair != pair) at = (at + 1) & (slots_.size() - 1);
  return at;
}

void MergeTable::insert(TokenId left, TokenId right, Merge merge) {
  Slot& slot = slots_[slot_of(pair_of(left, right))];
  if (slot.pair == kEmpty) slot = {pair_of(left, right), merge};  // the first of two equal lines counts
}

MergeTable::Merge MergeTable::find(TokenId left, TokenId right) const {
  if (left < 0 || right < 0) return {};
  return slots_[slot_of(pair_of(left, right))].merge;
}

MergeTable MergeTable::load(const gguf::Metadata& metadata, const Vocab& vocab, std::vector<std::string>& warnings) {
  const auto* lines = metadata.find_array<std::string>(kMergesKey);
  if (lines == nullptr)
    fail(ErrorCode::kBadFile, "{} is missing: a BPE vocabulary cannot encode text without it", kMergesKey);
  if (lines->size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    fail(ErrorCode::kBadFile, "{} holds {} merges, more than 2^31-1", kMergesKey, lines->size());
  }
  MergeTable table(lines->size());
  MergeLine line(vocab.coding());
  size_t n_skipped = 0;
  for (size_t i = 0; i < lines->size(); ++i) {
    const bool readable = line.read((*lines)[i]);
    const TokenId left = readable ? vocab.find(line.left()) : -1;
    const TokenId right = left < 0 ? -1 : vocab.find(line.right());
    const TokenId result = right < 0 ? -1 : vocab.find(line.whole());
    if (result < 0) {
      ++n_skipped;
    } else {
      table.insert(left, right, {static_cast<int32_t>(i), result});
    }
  }
  if (n_skipped != 0) {
    warnings.push_back(fmt::format("{}: {} of {} merges name texts that are not ordinary tokens: skipped", kMergesKey,
                                   n_skipped, lines->size()));
  }
  return table;
}

}  // namespace lockstep::tokenizer
