#include "engine/generate.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace lockstep::engine {
namespace {

double milliseconds(std::chrono::steady_clock::duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

// What may follow a prompt of n tokens.
int64_t most_tokens(const Engine& engine, int64_t n_prompt, int64_t n_predict) {
  if (n_predict < -1) fail(ErrorCode::kBadRequest, "n_predict {}: expected -1 (no limit) or more", n_predict);
  const int64_t room = engine.ctx_size() - n_prompt + 1;
  return n_predict < 0 ? room : std::min(n_predict, room);
}

// DRY stops at texts; the sampler wants them as token ids.
void add_dry_breakers(sampling::SamplingParams& params, const tokenizer::Tokenizer& tokenizer) {
  if (params.dry_multiplier == 0 || !params.dry_breakers.empty()) return;
  params.dry_breakers = sampling::DryBreakers::of_texts(
      params.dry_sequence_breakers, static_cast<int32_t>(tokenizer.n_tokens()),
      [&](TokenId id) { return tokenizer.piece(id); },
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
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
  }
  return "unknown";
}

Generation::Generation(Session& session, const Engine& engine, std::span<const TokenId> prompt,
                       const GenerateOptions& options, OnToken on_token)
    : session_(session),
      engine_(engine),
      on_token_(std::move(on_token)),
      logprobs_(options.logprobs),
      sampler_(make_sampler(engine, options, prompt)),
      most_(most_tokens(engine, static_cast<int64_t>(prompt.size()), options.n_predict)),
      start_(Clock::now()),
      decode_start_(start_) {
  result_.prompt = session.plan(prompt);
  // A long answer grows its lists; what is usual allocates nothing between two tokens.
  constexpr int64_t kUsualAnswer = int64_t{1} << 14;
  const auto n_reserved = static_cast<size_t>(std::min(kUsualAnswer, most_));
  result_.ids.reserve(n_reserved);
  sampler_.reserve(prompt.size() + n_reserved);
}

void Generation::choose() {
  const TokenId id = sampler_.sample(session_.logits(), session_.shortlist(), result_.ids.size());
  if (logprobs_ >= 0)
    result_.steps.push_back(sampling::step_logprobs(session_.logits(), id, static_cast<size_t>(logprobs_)));
  sampler_.accept(id);
  result_.ids.push_back(id);
  std::optional<FinishReason> end = on_token_ ? on_token_(id) : std::nullopt;
  if (engine_.tokenizer().is_end_of_generation(id)) end = FinishReason::kStop;
  if (!end) return;
  result_.finish = *end;
  done_ = true;
}

void Generation::advance() {
  if (result_.ids.empty()) {
    decode_start_ = Clock::now();
    result_.prompt_ms = milliseconds(decode_start_ - start_);
  }
  if (static_cast<int64_t>(result_.ids.size()) < most_) choose();
  done_ = done_ || static_cast<int64_t>(result_.ids.size()) >= most_;
  if (done_) {
    result_.decode_ms = milliseconds(Clock::now() - decode_start_);
  } else {
    session_.plan_one(result_.ids.back());
  }
}

Generated Generation::take_result() {
  return std::move(result_);
}

Generated generate(Session& session, const Engine& engine, std::span<const TokenId> prompt,
                   const GenerateOptions& options, const OnToken& on_token) {
  Generation generation(session, engine, prompt, options, on_token);
  while (!generation.done()) {
    session.compute_pending();
    generation.advance();
  }
  return generation.take_result();
}

}  // namespace lockstep::engine
