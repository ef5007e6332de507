// A chat template and messages, both from the input. Whatever a template does ends in a text or an error; and with
// templates that are known, no text of a message becomes a control token.
#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "chat/conversation.h"
#include "chat/prompt_builder.h"
#include "fuzz/fuzz_input.h"
#include "tokenizer/forged_vocab_test.h"

namespace lockstep::fuzz {
namespace {

using chat::Json;
using tokenizer::TokenId;
using tokenizer::Tokenizer;

constexpr std::string_view kNow = "2026-01-02T03:04:05";
constexpr std::array<const char*, 3> kKnownTemplates = {
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}",
    "{{ bos_token }}{% for m in messages %}[INST] {{ m.content | trim }} [/INST]{% endfor %}",
    "{% for m in messages %}<|im_start|>{{ m.content | upper | replace('X', '|') }}<|im_end|>{% endfor %}"};

const Tokenizer& vocabulary() {
  static const Tokenizer tokenizer = [] {
    std::vector<tokenizer::ForgedToken> control;
    for (const char* name : {"<bos>", "<|im_start|>", "<|im_end|>", "[INST]", "[/INST]", "<|>"})
      control.push_back({name, tokenizer::TokenType::kControl});
    gguf::Metadata metadata = tokenizer::forge_bpe(control, {});
    metadata.add("tokenizer.ggml.bos_token_id", uint32_t{tokenizer::kFirstBpeExtra});
    metadata.add("tokenizer.ggml.eos_token_id", uint32_t{tokenizer::kFirstBpeExtra + 2});
    return Tokenizer::load(metadata);
  }();
  return tokenizer;
}

Json conversation_of(FuzzInput& input) {
  constexpr std::array<const char*, 4> kRoles = {"user", "assistant", "system", "tool"};
  Json messages = Json::array();
  for (int64_t n = 1 + input.below(4); n > 0; --n)
    messages.push_back(
        {{"role", kRoles[static_cast<size_t>(input.below(4))]}, {"content", utf8_sanitize(input.text())}});
  return {{"messages", messages}, {"add_generation_prompt", input.flag()}};
}

int64_t count_control(const std::vector<TokenId>& ids) {
  return std::ranges::count_if(ids, [](TokenId id) { return vocabulary().is_control(id); });
}

void check_known_template(FuzzInput& input) {
  const char* source = kKnownTemplates[static_cast<size_t>(input.below(kKnownTemplates.size()))];
  const chat::PromptBuilder builder(vocabulary(), chat::ChatTemplate(source));
  const Json conversation = conversation_of(input);
  Json plain = conversation;
  for (Json& message : plain["messages"]) message["content"] = "a";
  (void)accepts([&] {
    const chat::Prompt prompt = builder.build(conversation, kNow);
    require(count_control(prompt.ids) == count_control(builder.build(plain, kNow).ids),
            "no text of a message becomes a control token");
  });
}

void check_any_template(FuzzInput& input) {
  const std::string source = input.text();
  const Json conversation = conversation_of(input);
  (void)accepts([&] {
    const chat::ChatTemplate any(source);
    require(utf8_is_valid(any.render(chat::json_line(conversation), kNow)), "a rendering is UTF-8");
    (void)chat::PromptBuilder(vocabulary(), any).build(conversation, kNow);
  });
}

// Variables as they come: JSON or not.
void check_any_variables(FuzzInput& input) {
  const std::string source = input.text();
  const std::string variables = input.rest();
  (void)accepts([&] { (void)chat::ChatTemplate(source).render(variables, kNow); });
  (void)accepts([&] {
    const Json json = Json::parse(variables, nullptr, false);
    if (json.is_discarded()) return;
    (void)accepts([&] { chat::check_conversation(json); });
    (void)chat::Conversation::restored(json).prompt_input();
  });
}

}  // namespace
}  // namespace lockstep::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep;
  fuzz::FuzzInput input(data, size);
  switch (input.below(3)) {
    case 0:
      fuzz::check_known_template(input);
      break;
    case 1:
      fuzz::check_any_template(input);
      break;
    default:
      fuzz::check_any_variables(input);
  }
  return 0;
}
