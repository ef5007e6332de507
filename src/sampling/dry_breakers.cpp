#include "sampling/dry_breakers.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"

namespace lockstep::sampling {
namespace {

constexpr size_t kLongestText = 40;
constexpr size_t kLongestRest = 20;

// What people give are a handful of marks and the names that open a turn.
constexpr size_t kMostTexts = 128;
constexpr size_t kMostTextBytes = size_t{1} << 16;
constexpr size_t kMostSequences = size_t{1} << 22;

void check_texts(std::span<const std::string> texts) {
  if (texts.size() > kMostTexts) {
    fail(ErrorCode::kBadRequest, "option dry_sequence_breaker: {} texts, expected at most {}", texts.size(),
         kMostTexts);
  }
  size_t n_bytes = 0;
  for (const std::string& text : texts) n_bytes += text.size();
  if (n_bytes > kMostTextBytes) {
    fail(ErrorCode::kBadRequest, "option dry_sequence_breaker: {} bytes of text, expected at most {}", n_bytes,
         kMostTextBytes);
  }
}

// The texts as they count: cut, sorted, none twice or empty.
std::vector<std::string> cut_texts(std::span<const std::string> texts) {
  std::vector<std::string> cut;
  for (const std::string& text : texts) {
    if (!text.empty()) cut.push_back(text.substr(0, kLongestText));
  }
  std::sort(cut.begin(), cut.end());
  cut.erase(std::unique(cut.begin(), cut.end()), cut.end());
  return cut;
}

}  // namespace

// Finds the texts in one token after another: sorted texts are walked down like a trie.
class DryBreakers::Builder {
 public:
  Builder(std::vector<std::string> texts, const std::function<TokenSequence(const std::string&)>& encode)
      : texts_(std::move(texts)), encode_(encode) {}

  void add(TokenId id, std::string_view word) {
    contained_.clear();
    begun_.clear();
    for (size_t at = 0; at < word.size(); ++at) find_at(word.substr(at));
    if (!contained_.empty()) push({id, 0});
    std::sort(contained_.begin(), contained_.end());
    for (const auto& [text, length] : begun_) {
      if (!std::binary_search(contained_.begin(), contained_.end(), text)) push({id, rest_of(text, length)});
    }
  }

  DryBreakers take() {
    result_.sort();
    return std::move(result_);
  }

 private:
  // The texts that `rest_of_word` begins with, and those that begin with all of it.
  void find_at(std::string_view rest_of_word) {
    size_t first = 0;
    size_t last = texts_.size();
    for (size_t depth = 0; depth < rest_of_word.size() && first < last; ++depth) {
      const auto byte_before = [depth](const std::string& text, char c) {
        return depth == text.size() || static_cast<unsigned char>(text[depth]) < static_cast<unsigned char>(c);
      };
      const auto byte_after = [depth](char c, const std::string& text) {
        return depth < text.size() && static_cast<unsigned char>(c) < static_cast<unsigned char>(text[depth]);
      };
      const auto begin = texts_.begin() + static_cast<std::ptrdiff_t>(first);
      const auto end = texts_.begin() + static_cast<std::ptrdiff_t>(last);
      first = static_cast<size_t>(std::lower_bound(begin, end, rest_of_word[depth], byte_before) - texts_.begin());
      last = static_cast<size_t>(std::upper_bound(begin, end, rest_of_word[depth], byte_after) - texts_.begin());
      if (first < last && texts_[first].size() == depth + 1) contained_.push_back(first);
    }
    for (size_t text = first; text < last; ++text) {
      if (texts_[text].size() > rest_of_word.size()) begun_.emplace_back(text, rest_of_word.size());
    }
  }

  uint32_t rest_of(size_t text, size_t length) {
    const auto [place, is_new] = index_of_rest_.try_emplace(texts_[text].substr(length));
    if (is_new) {
      TokenSequence rest = encode_(place->first);
      rest.resize(std::min(rest.size(), kLongestRest));
      place->second = rest.empty() ? 0 : static_cast<uint32_t>(result_.rests_.size());
      if (!rest.empty()) result_.rests_.push_back(std::move(rest));
    }
    return place->second;
  }

  void push(Sequence sequence) {
    if (result_.sequences_.size() == kMostSequences) {
      fail(ErrorCode::kBadRequest, "option dry_sequence_breaker: more than {} sequences of tokens spell the texts",
           kMostSequences);
    }
    result_.sequences_.push_back(sequence);
  }

  std::vector<std::string> texts_;
  const std::function<TokenSequence(const std::string&)>& encode_;
  std::vector<size_t> contained_;                 // texts that are in the token
  std::vector<std::pair<size_t, size_t>> begun_;  // texts of which so many bytes end the token
  std::map<std::string, uint32_t> index_of_rest_;
  DryBreakers result_;
};

DryBreakers::DryBreakers(std::span<const TokenSequence> sequences) {
  for (const TokenSequence& sequence : sequences) {
    if (sequence.empty()) fail(ErrorCode::kBadRequest, "option dry_sequence_breaker: a breaker without tokens");
    sequences_.push_back({sequence.front(), static_cast<uint32_t>(rests_.size())});
    if (sequence.size() == 1) sequences_.back().rest = 0;
    rests_.emplace_back(sequence.begin() + 1, sequence.end());
  }
  sort();
}

DryBreakers::DryBreakers(std::initializer_list<TokenSequence> sequences)
    : DryBreakers(std::span(sequences.begin(), sequences.size())) {}

DryBreakers DryBreakers::of_texts(std::span<const std::string> texts, int32_t n_vocab,
                                  const std::function<std::string_view(TokenId)>& piece,
                                  const std::function<TokenSequence(const std::string&)>& encode) {
  check_texts(texts);
  Builder builder(cut_texts(texts), encode);
  for (TokenId id = 0; id < n_vocab; ++id) builder.add(id, piece(id));
  return builder.take();
}

void DryBreakers::sort() {
  std::sort(sequences_.begin(), sequences_.end());
  sequences_.erase(std::unique(sequences_.begin(), sequences_.end()), sequences_.end());
}

std::span<const DryBreakers::Sequence> DryBreakers::from(TokenId head) const {
  const auto first = std::partition_point(sequences_.begin(), sequences_.end(),
                                          [head](const Sequence& sequence) { return sequence.head < head; });
  const auto last =
      std::partition_point(first, sequences_.end(), [head](const Sequence& sequence) { return sequence.head == head; });
  return {first, last};
}

size_t DryBreakers::longest_at(std::span<const TokenId> tokens) const {
  size_t longest = 0;
  for (const Sequence& sequence : from(tokens.front())) {
    const TokenSequence& rest = rests_[sequence.rest];
    if (rest.size() + 1 <= longest || rest.size() + 1 > tokens.size()) continue;
    if (std::equal(rest.begin(), rest.end(), tokens.begin() + 1)) longest = rest.size() + 1;
  }
  return longest;
}

bool DryBreakers::has_alone(TokenId id) const {
  const auto sequences = from(id);
  return !sequences.empty() && sequences.front().rest == 0;
}

std::optional<TokenId> DryBreakers::id_outside(int32_t n_vocab) const {
  const auto is_outside = [n_vocab](TokenId id) { return id < 0 || id >= n_vocab; };
  for (const Sequence& sequence : sequences_) {
    if (is_outside(sequence.head)) return sequence.head;
  }
  for (const TokenSequence& rest : rests_) {
    const auto found = std::find_if(rest.begin(), rest.end(), is_outside);
    if (found != rest.end()) return *found;
  }
  return std::nullopt;
}

std::vector<TokenSequence> DryBreakers::sequences() const {
  std::vector<TokenSequence> all;
  for (const Sequence& sequence : sequences_) {
    all.push_back({sequence.head});
    const TokenSequence& rest = rests_[sequence.rest];
    all.back().insert(all.back().end(), rest.begin(), rest.end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace lockstep::sampling
