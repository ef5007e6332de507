#include "engine/generate.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "base/error.h"
#include "sampling/sampler.h"

namespace lockstep::engine {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

// What may follow a prompt of n tokens.
int64_t most_tokens(const Engine& engine, int64_t n_prompt, int64_t n_predict) {
  const int64_t room = engine.ctx_size() - n_prompt + 1;
  return n_predict < 0 ? room : std::min(n_predict, room);
}

// DRY stops at texts; the sampler wants them as token ids.
void add_dry_breakers(sampling::SamplingParams& params, const tokenizer::Tokenizer& tokenizer) {
  if (params.dry_multiplier == 0 || !params.dry_breakers.empty()) return;
  params.dry_breakers = sampling::make_dry_breakers(
      params.dry_sequence_breakers, static_cast<int32_t>(tokenizer.n_tokens()), [&](TokenId id) { return std::string(tokenizer.piece(id)); },
      [&](const std::string& text) { return tokenizer.encode(text, {}); });
}

sampling::Sampler make_sampler(const Engine& engine, const GenerateOptions& options, std::span<const TokenId> prompt) {
  sampling::SamplingParams params = options.sampling;
  if (options.ignore_eos) {
    for (const TokenId id : engine.tokenizer().end_of_generation()) {
      params.logit_bias.push_back({id, -std::numeric_limits<float>::infinity()});
    }
  }
  add_dry_breakers(params, engine.tokenizer());
  sampling::Sampler sampler(std::move(params), static_cast<int32_t>(engine.n_vocab()));
  for (const TokenId id : prompt) sampler.accept(id);
  return sampler;
}

}  // namespace

std::string_view to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop: return "stop";
    case FinishReason::kLength: return "length";
    case FinishReason::kCancelled: return "cancelled";
  }
  return "unknown";
}

Generated generate(Session& session, const Engine& engine, std::span<const TokenId> prompt, const GenerateOptions& options, const OnToken& on_token) {
  if (options.n_predict < -1) fail(ErrorCode::kBadRequest, "n_predict {}: expected -1 (no limit) or more", options.n_predict);
  sampling::Sampler sampler = make_sampler(engine, options, prompt);
  Generated result;
  const Clock::time_point start = Clock::now();
  result.prompt = session.sync(prompt);
  result.prompt_ms = milliseconds_since(start);

  const Clock::time_point decode_start = Clock::now();
  const int64_t most = most_tokens(engine, static_cast<int64_t>(prompt.size()), options.n_predict);
  while (static_cast<int64_t>(result.ids.size()) < most) {
    if (!result.ids.empty()) session.append(result.ids.back());
    const TokenId id = sampler.sample(session.logits(), result.ids.size());
    if (options.logprobs >= 0) result.steps.push_back(sampling::step_logprobs(session.logits(), id, static_cast<size_t>(options.logprobs)));
    sampler.accept(id);
    result.ids.push_back(id);
    const bool wanted_more = !on_token || on_token(id);
    if (engine.tokenizer().is_end_of_generation(id)) {
      result.finish = FinishReason::kStop;
      break;
    }
    if (!wanted_more) {
      result.finish = FinishReason::kCancelled;
      break;
    }
  }
  result.decode_ms = milliseconds_since(decode_start);
  return result;
}

}  // namespace lockstep::engine
