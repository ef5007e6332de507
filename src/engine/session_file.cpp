#include "engine/session_file.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/checked.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash128.h"
#include "base/new_file.h"

namespace lockstep::engine {
namespace {

// Counts up when the layout changes, and when a change to the arithmetic alters keys or values.
constexpr uint32_t kVersion = 1;
constexpr std::array<char, 8> kMagic = {'L', 'O', 'C', 'K', 'S', 'E', 'S', 'S'};

struct Header {
  std::array<char, 8> magic;
  uint32_t version;
  std::array<char, 10> compute;  // names, filled up with zeros
  std::array<char, 10> kv_type;
  std::array<char, 32> model;  // its tree hash, hexadecimal
  uint64_t rotation;           // rotation_of()
  int64_t n_layers;
  int64_t n_kv_heads;
  int64_t chunk_bytes;
  uint64_t n_tokens;
  uint64_t text_bytes;
};
static_assert(sizeof(Header) == 112 && std::is_trivially_copyable_v<Header>);

template <size_t N>
void set_name(std::array<char, N>& field, std::string_view name) {
  std::copy_n(name.begin(), std::min(N, name.size()), field.begin());
}

template <size_t N>
std::string name_of(const std::array<char, N>& field) {
  const std::string_view text(field.data(), N);
  return printable(text.substr(0, text.find('\0')));
}

// Some files have several sets of rotation factors, of which the context size chooses one. The angles of position 1
// tell them apart.
uint64_t rotation_of(const model::Model& model) {
  std::vector<float> angles(static_cast<size_t>(model.config.rope.n_rot));
  model.rope.fill(1, angles.data());
  return XXH3_64bits(angles.data(), angles.size() * sizeof(float));
}

// The header of a session as it is now.
Header header_of(const Session& session, uint64_t text_bytes) {
  const model::Model& model = session.engine().model();
  const exec::KvCache::Shape& shape = session.cache().shape();
  Header header = {};
  header.magic = kMagic;
  header.version = kVersion;
  set_name(header.compute, to_string(model.compute));
  set_name(header.kv_type, cache_type_name(model));
  set_name(header.model, model.weights.tree_hash);
  header.rotation = rotation_of(model);
  header.n_layers = shape.n_layers;
  header.n_kv_heads = shape.n_kv_heads;
  header.chunk_bytes = shape.chunk_bytes;
  header.n_tokens = session.tokens().size();
  header.text_bytes = text_bytes;
  return header;
}

// A file that is read in order, hashed on the way.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : file_(File::open_for_reading(path)) {}

  void read(std::span<std::byte> out) {
    file_.read_at(at_, out);
    hasher_.add(out);
    at_ += out.size();
  }
  [[nodiscard]] Hash128 digest() const { return hasher_.digest(); }
  [[nodiscard]] uint64_t size() const { return file_.size(); }
  [[nodiscard]] std::string name() const { return printable(file_.path().native(), 200); }

 private:
  File file_;
  uint64_t at_ = 0;
  RunningHash128 hasher_;
};

// Holds what the file says against the session that is to take it.
void check(const Header& file, const Header& ours, const std::string& name) {
  if (file.magic != kMagic) fail(ErrorCode::kBadFile, "{}: not a session file", name);
  if (file.version != kVersion)
    fail(ErrorCode::kUnsupported, "{}: session file of version {}, expected {}", name, file.version, kVersion);
  if (file.model != ours.model) {
    fail(ErrorCode::kUnsupported, "{}: saved with another model (hash {}, this one has {})", name, name_of(file.model),
         name_of(ours.model));
  }
  if (file.kv_type != ours.kv_type) {
    fail(ErrorCode::kUnsupported, "{}: saved with kv-type {}, this session has {}", name, name_of(file.kv_type),
         name_of(ours.kv_type));
  }
  if (file.compute != ours.compute) {
    fail(ErrorCode::kUnsupported, "{}: saved with compute {}, this session has {}", name, name_of(file.compute),
         name_of(ours.compute));
  }
  if (file.rotation != ours.rotation) {
    fail(ErrorCode::kUnsupported,
         "{}: saved with another of the model's sets of rotation factors: give the context size of then", name);
  }
  const bool same_shape =
      file.n_layers == ours.n_layers && file.n_kv_heads == ours.n_kv_heads && file.chunk_bytes == ours.chunk_bytes;
  if (!same_shape) fail(ErrorCode::kBadFile, "{}: the header contradicts the model that it names", name);
}

// Bytes of the keys and values of n tokens, as they are kept. Nothing where that overflows.
std::optional<uint64_t> cache_bytes(const exec::KvCache& cache, int64_t n) {
  const int64_t n_blocks = exec::KvCache::n_blocks(n);
  const auto whole = checked_mul(static_cast<uint64_t>(n_blocks), cache.block_bytes());
  const auto windows =
      checked_mul(static_cast<uint64_t>(n_blocks - cache.first_window_block(n)), cache.window_block_bytes());
  return whole && windows ? checked_add(*whole, *windows) : std::nullopt;
}

// The same bytes, in the order of the file.
std::vector<std::span<std::byte>> cache_runs(const exec::KvCache& cache, int64_t n) {
  std::vector<std::span<std::byte>> runs;
  for (int64_t i = 0; i < exec::KvCache::n_blocks(n); ++i) runs.push_back(cache.block(i));
  if (cache.window_block_bytes() == 0) return runs;
  for (int64_t i = cache.first_window_block(n); i < exec::KvCache::n_blocks(n); ++i)
    runs.push_back(cache.window_block(i));
  return runs;
}

// Exactly as many bytes as the header announces; so what is read next is no larger than the file.
void check_size(const Header& header, const exec::KvCache& cache, uint64_t file_bytes, const std::string& name) {
  const auto token_bytes = checked_mul(header.n_tokens, sizeof(TokenId));
  const auto kept_bytes = cache_bytes(cache, static_cast<int64_t>(std::min(header.n_tokens, file_bytes)));
  std::optional<uint64_t> total = sizeof(Header) + sizeof(Hash128);
  for (const std::optional<uint64_t>& part : {token_bytes, kept_bytes, std::optional(header.text_bytes)})
    total = total && part ? checked_add(*total, *part) : std::nullopt;
  if (total != file_bytes) {
    fail(ErrorCode::kBadFile, "{}: damaged: {} bytes, the header announces {}", name, file_bytes,
         total ? std::to_string(*total) : "more than there can be");
  }
}

Header read_header(Reader& reader, const Session& session) {
  Header header = {};
  if (reader.size() < sizeof(Header) + sizeof(Hash128)) {
    fail(ErrorCode::kBadFile, "{}: not a session file: {} bytes, fewer than a header has", reader.name(),
         reader.size());
  }
  reader.read(std::as_writable_bytes(std::span(&header, 1)));
  check(header, header_of(session, 0), reader.name());
  check_size(header, session.cache(), reader.size(), reader.name());
  return header;
}

void check_ids(const std::vector<TokenId>& ids, int64_t n_vocab, const std::string& name) {
  for (const TokenId id : ids) {
    if (id < 0 || id >= n_vocab) fail(ErrorCode::kBadFile, "{}: token id {}: expected 0 to {}", name, id, n_vocab - 1);
  }
}

// How many of the file's tokens this session can take. Of a timeline that is longer than its context the beginning is
// as good, unless windowed layers have forgotten it.
int64_t n_taken(const Header& header, const Session& session) {
  const auto n_tokens = static_cast<int64_t>(header.n_tokens);
  if (n_tokens <= session.engine().ctx_size()) return n_tokens;
  return session.cache().window_block_bytes() == 0 ? session.engine().ctx_size() : 0;
}

// All keys and values of the file, for its checksum; the first n_kept tokens' into the cache.
void read_cache(Reader& reader, const Header& header, int64_t n_kept, exec::KvCache& cache) {
  uint64_t left = cache_bytes(cache, static_cast<int64_t>(header.n_tokens)).value();
  for (const std::span<std::byte> run : cache_runs(cache, n_kept)) {
    reader.read(run);
    left -= run.size();
  }
  std::vector<std::byte> passed_over;
  for (; left > 0; left -= passed_over.size()) {
    passed_over.resize(std::min(left, uint64_t{1} << 20));
    reader.read(passed_over);
  }
}

// Conversations are nobody else's business.
NewFile new_session_file(const std::filesystem::path& path) {
  return NewFile(path, NewFileMode::kPrivate, {kMagic.data(), kMagic.size()});
}

}  // namespace

void check_session_place(const std::filesystem::path& path) {
  const NewFile given_up = new_session_file(path);
}

void save_session(const std::filesystem::path& path, const Session& session, std::string_view text) {
  NewFile file = new_session_file(path);
  RunningHash128 hasher;
  const auto write = [&](std::span<const std::byte> bytes) {
    hasher.add(bytes);
    file.write(bytes);
  };
  const Header header = header_of(session, text.size());
  write(std::as_bytes(std::span(&header, 1)));
  write(std::as_bytes(std::span(text)));
  write(std::as_bytes(session.tokens()));
  for (const std::span<std::byte> run : cache_runs(session.cache(), static_cast<int64_t>(header.n_tokens))) write(run);
  file.write(hasher.digest());
  file.commit();
}

std::string load_session(const std::filesystem::path& path, Session& session) {
  Reader reader(path);
  const Header header = read_header(reader, session);
  std::string text(header.text_bytes, '\0');
  reader.read(std::as_writable_bytes(std::span(text)));
  std::vector<TokenId> tokens(header.n_tokens);
  reader.read(std::as_writable_bytes(std::span(tokens)));
  const int64_t n_kept = n_taken(header, session);
  exec::KvCache cache(session.cache().shape());
  cache.prepare(n_kept);
  read_cache(reader, header, n_kept, cache);
  const Hash128 computed = reader.digest();
  Hash128 stored;
  reader.read(stored);
  if (stored != computed) fail(ErrorCode::kBadFile, "{}: damaged: the checksum differs", reader.name());
  check_ids(tokens, session.engine().n_vocab(), reader.name());
  tokens.resize(static_cast<size_t>(n_kept));
  cache.set_length(n_kept);
  session.restore(std::move(tokens), std::move(cache));
  return text;
}

}  // namespace lockstep::engine
