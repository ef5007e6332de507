#include "tokenizer/spm.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <string>

#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/spelled_spaces.h"
#include "tokenizer/symbol_list.h"

namespace lockstep::tokenizer {
namespace {

struct Candidate {
  float score;
  int32_t left, right;  // neighbours when proposed
  uint32_t size;        // of both together, then: a candidate whose symbols changed since is stale
  TokenId result;
};

struct LaterFirst {  // for a heap whose top is the highest score, then the leftmost
  bool operator()(const Candidate& a, const Candidate& b) const {
    return a.score != b.score ? a.score < b.score : a.left > b.left;
  }
};

}  // namespace

struct SpmEncoder::Workspace {
  std::string_view text;
  SymbolList symbols;
  std::priority_queue<Candidate, std::vector<Candidate>, LaterFirst> queue;
};

void SpmEncoder::encode(std::string_view text, std::vector<TokenId>& out) const {
  if (text.size() >= static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    fail(ErrorCode::kBadRequest, "a stretch of {} bytes without a break is too long to encode", text.size());
  }
  std::string spaced;
  if (add_space_prefix_) spaced.push_back(' ');
  spaced += with_real_spaces(text);
  Workspace work;
  work.text = spaced;
  for (size_t at = 0; at < spaced.size();) {
    const size_t size = std::max<size_t>(1, utf8_valid_length(work.text.substr(at, 4)));
    work.symbols.append(at, size, vocab_.find(work.text.substr(at, size)));
    at += size;
  }
  merge_all(work);
  for (int32_t at = 0; at >= 0 && at < work.symbols.size(); at = work.symbols[at].next) {
    const Symbol& symbol = work.symbols[at];
    if (symbol.id >= 0) {
      out.push_back(symbol.id);
      continue;
    }
    for (const char c : work.text.substr(symbol.begin, symbol.size)) vocab_.append_byte(static_cast<uint8_t>(c), out);
  }
}

void SpmEncoder::propose(int32_t left, Workspace& work) const {
  if (left < 0 || work.symbols[left].next < 0) return;
  const Symbol& a = work.symbols[left];
  const uint32_t size = a.size + work.symbols[a.next].size;
  if (size > vocab_.longest_text()) return;
  const TokenId id = vocab_.find(work.text.substr(a.begin, size));
  if (id >= 0) work.queue.push({vocab_.token(id).score, left, a.next, size, id});
}

void SpmEncoder::merge_all(Workspace& work) const {
  for (int32_t at = 0; at + 1 < work.symbols.size(); ++at) propose(at, work);
  while (!work.queue.empty()) {
    const Candidate best = work.queue.top();
    work.queue.pop();
    const Symbol& left = work.symbols[best.left];
    const Symbol& right = work.symbols[best.right];
    if (left.size == 0 || right.size == 0 || left.size + right.size != best.size) continue;
    work.symbols.merge_with_next(best.left, best.result);
    propose(left.previous, work);
    propose(best.left, work);
  }
}

}  // namespace lockstep::tokenizer
