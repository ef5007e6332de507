#include "verify/self_check_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/hash128.h"
#include "base/random.h"
#include "model/forward.h"
#include "model/workspace.h"

namespace lockstep::verify {
namespace {

constexpr int64_t kMostNeighbours = 7;

std::vector<int32_t> random_tokens(int64_t n, int64_t n_vocab, uint64_t seed) {
  std::vector<int32_t> tokens(static_cast<size_t>(n));
  for (size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<int32_t>(uniform_draw(seed, i) * static_cast<double>(n_vocab));
  return tokens;
}

// A sequence that travels along: a few tokens at first, then one a pass.
struct Neighbour {
  const std::vector<int32_t>& tokens;
  exec::KvCache cache;
  int64_t n_first;
};

// The passes of one path, with a team and working memory of its own.
class PassRun {
 public:
  PassRun(const model::Model& model, const CheckedTokens& tokens, const PathShape& shape)
      : model_(model),
        tokens_(tokens),
        team_(shape.threads),
        work_(model.config, shape.threads, tokens.count() + kMostNeighbours * kMostNeighbours,
              CheckedTokens::kWanted + kMostNeighbours, tokens.count()) {
    for (int64_t i = 0; i < shape.neighbours; ++i) {
      neighbours_.push_back({tokens.neighbours[static_cast<size_t>(i)],
                             exec::KvCache(model::cache_shape(model, tokens.count())), 1 + i % kMostNeighbours});
    }
  }

  // The next n of `tokens` into the cache; the logits of positions from `first_wanted` on are hashed.
  void advance(exec::KvCache& cache, std::span<const int32_t> tokens, int64_t n, int64_t first_wanted) {
    rows_.clear();
    const size_t n_before = neighbours_.size() / 2;
    for (size_t i = 0; i < n_before; ++i) add_neighbour(neighbours_[i]);
    const size_t n_other_logits = n_before;
    const int64_t begin = cache.length();
    cache.reserve(begin + n);
    int64_t n_wanted = 0;
    for (int64_t p = begin; p < begin + n; ++p) {
      rows_.push_back({tokens[static_cast<size_t>(p)], p, &cache, p >= first_wanted});
      n_wanted += p >= first_wanted ? 1 : 0;
    }
    for (size_t i = n_before; i < neighbours_.size(); ++i) add_neighbour(neighbours_[i]);
    const std::span<const float> logits = model::forward(model_, rows_, work_, team_);
    for (const model::BatchRow& row : rows_) row.cache->set_length(row.position + 1);
    row_counts_.insert(static_cast<int64_t>(rows_.size()));
    const auto n_vocab = static_cast<size_t>(model_.config.n_vocab);
    hash_.add_values(logits.subspan(n_other_logits * n_vocab, static_cast<size_t>(n_wanted) * n_vocab));
  }

  [[nodiscard]] std::string hash() const { return hexadecimal(hash_.digest()); }
  [[nodiscard]] const std::set<int64_t>& row_counts() const { return row_counts_; }

 private:
  // Its last row asks for logits in every pass.
  void add_neighbour(Neighbour& neighbour) {
    const int64_t begin = neighbour.cache.length();
    const int64_t n = std::min(begin == 0 ? neighbour.n_first : 1, tokens_.count() - begin);
    if (n < 1) {
      // At its end it begins anew: always as many rows of logits.
      neighbour.cache.cut(0);
      return add_neighbour(neighbour);
    }
    neighbour.cache.reserve(begin + n);
    for (int64_t p = begin; p < begin + n; ++p)
      rows_.push_back({neighbour.tokens[static_cast<size_t>(p)], p, &neighbour.cache, p + 1 == begin + n});
  }

  const model::Model& model_;
  const CheckedTokens& tokens_;
  exec::Team team_;
  model::Workspace work_;
  std::vector<Neighbour> neighbours_;
  std::vector<model::BatchRow> rows_;
  std::set<int64_t> row_counts_;
  RunningHash128 hash_;
};

// The prompt's rest in chunks, its end one by one.
void run_prompt(PassRun& run, exec::KvCache& cache, const CheckedTokens& tokens, int64_t chunk) {
  const int64_t n_prompt = std::max(cache.length(), tokens.count() - CheckedTokens::kOneByOne);
  while (cache.length() < n_prompt)
    run.advance(cache, tokens.tokens, std::min(chunk, n_prompt - cache.length()), tokens.first_wanted());
  while (cache.length() < tokens.count()) run.advance(cache, tokens.tokens, 1, tokens.first_wanted());
}

// Another answer after the kept prefix, so that what follows finds its leftovers in the cache.
void spoil(PassRun& run, exec::KvCache& cache, const CheckedTokens& tokens) {
  cache.cut(tokens.n_reused());
  if (tokens.other_end.empty()) return;
  std::vector<int32_t> other = tokens.tokens;
  std::ranges::copy(tokens.other_end, other.begin() + tokens.n_reused());
  run.advance(cache, other, tokens.count() - cache.length(), tokens.count());
  cache.cut(tokens.n_reused());
}

// The types of the matrices that every row of a batch passes through.
std::set<quant::TensorType> weight_types(const model::Model& model) {
  const model::LayerWeights& w = model.weights.layers.front();
  std::set<quant::TensorType> types = {w.q.type, w.k.type, w.v.type};
  if (model.config.n_layers > 1) types.insert(w.attn_output.type);
  if (model.config.n_layers > 1 && !model.config.has_experts()) types.insert({w.gate.type, w.up.type, w.down.type});
  return types;
}

}  // namespace

CheckedTokens CheckedTokens::make(const model::Config& config, bool full) {
  const int64_t n = std::clamp(config.context_length, kLeast, full ? kFull : kQuick);
  CheckedTokens made;
  made.tokens = random_tokens(n, config.n_vocab, 1);
  made.other_end = random_tokens(n - made.n_reused(), config.n_vocab, 2);
  for (uint64_t i = 0; i < kMostNeighbours; ++i) made.neighbours.push_back(random_tokens(n, config.n_vocab, 3 + i));
  return made;
}

CheckedPath PathRunner::run(const PathShape& shape, KeptPrefix& kept) {
  const std::string isa = counted_.table().isa;
  CheckedPath path = {isa, shape, "cold", {}, "", ""};
  static_cast<void>(counted_.take());
  PassRun run(model_, tokens_, shape);
  try {
    if (shape.reused && kept.cache) {
      path.prefix = kept.isa == isa ? "reused" : "reused from " + kept.isa;
      PassRun before(model_, tokens_, {shape.threads, 0, 0, false});
      spoil(before, *kept.cache, tokens_);
    } else {
      kept = {std::make_unique<exec::KvCache>(model::cache_shape(model_, tokens_.count())), isa};
    }
    run_prompt(run, *kept.cache, tokens_, shape.chunk);
    path.hash = run.hash();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFinite) throw;
    path.fault = error.what();
    kept = {};  // nobody knows how far it is filled
  }
  path.calls = counted_.take();
  const bool exact = model_.compute == model::Compute::kExact;
  std::set<std::string> wanted = {model::attention_name(model_.cache_type)};
  for (const quant::TensorType type : weight_types(model_)) {
    for (const int64_t n : run.row_counts())
      wanted.insert(
          model::product_name(counted_.table(), type, exact, model::product_way(counted_.table(), type, exact, n)));
  }
  for (const std::string& kernel : wanted) {
    if (path.fault.empty() && !path.calls.contains(kernel)) path.fault = fmt::format("{} was not called", kernel);
  }
  return path;
}

}  // namespace lockstep::verify
