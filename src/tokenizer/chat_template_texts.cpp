#include "tokenizer/chat_template_texts.h"

namespace lockstep::tokenizer {
namespace {

constexpr std::string_view kKey = "tokenizer.chat_template";

}  // namespace

std::vector<ChatTemplateText> read_chat_templates(const gguf::Metadata& metadata) {
  std::vector<ChatTemplateText> templates;
  for (const gguf::Metadata::Entry& entry : metadata.entries()) {
    const std::string_view key = entry.key;
    if (!key.starts_with(kKey)) continue;
    const std::string_view rest = key.substr(kKey.size());
    // tokenizer.chat_templates lists the names, which the keys tell too.
    if (!rest.empty() && !rest.starts_with('.')) continue;
    const std::string name = rest.empty() ? "default" : std::string(rest.substr(1));
    templates.push_back({name, metadata.get_string(key)});
  }
  return templates;
}

}  // namespace lockstep::tokenizer
