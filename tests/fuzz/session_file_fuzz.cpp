// Any bytes as a session file, and changes of a good one.
#include <algorithm>

#include "base/file.h"
#include "engine/session_file.h"
#include "forge/memory_file.h"
#include "fuzz/changed_file.h"
#include "fuzz/fuzz_input.h"
#include "fuzz/small_engine.h"

namespace lockstep::fuzz {
namespace {

using engine::Engine;
using engine::Session;
using engine::TokenId;

// A session of three tokens.
class GoodSession {
 public:
  GoodSession() {
    Session session(engine());
    session.sync(tokens());
    engine::save_session(small_.folder() / "s", session, "{}");
    bytes_ = read_text_file(small_.folder() / "s");
  }

  [[nodiscard]] Engine& engine() const { return small_.engine(); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] static const std::vector<TokenId>& tokens() {
    static const std::vector<TokenId> tokens = {1, 70, 71};
    return tokens;
  }

 private:
  SmallEngine small_{"session"};
  std::string bytes_;
};

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
  file.set(fuzz::file_of({data, size}, good.bytes(), [](std::string& bytes) {
    if (bytes.size() >= fuzz::kDigestBytes) fuzz::set_checksum(bytes, 0, bytes.size() - fuzz::kDigestBytes);
  }));
  fuzz::check(good, file.path());
  return 0;
}
