// Tokens and stop texts: what is streamed, put together, is the text before the first stop, by a plain definition.
#include <algorithm>

#include "base/utf8.h"
#include "chat/text_stream.h"
#include "fuzz/fuzz_input.h"
#include "tokenizer/forged_vocab_test.h"

namespace lockstep::fuzz {
namespace {

using tokenizer::TokenId;
using tokenizer::Tokenizer;
using tokenizer::TokenType;

const Tokenizer& vocabulary() {
  static const Tokenizer tokenizer = [] {
    gguf::Metadata metadata = tokenizer::forge_spm({{"ab"},
                                                    {"abc"},
                                                    {"\xf0\x9f\x9a\x80"},
                                                    {"\xe2\x96\x81the"},
                                                    {"<|end|>", TokenType::kControl},
                                                    {"[U]", TokenType::kUserDefined}});
    metadata.add("tokenizer.ggml.eos_token_id", uint32_t{2});
    return Tokenizer::load(metadata);
  }();
  return tokenizer;
}

// The stop that ends first ends the text; of several that end together the longest.
std::string before_first_stop(const std::string& text, const std::vector<std::string>& stops) {
  for (size_t end = 0; end <= text.size(); ++end) {
    const std::string_view head = std::string_view(text).substr(0, end);
    size_t longest = 0;
    for (const std::string& stop : stops) {
      if (head.ends_with(stop)) longest = std::max(longest, stop.size());
    }
    if (longest > 0) return text.substr(0, end - longest);
  }
  return text;
}

std::string whole_text(const std::vector<TokenId>& ids) {
  std::vector<TokenId> shown;
  std::ranges::copy_if(ids, std::back_inserter(shown),
                       [](TokenId id) { return !vocabulary().is_end_of_generation(id); });
  return vocabulary().decode(shown, {.continues = true});
}

void check(const std::vector<TokenId>& ids, const std::vector<std::string>& stops) {
  chat::TextStream stream(vocabulary(), stops);
  std::string text;
  for (const TokenId id : ids) {
    const std::string part = stream.push(id);
    require(!utf8_is_valid(whole_text(ids)) || utf8_is_valid(part), "only whole characters go out");
    text += part;
  }
  text += stream.flush();
  require(text == chat::answer_text(vocabulary(), ids, stops), "streamed text is the whole text");
  require(text == before_first_stop(whole_text(ids), stops), "the text ends before the first stop");
}

}  // namespace
}  // namespace lockstep::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep;
  fuzz::FuzzInput input(data, std::min<size_t>(size, 2048));
  std::vector<std::string> stops;
  for (int64_t n = input.below(6); n > 0; --n) stops.push_back(input.short_text());
  std::vector<fuzz::TokenId> ids;
  while (!input.empty()) {
    // Bytes are themselves, except that some stand for the tokens after them.
    const auto byte = input.number<uint8_t>();
    const bool other = byte >= 0xf8;
    ids.push_back(other ? tokenizer::kFirstSpmExtra + (byte - 0xf8) % 6 : byte < 3 ? byte : byte + 3);
  }
  (void)fuzz::accepts([&] { fuzz::check(ids, stops); });
  return 0;
}
