#include "answer.h"

#include <fmt/format.h>

#include <limits>

#include "chat/text_stream.h"

namespace lockstep {
namespace {

using engine::Generated;
using tokenizer::TokenId;

double per_second(int64_t count, double milliseconds) {
  if (count <= 0) return 0;
  return milliseconds > 0 ? static_cast<double>(count) * 1000 / milliseconds : std::numeric_limits<double>::infinity();
}

double prompt_speed(const Generated& generated) {
  return per_second(generated.prompt.computed, generated.prompt_ms);
}

double decode_speed(const Generated& generated) {
  return per_second(static_cast<int64_t>(generated.ids.size()) - 1, generated.decode_ms);
}

Json steps_json(const Generated& generated) {
  Json steps = Json::array();
  for (const sampling::StepLogprobs& step : generated.steps) {
    Json top = Json::array();
    for (const sampling::TokenLogprob& entry : step.top) top.push_back({entry.id, entry.logprob});
    steps.push_back({{"id", step.chosen.id}, {"logprob", step.chosen.logprob}, {"top", std::move(top)}});
  }
  return steps;
}

}  // namespace

Json answer_json(const Generated& generated, std::span<const TokenId> prompt, const tokenizer::Tokenizer& tokenizer,
                 double load_ms, const std::vector<std::string>& stop) {
  Json answer = {{"prompt_ids", Json(std::vector<TokenId>(prompt.begin(), prompt.end()))}, {"ids", generated.ids}};
  set_text(answer, "text", chat::answer_text(tokenizer, generated.ids, stop));
  answer["finish"] = to_string(generated.finish);
  answer["n_prompt"] = prompt.size();
  answer["n_generated"] = generated.ids.size();
  answer["timings"] = {{"load_ms", load_ms},
                       {"prompt_ms", generated.prompt_ms},
                       {"prompt_tps", prompt_speed(generated)},
                       {"decode_ms", generated.decode_ms},
                       {"decode_tps", decode_speed(generated)}};
  if (!generated.steps.empty()) answer["steps"] = steps_json(generated);
  return answer;
}

std::string statistics_line(const Generated& generated, size_t n_prompt) {
  const std::string reused =
      generated.prompt.reused > 0 ? fmt::format(" ({} reused)", generated.prompt.reused) : std::string();
  return fmt::format("prompt {} tokens{}, {:.1f} tokens/s; generated {} tokens, {:.1f} tokens/s; finish: {}", n_prompt,
                     reused, prompt_speed(generated), generated.ids.size(), decode_speed(generated),
                     to_string(generated.finish));
}

}  // namespace lockstep
