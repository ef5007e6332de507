// Any bytes as a session file. With random bytes alone the checksum would refuse nearly everything, so by its first
// byte an input may also be changes to a good file, and may get a right checksum.
#include <xxhash.h>

#include <algorithm>
#include <memory>

#include "base/file.h"
#include "engine/session_file.h"
#include "forge/memory_file.h"
#include "forge/tiny_model.h"
#include "fuzz/fuzz_input.h"

namespace lockstep::fuzz {
namespace {

using engine::Engine;
using engine::Session;
using engine::TokenId;

constexpr size_t kDigestBytes = 16;

// A model of one small layer, and a session of three tokens saved from it.
class GoodSession {
 public:
  GoodSession() {
    const auto folder =
        std::filesystem::temp_directory_path() / ("lockstep-session-fuzz-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    forge::TinyShape shape;
    shape.n_layers = 1;
    shape.n_embd = 64;
    shape.n_heads = 2;
    shape.n_kv_heads = 1;
    shape.n_ff = 64;
    forge::TinyModel(shape).write(folder / "m.gguf");
    engine::EngineOptions options;
    options.threads = 1;
    options.ctx_size = 256;
    engine_ = Engine::load(folder / "m.gguf", options);
    Session session(*engine_);
    session.sync(tokens());
    engine::save_session(folder / "s", session, "{}");
    bytes_ = read_text_file(folder / "s");
    std::filesystem::remove_all(folder);
  }

  [[nodiscard]] Engine& engine() const { return *engine_; }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] static const std::vector<TokenId>& tokens() {
    static const std::vector<TokenId> tokens = {1, 70, 71};
    return tokens;
  }

 private:
  std::unique_ptr<Engine> engine_;
  std::string bytes_;
};

std::string changed(std::string bytes, FuzzInput& input) {
  while (!input.empty()) {
    const size_t at = input.number<uint16_t>() % bytes.size();
    const std::string change = input.short_text();
    bytes.replace(at, change.size(), change);
  }
  return bytes;
}

void set_checksum(std::string& bytes) {
  if (bytes.size() < kDigestBytes) return;
  const size_t n = bytes.size() - kDigestBytes;
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), n));
  std::memcpy(&bytes[n], canonical.digest, kDigestBytes);
}

void check(const GoodSession& good, const std::filesystem::path& path) {
  Session session(good.engine());
  session.sync(GoodSession::tokens());
  if (!accepts([&] { (void)engine::load_session(path, session); })) {
    require(std::ranges::equal(session.tokens(), GoodSession::tokens()), "a refused file leaves the session as it was");
  }
  for (const TokenId id : session.tokens())
    require(id >= 0 && id < good.engine().n_vocab(), "tokens are of the vocabulary");
  // Keys and values may be anything: the next token comes or is refused as not finite.
  (void)accepts([&] { session.append(1); });
}

}  // namespace
}  // namespace lockstep::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep;
  static const fuzz::GoodSession good;
  static forge::MemoryFile file;
  fuzz::FuzzInput input(data, size);
  const auto kind = input.number<uint8_t>();
  std::string bytes = (kind & 1u) != 0 ? fuzz::changed(good.bytes(), input) : input.rest();
  if ((kind & 2u) != 0) fuzz::set_checksum(bytes);
  file.set(bytes);
  fuzz::check(good, file.path());
  return 0;
}
