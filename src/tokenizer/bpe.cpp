#include "tokenizer/bpe.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/spelled_spaces.h"
#include "tokenizer/symbol_list.h"

namespace lockstep::tokenizer {
namespace {

struct Candidate {
  int32_t rank;
  int32_t left;               // the symbol that would absorb its right neighbour
  TokenId left_id, right_id;  // as they were when proposed: a candidate whose symbols changed since is stale
  TokenId result;
};

struct LaterFirst {  // for a heap whose top is the lowest rank, then the leftmost
  bool operator()(const Candidate& a, const Candidate& b) const {
    return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
  }
};

}  // namespace

struct BpeEncoder::Workspace {
  SymbolList symbols;
  std::priority_queue<Candidate, std::vector<Candidate>, LaterFirst> queue;  // empty after every pre-token
};

BpeEncoder::BpeEncoder(const Vocab& vocab, MergeTable merges, Pretokenizer pretokenizer)
    : vocab_(vocab), merges_(std::move(merges)), pretokenizer_(std::move(pretokenizer)) {}

void BpeEncoder::encode(std::string_view text, std::vector<TokenId>& out) const {
  std::string unspelled;
  if (vocab_.coding() == TextCoding::kSpelledSpaces && text.find(kSpelledSpace) != std::string_view::npos) {
    unspelled = with_real_spaces(text);
    text = unspelled;
  }
  Workspace work;
  size_t begin = 0;
  for (const size_t end : pretokenizer_.split(text)) {
    encode_pre_token(text.substr(begin, end - begin), work, out);
    begin = end;
  }
}

// The id of a pre-token that is not merged at all.
TokenId BpeEncoder::whole_token(std::string_view text) const {
  const PretokenizerSpec& spec = pretokenizer_.spec();
  const bool newlines = spec.newline_runs_whole && text.find_first_not_of('\n') == std::string_view::npos;
  return spec.ignore_merges || newlines ? vocab_.find(text) : -1;
}

void BpeEncoder::encode_pre_token(std::string_view text, Workspace& work, std::vector<TokenId>& out) const {
  if (text.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    fail(ErrorCode::kBadRequest, "a stretch of {} bytes without a break is too long to encode", text.size());
  }
  const TokenId whole = whole_token(text);
  if (whole >= 0) {
    out.push_back(whole);
    return;
  }
  split_into_symbols(text, work);
  merge_all(work);
  for (int32_t at = 0; at >= 0 && at < work.symbols.size(); at = work.symbols[at].next) {
    const Symbol& symbol = work.symbols[at];
    if (symbol.id >= 0) {
      out.push_back(symbol.id);
      continue;
    }
    for (const char c : text.substr(symbol.begin, symbol.size)) vocab_.append_byte(static_cast<uint8_t>(c), out);
  }
}

// Byte-level vocabularies start from bytes, the others from characters (a byte that is part of none stands alone).
void BpeEncoder::split_into_symbols(std::string_view text, Workspace& work) const {
  work.symbols.clear();
  const bool bytes = vocab_.coding() == TextCoding::kByteLevel;
  for (size_t at = 0; at < text.size();) {
    const size_t size = bytes ? 1 : std::max<size_t>(1, utf8_valid_length(text.substr(at, 4)));
    const TokenId id = bytes ? vocab_.byte_id(static_cast<uint8_t>(text[at])) : vocab_.find(text.substr(at, size));
    work.symbols.append(at, size, id);
    at += size;
  }
}

void BpeEncoder::propose(int32_t left, Workspace& work) const {
  if (left < 0) return;
  const Symbol& a = work.symbols[left];
  if (a.next < 0) return;
  const Symbol& b = work.symbols[a.next];
  const MergeTable::Merge merge = merges_.find(a.id, b.id);
  if (merge.rank >= 0) work.queue.push({merge.rank, left, a.id, b.id, merge.result});
}

void BpeEncoder::merge_all(Workspace& work) const {
  for (int32_t at = 0; at + 1 < work.symbols.size(); ++at) propose(at, work);
  while (!work.queue.empty()) {
    const Candidate best = work.queue.top();
    work.queue.pop();
    const Symbol& left = work.symbols[best.left];
    if (left.size == 0 || left.id != best.left_id || left.next < 0) continue;
    if (work.symbols[left.next].id != best.right_id) continue;
    work.symbols.merge_with_next(best.left, best.result);
    propose(left.previous, work);
    propose(best.left, work);
  }
}

}  // namespace lockstep::tokenizer
