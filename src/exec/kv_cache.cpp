#include "exec/kv_cache.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/checked.h"
#include "base/error.h"

namespace lockstep::exec {
namespace {

std::string purpose_of(int64_t block) {
  const int64_t first = block * KvCache::kBlockPositions;
  return fmt::format("the KV cache of positions {} to {}", first, first + KvCache::kBlockPositions - 1);
}

}  // namespace

KvCache::KvCache(const Shape& shape)
    : shape_(shape),
      whole_(bytes_of_layers(false), static_cast<uint64_t>(n_blocks(shape.max_positions))),
      windows_(bytes_of_layers(true), static_cast<uint64_t>(n_blocks(shape.max_positions))) {
  int64_t n_of_kind[2] = {0, 0};
  for (int64_t layer = 0; layer < shape.n_layers; ++layer) {
    const bool windowed = !shape.windowed.empty() && shape.windowed[static_cast<size_t>(layer)];
    places_.push_back({windowed, n_of_kind[windowed ? 1 : 0]++});
  }
  constexpr int64_t kUsualBlocks = 1024;
  whole_blocks_.reserve(static_cast<size_t>(std::min(kUsualBlocks, n_blocks(shape.max_positions))));
  window_blocks_.reserve(whole_blocks_.capacity());
  marks_.reserve(kMostMarks + 1);
}

uint64_t KvCache::bytes_of_layers(bool windowed) const noexcept {
  const auto n_windowed = static_cast<int64_t>(std::ranges::count(shape_.windowed, true));
  const int64_t n_layers = windowed ? n_windowed : shape_.n_layers - n_windowed;
  return static_cast<uint64_t>(n_layers * 2 * shape_.n_kv_heads * shape_.chunk_bytes);
}

int64_t KvCache::first_window_block(int64_t n) const noexcept {
  if (window_block_bytes() == 0) return n_blocks(n);
  return std::max(int64_t{0}, n + 1 - shape_.window) / kBlockPositions;
}

int64_t KvCache::most_window_positions(int64_t window, int64_t margin, int64_t batch) noexcept {
  const int64_t n = window - 1 + margin + batch;  // in a row, and the first may be the last of its block
  return (n_blocks(n - 1) + 1) * kBlockPositions;
}

bool KvCache::has_window_of(int64_t n) const noexcept {
  const auto begin = window_blocks_.begin() + std::min(first_window_block(n), n_blocks(n));
  return std::find(begin, window_blocks_.begin() + n_blocks(n), nullptr) == window_blocks_.begin() + n_blocks(n);
}

void KvCache::reserve(int64_t n) {
  if (n > shape_.max_positions) {
    fail(ErrorCode::kContextFull, "{} tokens do not fit the context of {}", n, shape_.max_positions);
  }
  give_back_unreachable();
  take_blocks(length_ / kBlockPositions, n);
}

void KvCache::commit_ahead() noexcept {
  const int64_t n = std::min(length_ + kBlockPositions, shape_.max_positions);
  try {
    reserve(n);
  } catch (const std::exception&) {
    return;  // whoever needs the positions is told
  }
  for (int64_t i = length_ / kBlockPositions; i < n_blocks(n); ++i) {
    commit_pages(block(i));
    commit_pages(window_block(i));
  }
}

// Blocks up to position n; of the windowed layers from block `first_window` on.
void KvCache::take_blocks(int64_t first_window, int64_t n) {
  for (auto i = static_cast<int64_t>(whole_blocks_.size()); i < n_blocks(n); ++i)
    whole_blocks_.push_back(whole_.take(purpose_of(i)));
  if (window_block_bytes() == 0) {
    window_blocks_.resize(whole_blocks_.size());
    return;
  }
  if (window_blocks_.size() < whole_blocks_.size()) window_blocks_.resize(whole_blocks_.size());
  for (int64_t i = first_window; i < n_blocks(n); ++i) {
    std::byte*& block = window_blocks_[static_cast<size_t>(i)];
    if (block == nullptr) block = windows_.take(purpose_of(i));
  }
}

void KvCache::give_back_windows(int64_t begin, int64_t end) noexcept {
  for (int64_t i = begin; i < end; ++i)
    windows_.give_back(std::exchange(window_blocks_[static_cast<size_t>(i)], nullptr));
}

// Windowed blocks before all windows: those of the next token and `margin` tokens before it, and those of the marks.
void KvCache::give_back_unreachable() noexcept {
  if (window_block_bytes() == 0) return;
  const auto is_reached = [this](int64_t block, int64_t n) {
    return block >= first_window_block(n) && block < n_blocks(n);
  };
  const int64_t end = first_window_block(std::max(int64_t{0}, length_ - shape_.margin));
  for (int64_t i = 0; i < std::min(end, static_cast<int64_t>(window_blocks_.size())); ++i) {
    if (window_blocks_[static_cast<size_t>(i)] == nullptr) continue;
    if (std::ranges::any_of(marks_, [&](int64_t mark) { return is_reached(i, mark); })) continue;
    give_back_windows(i, i + 1);
  }
}

int64_t KvCache::longest_beginning(int64_t n) const noexcept {
  if (n > length_) n = length_;
  if (has_window_of(n)) return n;
  const auto mark =
      std::find_if(marks_.rbegin(), marks_.rend(), [&](int64_t at) { return at <= n && has_window_of(at); });
  return mark == marks_.rend() ? 0 : *mark;
}

int64_t KvCache::cut(int64_t n) noexcept {
  length_ = longest_beginning(n);
  std::erase_if(marks_, [this](int64_t mark) { return mark > length_; });
  if (window_block_bytes() > 0) give_back_windows(n_blocks(length_), static_cast<int64_t>(window_blocks_.size()));
  return length_;
}

void KvCache::mark() {
  if (length_ == 0 || (!marks_.empty() && marks_.back() == length_)) return;
  marks_.push_back(length_);
  if (marks_.size() > kMostMarks) marks_.erase(marks_.begin());
}

void KvCache::prepare(int64_t n) {
  cut(0);
  reserve(0);
  take_blocks(first_window_block(n), n);
}

}  // namespace lockstep::exec
