#include "base/text_matcher.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.h"

namespace lockstep {
namespace {

// The byte of a text `depth` bytes before its last.
unsigned char byte_back(std::string_view text, size_t depth) {
  return static_cast<unsigned char>(text[text.size() - 1 - depth]);
}

bool before_reversed(std::string_view a, std::string_view b) {
  return std::lexicographical_compare(a.rbegin(), a.rend(), b.rbegin(), b.rend(), [](char x, char y) {
    return static_cast<unsigned char>(x) < static_cast<unsigned char>(y);
  });
}

}  // namespace

// Makes the nodes level by level out of the texts sorted by their ends: those below a node are neighbours.
class TextMatcher::Builder {
 public:
  Builder(TextMatcher& matcher, std::span<const std::string_view> texts) : matcher_(matcher), texts_(texts) {
    order_.resize(texts.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::stable_sort(order_.begin(), order_.end(),
                     [&texts](size_t a, size_t b) { return before_reversed(texts[a], texts[b]); });
    const auto is_empty = [&texts](size_t i) { return texts[i].empty(); };
    order_.erase(order_.begin(), std::find_if_not(order_.begin(), order_.end(), is_empty));
  }

  void build() {
    std::vector<Below> level = {{0, 0, order_.size()}};
    for (size_t depth = 0; !level.empty(); ++depth) {
      std::vector<Below> next;
      for (const Below& below : level) add_children(below, depth, next);
      for (const Below& below : next) set_fallback(below.node);
      for (const Below& below : next) end_texts(below, depth + 1);
      level = std::move(next);
    }
  }

 private:
  struct Below {  // the texts [first, last) of order_ that pass through a node
    int32_t node;
    size_t first, last;
  };

  Node& node(int32_t index) { return matcher_.nodes_[static_cast<size_t>(index)]; }

  void add_children(const Below& below, size_t depth, std::vector<Below>& next) {
    size_t at = below.first;
    while (at < below.last && texts_[order_[at]].size() == depth) ++at;  // those that end here
    const size_t n_before = matcher_.nodes_.size();
    while (at < below.last) {
      const unsigned char byte = byte_back(texts_[order_[at]], depth);
      const auto child = static_cast<int32_t>(matcher_.nodes_.size());
      const size_t first = at;
      while (at < below.last && byte_back(texts_[order_[at]], depth) == byte) ++at;
      Node made;
      made.byte = byte;
      made.fallback = below.node;  // the parent, until set_fallback
      matcher_.nodes_.push_back(made);
      if (below.node == 0) matcher_.roots_[byte] = child;
      next.push_back({child, first, at});
    }
    node(below.node).first_child = static_cast<int32_t>(n_before);
    node(below.node).n_children = static_cast<uint16_t>(matcher_.nodes_.size() - n_before);
  }

  void set_fallback(int32_t index) {
    const int32_t parent = node(index).fallback;
    node(index).fallback = parent == 0 ? 0 : matcher_.next(node(parent).fallback, node(index).byte);
  }

  void end_texts(const Below& below, size_t depth) {
    Node& here = node(below.node);
    const int32_t shorter = node(here.fallback).match;
    const size_t first = order_[below.first];
    if (texts_[first].size() == depth) {
      here.match = static_cast<int32_t>(first);
      matcher_.prefixes_[first].size = depth;
      matcher_.link(here.match, shorter);
    } else {
      here.match = shorter;
    }
  }

  TextMatcher& matcher_;
  std::span<const std::string_view> texts_;
  std::vector<size_t> order_;
};

TextMatcher::TextMatcher(std::span<const std::string_view> texts) : nodes_(1), prefixes_(texts.size()) {
  size_t n_bytes = 0;
  for (const std::string_view text : texts) n_bytes += text.size();
  if (n_bytes >= static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    fail(ErrorCode::kUnsupported, "{} bytes of texts to be searched for, expected less than 2 GiB", n_bytes);
  }
  nodes_.reserve(n_bytes + 1);  // growing would hold them twice
  Builder(*this, texts).build();
}

int32_t TextMatcher::child(int32_t node, unsigned char byte) const {
  const Node& parent = nodes_[static_cast<size_t>(node)];
  const auto first = nodes_.begin() + parent.first_child;
  const auto last = first + parent.n_children;
  const auto found = std::lower_bound(first, last, byte, [](const Node& n, unsigned char b) { return n.byte < b; });
  return found != last && found->byte == byte ? static_cast<int32_t>(found - nodes_.begin()) : 0;
}

// `shorter` is linked already, being shorter.
void TextMatcher::link(int32_t index, int32_t shorter) {
  Prefix& prefix = prefixes_[static_cast<size_t>(index)];
  prefix.shorter = shorter;
  prefix.jump = shorter;
  if (shorter == kNone) return;
  const Prefix& one = prefixes_[static_cast<size_t>(shorter)];
  prefix.depth = one.depth + 1;
  if (one.jump == kNone) return;
  const Prefix& two = prefixes_[static_cast<size_t>(one.jump)];
  if (two.jump != kNone && one.depth - two.depth == two.depth - prefixes_[static_cast<size_t>(two.jump)].depth)
    prefix.jump = two.jump;
}

int32_t TextMatcher::prefix_of(int32_t index, size_t most) const {
  while (index != kNone && size_of(index) > most) {
    const Prefix& prefix = prefixes_[static_cast<size_t>(index)];
    index = prefix.jump != kNone && size_of(prefix.jump) > most ? prefix.jump : prefix.shorter;
  }
  return index;
}

}  // namespace lockstep
