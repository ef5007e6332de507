#include "verify/base_file.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/checked.h"
#include "base/error.h"

namespace lockstep::verify {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they are in memory");

constexpr std::string_view kMagic = "lockbase";
constexpr uint32_t kVersion = 1;
constexpr uint64_t kDigestBytes = sizeof(Hash128);

std::string shown(const std::filesystem::path& path) {
  return printable(path.native(), 200);
}

template <size_t n>
void put_text(char (&field)[n], std::string_view text) {
  std::copy_n(text.begin(), std::min(n, text.size()), field);
}

template <size_t n>
std::string_view text_of(const char (&field)[n]) {
  return {field, n};
}

BaseHeader header_of(const engine::Engine& engine, const TextWindows& windows) {
  BaseHeader header = {};
  put_text(header.magic, kMagic);
  header.version = kVersion;
  header.n_vocab = static_cast<uint32_t>(engine.n_vocab());
  header.window_size = static_cast<uint32_t>(windows.size);
  header.n_windows = static_cast<uint32_t>(windows.count());
  header.compute = static_cast<uint32_t>(engine.model().compute);
  header.cache_type = static_cast<uint32_t>(engine.model().cache_type);
  put_text(header.tree_hash, engine.model().weights.tree_hash);
  put_text(header.identity, model_identity(engine));
  return header;
}

uint64_t window_bytes(const engine::Engine& engine, const TextWindows& windows) {
  return static_cast<uint64_t>(windows.n_scored() * engine.n_vocab()) * sizeof(float);
}

void add_number(RunningHash128& hash, int64_t value) {
  hash.add_values(std::span<const int64_t>(&value, 1));
}

void add_text(RunningHash128& hash, std::string_view text) {
  add_number(hash, static_cast<int64_t>(text.size()));
  hash.add_values(std::span(text));
}

}  // namespace

std::string model_identity(const engine::Engine& engine) {
  const model::Config& c = engine.model().config;
  RunningHash128 hash;
  add_text(hash, c.family->name);
  for (const int64_t size : {c.n_layers, c.n_embd, c.n_heads, c.n_kv_heads, c.head_dim, c.n_ff, c.n_vocab})
    add_number(hash, size);
  for (int64_t id = 0; id < c.n_vocab; ++id) add_text(hash, engine.tokenizer().piece(static_cast<TokenId>(id)));
  return hexadecimal(hash.digest());
}

BaseWriter::BaseWriter(const std::filesystem::path& path, const engine::Engine& engine, const TextWindows& windows)
    : file_(path, NewFileMode::kByUmask, kMagic),
      window_bytes_(window_bytes(engine, windows)),
      left_in_window_(window_bytes_) {
  const BaseHeader header = header_of(engine, windows);
  const auto head = std::as_bytes(std::span(&header, 1));
  const auto tokens = std::as_bytes(std::span(windows.tokens));
  hash_.add(head);
  hash_.add(tokens);
  file_.write(head);
  file_.write(tokens);
  const Hash128 digest = hash_.digest();
  file_.write(std::as_bytes(std::span(digest)));
  hash_.reset();
}

void BaseWriter::write(std::span<const float> rows) {
  const auto bytes = std::as_bytes(rows);
  file_.write(bytes);
  hash_.add(bytes);
  left_in_window_ -= bytes.size();
  if (left_in_window_ > 0) return;
  const Hash128 digest = hash_.digest();
  file_.write(std::as_bytes(std::span(digest)));
  hash_.reset();
  left_in_window_ = window_bytes_;
}

BaseReader::BaseReader(const std::filesystem::path& path, const engine::Engine& engine, const TextWindows& windows)
    : file_(File::open_for_reading(path)), header_() {
  const auto head = std::as_writable_bytes(std::span(&header_, 1));
  if (file_.size() < head.size() + kDigestBytes) {
    fail(ErrorCode::kBadFile, "{}: {} bytes are too few for a base of perplexity", shown(path), file_.size());
  }
  file_.read_at(0, head);
  check_header(engine, windows);
  window_bytes_ = left_in_window_ = window_bytes(engine, windows);
  check_size(windows);
  check_tokens(windows);
}

void BaseReader::check_header(const engine::Engine& engine, const TextWindows& windows) const {
  const std::string name = shown(file_.path());
  if (text_of(header_.magic) != kMagic)
    fail(ErrorCode::kBadFile, "{}: not a base that perplexity --save-base wrote", name);
  if (header_.version != kVersion)
    fail(ErrorCode::kBadFile, "{}: version {} of a base, expected {}", name, header_.version, kVersion);
  const std::string identity = model_identity(engine);
  if (text_of(header_.identity) != identity || header_.n_vocab != engine.n_vocab()) {
    fail(ErrorCode::kBadRequest, "{}: the base is of another model: identity {}, expected {}", name,
         printable(text_of(header_.identity)), identity);
  }
  if (header_.window_size != windows.size) {
    fail(ErrorCode::kBadRequest, "{}: the base has windows of {} tokens, expected {} (-c)", name, header_.window_size,
         windows.size);
  }
  if (header_.n_windows < windows.count()) {
    fail(ErrorCode::kBadRequest, "{}: the base has {} windows, expected at least {} (--chunks)", name,
         header_.n_windows, windows.count());
  }
}

// Every number in the header is 32 bits and the vocabulary is ours, yet their products need not fit.
void BaseReader::check_size(const TextWindows& windows) const {
  const uint64_t n_tokens = uint64_t{header_.n_windows} * static_cast<uint64_t>(windows.size);
  const auto all_windows = checked_mul(header_.n_windows, window_bytes_ + kDigestBytes);
  const auto head = checked_mul(n_tokens, sizeof(TokenId));
  const auto total =
      head && all_windows ? checked_add(*head + sizeof(BaseHeader) + kDigestBytes, *all_windows) : std::nullopt;
  if (total == file_.size()) return;
  fail(ErrorCode::kBadFile, "{}: {} bytes, expected {} of a base of {} windows: it was cut off or changed",
       shown(file_.path()), file_.size(), total.value_or(0), header_.n_windows);
}

void BaseReader::check_tokens(const TextWindows& windows) {
  std::vector<TokenId> tokens(static_cast<size_t>(header_.n_windows) * static_cast<size_t>(windows.size));
  const auto bytes = std::as_writable_bytes(std::span(tokens));
  file_.read_at(sizeof(BaseHeader), bytes);
  hash_.add(std::as_bytes(std::span(&header_, 1)));
  hash_.add(bytes);
  offset_ = sizeof(BaseHeader) + bytes.size();
  Hash128 digest;
  file_.read_at(offset_, std::as_writable_bytes(std::span(digest)));
  if (digest != hash_.digest()) fail(ErrorCode::kBadFile, "{}: the base's tokens were changed", shown(file_.path()));
  hash_.reset();
  offset_ += kDigestBytes;
  const auto differing = std::ranges::mismatch(windows.tokens, tokens).in1 - windows.tokens.begin();
  if (differing == static_cast<int64_t>(windows.tokens.size())) return;
  fail(ErrorCode::kBadRequest, "{}: the base is of another text: token {} is {}, expected {}", shown(file_.path()),
       differing, tokens[static_cast<size_t>(differing)], windows.tokens[static_cast<size_t>(differing)]);
}

std::span<const float> BaseReader::next(int64_t n) {
  rows_.resize(static_cast<size_t>(n) * header_.n_vocab);
  const auto bytes = std::as_writable_bytes(std::span(rows_));
  file_.read_at(offset_, bytes);
  hash_.add(bytes);
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (std::isfinite(rows_[i])) continue;
    fail(ErrorCode::kNotFinite, "{}: the logit at byte {} is not a finite number", shown(file_.path()),
         offset_ + i * sizeof(float));
  }
  offset_ += bytes.size();
  left_in_window_ -= bytes.size();
  if (left_in_window_ > 0) return rows_;
  Hash128 digest;
  file_.read_at(offset_, std::as_writable_bytes(std::span(digest)));
  if (digest != hash_.digest()) {
    fail(ErrorCode::kBadFile, "{}: the window that ends at byte {} was changed", shown(file_.path()), offset_);
  }
  hash_.reset();
  offset_ += kDigestBytes;
  left_in_window_ = window_bytes_;
  return rows_;
}

}  // namespace lockstep::verify
