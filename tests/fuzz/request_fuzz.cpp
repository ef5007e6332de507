// A line of JSON as the commands read it: completion requests, texts to tokenize, conversations, recorded answers.
#include <cmath>

#include "chat/message.h"
#include "fuzz/fuzz_input.h"
#include "logit_bias_option.h"
#include "recording.h"
#include "request.h"
#include "tokenizer/forged_vocab_test.h"

namespace lockstep::fuzz {
namespace {

using tokenizer::Tokenizer;

const Tokenizer& vocabulary() {
  static const Tokenizer tokenizer = Tokenizer::load(tokenizer::forge_bpe({}, {}));
  return tokenizer;
}

void check_request(std::string_view line) {
  const Request request = parse_request(line, {}, vocabulary(), 4096);
  const sampling::SamplingParams& sampling = request.settings.generate.sampling;
  require(std::isfinite(sampling.temp), "a temperature is finite");
  for (const tokenizer::TokenId id : request.prompt) require(id >= 0, "ids are not negative");
  require(request.settings.generate.n_predict >= -1, "a number of tokens, or -1");
}

void check_recording(std::string_view line) {
  const Recording recording = parse_recording(parse_json(line));
  require(std::isfinite(recording.options.sampling.temp), "a temperature is finite");
  (void)differences(recording.model, RecordedModel());
}

// What an answer says of a line that was refused is JSON itself.
void check_refusal(std::string_view line) {
  try {
    (void)parse_json(line);
  } catch (const Error& error) {
    (void)parse_json(dump_line(error_json(to_string(error.code()), error.what())));
  }
}

}  // namespace
}  // namespace lockstep::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep;
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  (void)fuzz::accepts([&] { fuzz::check_request(line); });
  (void)fuzz::accepts([&] { fuzz::check_recording(line); });
  (void)fuzz::accepts([&] { (void)text_request(line); });
  (void)fuzz::accepts([&] { (void)token_ids_of("ids", parse_json(line)); });
  (void)fuzz::accepts([&] { (void)logit_bias_of(parse_json(line)); });
  (void)fuzz::accepts([&] {
    const Json json = parse_json(line);
    fuzz::require(parse_json(dump_line(json)) == json, "what is written is read as the same");
    chat::check_conversation(json);
    for (const Json& message : json["messages"]) (void)chat::texts_of(message);
  });
  fuzz::check_refusal(line);
  return 0;
}
