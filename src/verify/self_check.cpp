#include "verify/self_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/cpu.h"
#include "engine/engine.h"
#include "verify/self_check_paths.h"

namespace lockstep::verify {
namespace {

using model::KernelTable;

constexpr std::array<int64_t, 4> kNeighbourCounts = {0, 1, 3, 7};

// Every set sees 1 to 4 threads, each cut and each number of neighbours.
std::vector<PathShape> quick_shapes(int64_t n_tokens) {
  return {{2, n_tokens, 0, false}, {3, 64, 1, false}, {1, 7, 3, true}, {4, n_tokens, 7, true}, {2, 1, 0, true}};
}

// Every number of threads with every cut; neighbours and prefix take turns, so that each of them meets each thread
// count.
std::vector<PathShape> full_shapes(int64_t n_tokens) {
  std::vector<PathShape> shapes = quick_shapes(n_tokens);
  size_t turn = 0;
  for (const int threads : {1, 2, 3, 4}) {
    for (const int64_t chunk : {n_tokens, int64_t{512}, int64_t{64}, int64_t{7}, int64_t{1}}) {
      for (const bool reused : {false, true}) {
        shapes.push_back({threads, chunk, kNeighbourCounts[turn % kNeighbourCounts.size()], reused});
        turn += reused ? 2 : 1;
      }
    }
  }
  return shapes;
}

// Both ways of a vector set to multiply must have been taken by one path or another, if there are tokens for it.
void require_both_ways(const model::Model& model, const KernelTable& table, int64_t n_tokens,
                       std::vector<CheckedPath>& paths) {
  const bool exact = model.compute == model::Compute::kExact;
  const quant::TensorType type = model.weights.layers.front().q.type;
  for (const int64_t n_rows : {int64_t{1}, model::kMostStreamed + 1}) {
    if (n_rows > n_tokens) continue;
    const std::string kernel = model::product_name(table, type, exact, model::product_way(table, type, exact, n_rows));
    const auto calls_it = [&](const CheckedPath& p) { return p.isa == table.isa && p.calls.contains(kernel); };
    if (std::ranges::any_of(paths, calls_it)) continue;
    paths.back().fault = fmt::format("{} was not called by any path", kernel);
  }
}

class SelfChecker {
 public:
  SelfChecker(const std::string& path, const SelfCheckOptions& options)
      : file_(gguf::ModelFile::open(path)), options_(options), tables_(options.tables) {
    if (tables_.empty()) tables_.assign(model::available_tables().begin(), model::available_tables().end());
    // Sets of one layout after another: the file is read once for each.
    std::stable_partition(tables_.begin(), tables_.end(), [](const KernelTable* table) { return table->packed; });
    n_vocab_ = static_cast<int64_t>(tokenizer::Tokenizer::load(file_.metadata()).n_tokens());
  }

  SelfCheckResult run() && {
    for (auto begin = tables_.begin(); begin != tables_.end();) {
      const auto end = std::find_if(begin, tables_.end(), [&](const auto* t) { return t->packed != (*begin)->packed; });
      model::Model model = load(**begin);
      if (tokens_.tokens.empty()) plan(model);
      for (; begin != end; ++begin) check_table(model, **begin);
    }
    result_.hash = result_.paths.back().hash;
    result_.equal = std::ranges::all_of(
        result_.paths, [this](const CheckedPath& path) { return path.fault.empty() && path.hash == result_.hash; });
    return std::move(result_);
  }

 private:
  model::Model load(const KernelTable& table) {
    exec::Team team(usable_cpus());
    report(table);
    model::ModelOptions options;
    options.compute = options_.compute;
    options.cache_type = options_.cache_type;
    options.table = &table;
    options.progress = [&](uint64_t, uint64_t) { report(table); };
    return model::load_model(file_, n_vocab_, options, team);
  }

  [[nodiscard]] std::vector<PathShape> shapes(const KernelTable& table) const {
    const auto first = std::ranges::find(tables_, table.packed, [](const KernelTable* t) { return t->packed; });
    return path_shapes(table, *first == &table, options_.full, tokens_.count());
  }

  void plan(const model::Model& model) {
    tokens_ = CheckedTokens::make(model.config, options_.full);
    for (const KernelTable* table : tables_) n_paths_ += shapes(*table).size();
  }

  // The raw set, not what the self-test at loading may have made of it: here its faults are to be seen.
  void check_table(model::Model& model, const KernelTable& table) {
    model::CountedTable counted(table);
    model.kernels = &counted.table();
    PathRunner runner(model, counted, tokens_);
    for (const PathShape& shape : shapes(table)) {
      report(table);
      result_.paths.push_back(runner.run(shape, kept_));
    }
    require_both_ways(model, table, tokens_.count(), result_.paths);
  }

  void report(const KernelTable& table) const {
    if (options_.progress) options_.progress({result_.paths.size(), n_paths_, table.isa});
  }

  gguf::ModelFile file_;
  const SelfCheckOptions& options_;
  std::vector<const KernelTable*> tables_;
  int64_t n_vocab_ = 0;
  size_t n_paths_ = 0;
  CheckedTokens tokens_;
  KeptPrefix kept_;
  SelfCheckResult result_;
};

}  // namespace

std::vector<PathShape> path_shapes(const KernelTable& table, bool first_of_layout, bool full, int64_t n_tokens) {
  if (table.packed) return full ? full_shapes(n_tokens) : quick_shapes(n_tokens);
  // The scalar sets are slow, and one source: the first takes the whole way, others go on from its prefix.
  std::vector<PathShape> shapes = {{3, 7, 1, true}, {2, n_tokens, 0, true}};
  if (first_of_layout || full) shapes.insert(shapes.begin(), {2, n_tokens, 0, false});
  return shapes;
}

SelfCheckResult self_check(const std::string& path, const SelfCheckOptions& options) {
  return SelfChecker(path, options).run();
}

}  // namespace lockstep::verify
