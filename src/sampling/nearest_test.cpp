// Selection without sorting, held against full sorts.
#include "sampling/nearest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "sampling/indices_where.h"

namespace lockstep::sampling {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kMost = std::numeric_limits<float>::max();

// n logits over a range, in steps, so that many are equal; every 50th impossible. The first are where given.
std::vector<float> made_up_logits(size_t n, float range, float step, const std::vector<float>& first) {
  std::vector<float> logits(n);
  for (size_t i = 0; i < n; ++i) {
    const auto u = static_cast<float>(uniform_draw(n, i));
    logits[i] = i % 50 == 49 ? -kInf : std::round(u * u * range / step) * step;
  }
  std::copy_n(first.begin(), std::min(first.size(), n), logits.begin());
  return logits;
}

// Flat, steep, all equal, and with numbers that leave the range of float when subtracted.
std::vector<std::vector<float>> lists() {
  std::vector<std::vector<float>> result;
  for (const size_t n : {1u, 2u, 31u, 32u, 33u, 700u, 5000u}) {
    result.push_back(made_up_logits(n, 1.0f, 0.001f, {}));
    result.push_back(made_up_logits(n, 30.0f, 0.125f, {-0.0f, 0.0f}));
    result.push_back(made_up_logits(n, 12.0f, 1e-6f, {}));
    result.push_back(made_up_logits(n, 0.0f, 1.0f, {}));
    result.push_back(made_up_logits(n, 1e-40f, 1e-45f, {}));
    result.push_back(made_up_logits(n, 20.0f, 0.5f, {-kMost, kMost}));
    result.push_back(made_up_logits(n, 20.0f, 0.5f, {40.0f, 39.0f, 38.5f, 38.5f}));
  }
  return result;
}

std::vector<size_t> sorted_indices(const Candidates& list, const Distance& distance) {
  std::vector<size_t> order(list.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return distance(a) != distance(b) ? distance(a) < distance(b) : ranks_before(list[a], list[b]);
  });
  return order;
}

// How many entries of the order reach the target.
size_t count_reaching(const std::vector<size_t>& order, const Weights& weights, uint64_t target) {
  size_t count = 0;
  for (uint64_t sum = 0; sum < target; ++count) sum += weights.of[order[count]];
  return count;
}

TEST(NearestReaching, EqualsAFullSort) {
  for (const std::vector<float>& logits : lists()) {
    Candidates list;
    assign_all(list, logits);
    const Weights weights = weigh(list);
    for (const float center : {0.0f, 0.7f, 3.0f, 11.0f}) {
      const Distance distance = {list.logits.data(), weights.best, center};
      const std::vector<size_t> order = sorted_indices(list, distance);
      for (const double u : {0.0, 1e-9, 0.1, 0.5, 0.9, 0.999, 0.9999999, 1.0}) {
        const uint64_t target = weights.exceeding(u);
        const size_t count = count_reaching(order, weights, target);
        ASSERT_EQ(nearest_reaching(list, weights, target, distance), order[count - 1])
            << logits.size() << ' ' << logits[0] << ' ' << center << ' ' << u;
      }
    }
  }
}

TEST(KeepReaching, EqualsAFullSort) {
  for (const std::vector<float>& logits : lists()) {
    for (const float center : {0.0f, 2.0f}) {
      for (const double p : {0.0, 0.3, 0.95, 0.9999}) {
        for (const size_t min_keep : {size_t{0}, size_t{40}, logits.size()}) {
          Candidates list;
          assign_all(list, logits);
          const Weights weights = weigh(list);
          const Distance distance = {list.logits.data(), weights.best, center};
          std::vector<size_t> order = sorted_indices(list, distance);
          const size_t count = count_reaching(order, weights, weights.reaching(p));
          order.resize(std::min(std::max(count, min_keep), order.size()));
          std::sort(order.begin(), order.end());
          std::vector<Candidate> expected;
          for (const size_t i : order) expected.push_back(list[i]);
          keep_reaching(list, weights, weights.reaching(p), distance, min_keep);
          ASSERT_EQ(list.size(), expected.size()) << logits.size() << ' ' << center << ' ' << p << ' ' << min_keep;
          for (size_t i = 0; i < expected.size(); ++i) {
            ASSERT_EQ(list[i].id, expected[i].id);
            ASSERT_EQ(list[i].logit, expected[i].logit);
          }
        }
      }
    }
  }
}

TEST(DrawIndex, PassesTheCandidatesByRank) {
  Candidates list;
  assign_all(list, std::vector<float>{std::log(0.2f), std::log(0.5f), -kInf, std::log(0.3f)});
  const Weights weights = weigh(list);
  const auto drawn = [&](double u) { return list.id(draw_index(list, weights, u)); };
  EXPECT_EQ(drawn(0.0), 1);
  EXPECT_EQ(drawn(0.499), 1);
  EXPECT_EQ(drawn(0.501), 3);
  EXPECT_EQ(drawn(0.799), 3);
  EXPECT_EQ(drawn(0.801), 0);
  EXPECT_EQ(drawn(std::nextafter(1.0, 0.0)), 0);
}

TEST(IndicesWhere, FindsThoseWantedWhereverTheyStand) {
  std::vector<uint32_t> memory(100);
  for (const size_t n : {0u, 1u, 31u, 32u, 33u, 64u, 100u}) {
    for (size_t one = 0; one < n; ++one) {
      const auto found = indices_where(
          n, [one](size_t i) { return i == one; }, memory);
      ASSERT_EQ(found.size(), 1u);
      ASSERT_EQ(found[0], one);
    }
    ASSERT_EQ(indices_where(
                  n, [](size_t i) { return i % 3 == 0; }, memory)
                  .size(),
              (n + 2) / 3);
  }
}

TEST(KeepFrom, CutsBetweenNeighbouringFloats) {
  const float above = std::nextafter(1.0f, 2.0f);
  Candidates list;
  assign_all(list, std::vector<float>{1.0f, above, 0.5f, -kMost});
  keep_from(list, 1.0 + 1e-9, 1);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list.id(0), 1);
  assign_all(list, std::vector<float>{1.0f, above, 0.5f, -kMost});
  keep_from(list, 1.0, 1);
  EXPECT_EQ(list.size(), 2u);
  assign_all(list, std::vector<float>{1.0f, above, 0.5f, -kMost});
  keep_from(list, 1e300, 2);  // none is as large: the two best
  EXPECT_EQ(list.size(), 2u);
  assign_all(list, std::vector<float>{1.0f, above, 0.5f, -kMost});
  keep_from(list, -1e300, 1);
  EXPECT_EQ(list.size(), 4u);
  assign_all(list, std::vector<float>{kMost, 1.0f, kMost});
  keep_from(list, 1e300, 1);  // not even the largest float is
  EXPECT_EQ(list.size(), 1u);
}

}  // namespace
}  // namespace lockstep::sampling
