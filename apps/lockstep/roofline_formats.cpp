#include "roofline_formats.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/buffer.h"
#include "base/checked.h"
#include "kernels/packed.h"
#include "kernels/sample_rows.h"
#include "quant/format.h"
#include "team_timer.h"

namespace lockstep {
namespace {

using kernels::KernelTable;
using quant::TensorType;

constexpr int64_t kCols = 4096;
constexpr int64_t kGroupRows = kernels::kRowsPerGroup;
constexpr int kRounds = 3;
// A first look at this part of the rows says whether all of them may be waited for.
constexpr int64_t kFirstLook = 64;
constexpr double kPatience = 0.06;

// One row of activations in the forms that products read.
struct OneToken {
  std::vector<float> x = std::vector<float>(kCols);
  std::vector<int8_t> q = std::vector<int8_t>(kCols);
  std::vector<float> scale = std::vector<float>(kCols / kernels::kScaleGroup);
  std::vector<int32_t> sum = std::vector<int32_t>(kCols / kernels::kSumGroup);

  explicit OneToken(const KernelTable& table) {
    kernels::fill_sample_activations(1, x);
    (void)table.quantize(x.data(), kCols, q.data(), scale.data(), sum.data());
  }
  [[nodiscard]] kernels::Activations view() const {
    return {x.data(),
            kCols,
            q.data(),
            kCols,
            scale.data(),
            kCols / kernels::kScaleGroup,
            sum.data(),
            kCols / kernels::kSumGroup,
            1};
  }
};

// The memory filled with rows of a type: a few groups of 16 made up, then over and over.
kernels::WeightMatrix fill(std::span<std::byte> memory, TensorType type, bool packed) {
  const uint64_t row_bytes = quant::row_bytes(type, kCols);
  const uint64_t group_bytes = row_bytes * kGroupRows;
  constexpr uint64_t kDifferent = 4;
  const uint64_t n_groups = memory.size() / group_bytes;
  std::vector<std::byte> group(group_bytes);
  for (uint64_t i = 0; i < n_groups; ++i) {
    std::byte* to = memory.data() + i * group_bytes;
    if (i >= kDifferent) {
      std::memcpy(to, memory.data() + i % kDifferent * group_bytes, group_bytes);
      continue;
    }
    kernels::fill_sample_rows(type, i, group);
    if (packed) {
      kernels::pack_group(type, group.data(), kGroupRows, kCols, row_bytes, to);
    } else {
      std::memcpy(to, group.data(), group_bytes);
    }
  }
  return {memory.data(), row_bytes, static_cast<int64_t>(n_groups) * kGroupRows, kCols};
}

class FormatBench {
 public:
  FormatBench(const FormatPlan& plan, BandwidthProbe& probe) : probe_(probe) {
    const int most = (*std::ranges::max_element(plan.teams, {}, &exec::Team::size))->size();
    for (int i = 0; i < most; ++i)
      scratch_.emplace_back(kernels::linear_scratch_bytes(kCols, 1), "a product's scratch memory");
  }

  FormatRate measure(const KernelTable& table, TensorType type, const kernels::WeightMatrix& matrix, exec::Team& team) {
    out_.resize(static_cast<size_t>(matrix.n_rows));
    const OneToken token(table);
    const auto seconds_for = [&](int64_t n_rows) {
      return timed_run(team, [&](exec::Member& me) {
        const exec::Range mine = me.range(n_rows, kGroupRows);
        if (mine.begin == mine.end) return;
        table.fast[static_cast<int>(type)]({matrix, mine.begin, mine.end, token.view(), out_.data(), matrix.n_rows,
                                            false, scratch_[static_cast<size_t>(me.index())].data()});
      });
    };
    const int64_t first_rows = std::min(matrix.n_rows, round_up(matrix.n_rows / kFirstLook, kGroupRows));
    const double first_look = seconds_for(first_rows);
    const bool slow = first_look * kFirstLook > kPatience;
    const int64_t n_rows = slow ? first_rows : matrix.n_rows;
    double read_gbps = 0;
    double best = slow ? first_look : seconds_for(n_rows);
    for (int round = 0; round < (slow ? 1 : kRounds); ++round) {
      read_gbps = std::max(read_gbps, probe_.measure(team, 1));
      best = std::min(best, seconds_for(n_rows));
    }
    const double gbps = static_cast<double>(n_rows) * static_cast<double>(matrix.row_bytes) / best * 1e-9;
    return {type, table.isa, team.size(), gbps, static_cast<double>(n_rows * kCols) / best * 1e-9, gbps / read_gbps};
  }

 private:
  BandwidthProbe& probe_;
  std::vector<Buffer> scratch_;
  std::vector<float> out_;
};

}  // namespace

std::vector<FormatRate> measure_formats(const FormatPlan& plan, BandwidthProbe& probe,
                                        const std::function<void(size_t, size_t)>& progress) {
  FormatBench bench(plan, probe);
  std::vector<FormatRate> rates;
  const size_t total = plan.types.size() * plan.tables.size() * plan.teams.size();
  for (const TensorType type : plan.types) {
    std::optional<bool> layout;  // of what the memory holds
    kernels::WeightMatrix matrix = {};
    for (const KernelTable* table : plan.tables) {
      if (table->fast[static_cast<int>(type)] == nullptr) continue;
      if (layout != table->packed) matrix = fill(probe.memory(), type, table->packed);
      layout = table->packed;
      for (exec::Team* team : plan.teams) {
        progress(rates.size(), total);
        rates.push_back(bench.measure(*table, type, matrix, *team));
      }
    }
  }
  return rates;
}

}  // namespace lockstep
