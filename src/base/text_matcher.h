// Finds many texts at once in another one, in time proportional to that one whatever the texts are (Aho and Corasick,
// "Efficient string matching", 1975; here with the texts reversed, so that a walk from the end tells at every byte
// which texts begin there). 16 bytes of memory for each byte of the texts. Immutable; safe from several threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace lockstep {

class TextMatcher {
 public:
  static constexpr int32_t kNone = -1;

  TextMatcher() : TextMatcher(std::span<const std::string_view>()) {}
  // Of equal texts the first counts; empty ones are never found. The texts are not needed afterwards.
  explicit TextMatcher(std::span<const std::string_view> texts);

  // A walk back through a text: one byte a step, the last byte first.
  class Walk {
   public:
    explicit Walk(const TextMatcher& matcher) : matcher_(matcher) {}

    // The index of the longest text that begins at this byte and ends among those that were walked over.
    int32_t step(char byte) {
      node_ = matcher_.next(node_, static_cast<unsigned char>(byte));
      return matcher_.nodes_[static_cast<size_t>(node_)].match;
    }

   private:
    const TextMatcher& matcher_;
    int32_t node_ = 0;
  };

  [[nodiscard]] size_t size_of(int32_t index) const { return prefixes_[static_cast<size_t>(index)].size; }

  // The longest text of at most `most` bytes that text `index` begins with, itself included; kNone takes none. O(log
  // n).
  [[nodiscard]] int32_t prefix_of(int32_t index, size_t most) const;

  // The longest shorter text that text `index` begins with.
  [[nodiscard]] int32_t shorter(int32_t index) const { return prefixes_[static_cast<size_t>(index)].shorter; }

 private:
  struct Node {
    int32_t first_child = 0;  // the others follow it, ascending by byte
    int32_t fallback = 0;     // the node of the longest shorter path that ends the path to this one
    int32_t match = kNone;    // the longest text that ends that path
    uint16_t n_children = 0;
    unsigned char byte = 0;
  };
  // The texts that a text begins with are a list, longest first; jumps skip parts of it (Myers, "An applicative
  // random-access stack", 1983).
  struct Prefix {
    size_t size = 0;
    int32_t shorter = kNone;
    int32_t jump = kNone;
    int32_t depth = 0;
  };
  class Builder;

  [[nodiscard]] int32_t child(int32_t node, unsigned char byte) const;
  [[nodiscard]] int32_t next(int32_t node, unsigned char byte) const {
    while (true) {
      const int32_t found = node == 0 ? roots_[byte] : child(node, byte);
      if (found != 0 || node == 0) return found;
      node = nodes_[static_cast<size_t>(node)].fallback;
    }
  }
  void link(int32_t index, int32_t shorter);

  std::vector<Node> nodes_;  // in order of their depth; the first is the root, which is no node's child
  std::array<int32_t, 256> roots_{};
  std::vector<Prefix> prefixes_;
};

}  // namespace lockstep
