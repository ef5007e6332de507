#include "verify_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "verify/hints.h"

namespace lockstep {
namespace {

using verify::Compared;
using verify::Report;
using verify::Unmatched;

constexpr size_t kMostListed = 10;
constexpr int kBarWidth = 20;

struct LayerRow {
  size_t n = 0;
  double worst = 0;
  std::string name;
};

// What a person reads in the first column, in the order of the pass: the embedding, the layers, the end.
using LayerRows = std::map<int64_t, LayerRow>;
constexpr int64_t kInput = -1;

LayerRows rows_by_layer(const Report& report) {
  int64_t output = 0;
  for (const Compared& c : report.compared) output = std::max(output, c.layer + 1);
  LayerRows rows;
  for (const Compared& c : report.compared) {
    const int64_t key = c.layer >= 0 ? c.layer : (c.name == "embd" ? kInput : output);
    LayerRow& row = rows[key];
    ++row.n;
    if (row.name.empty() || c.rel > row.worst) {
      row.worst = c.rel;
      row.name = c.name + " " + c.op;
    }
  }
  return rows;
}

// Ten powers of ten below the tolerance to ten above: the middle is where it begins to diverge.
std::string bar(double rel, double tolerance) {
  if (rel <= 0) return {};
  const double place = kBarWidth / 2.0 + 2 * std::log10(rel / tolerance);
  const auto n = static_cast<size_t>(std::clamp(place, 1.0, static_cast<double>(kBarWidth)));
  return std::string(n, '#');
}

std::string table(const Report& report) {
  std::string text = fmt::format("{:>6}  {:>7}  {:>9}  {:<{}}  {}\n", "layer", "tensors", "worst", "", kBarWidth, "at");
  const LayerRows rows = rows_by_layer(report);
  for (const auto& [layer, row] : rows) {
    const bool is_output = layer == rows.rbegin()->first && row.name.find('-') == row.name.npos;
    const std::string label = layer == kInput ? "input" : (is_output ? "output" : std::to_string(layer));
    text += fmt::format("{:>6}  {:>7}  {:>9.2e}  {:<{}}  {}\n", label, row.n, row.worst,
                        bar(row.worst, report.tolerance), kBarWidth, printable(row.name));
  }
  return text;
}

std::string unmatched_lines(const Report& report) {
  std::string text;
  for (size_t i = 0; i < std::min(report.unmatched.size(), kMostListed); ++i) {
    const Unmatched& u = report.unmatched[i];
    text += fmt::format("not compared: {} {}: {}\n", printable(u.name), printable(u.op), printable(u.why, 200));
  }
  if (report.unmatched.size() > kMostListed)
    text += fmt::format("not compared: {} more\n", report.unmatched.size() - kMostListed);
  if (!report.unknown.empty()) {
    text += fmt::format("the reference also has {} tensors under names that this pass does not make, the first {}\n",
                        report.unknown.size(), printable(report.unknown.front()));
  }
  return text;
}

std::string divergence_lines(const Report& report) {
  const Compared* first = report.first_divergent();
  if (first == nullptr) return {};
  std::string text =
      fmt::format("first to diverge: {} {}, {}: ours {:.9g}, theirs {:.9g}, relative difference {:.2e}\n",
                  printable(first->name), printable(first->op), first->what, first->ours, first->theirs, first->rel);
  const std::string_view hint = verify::hint_for(first->name, first->op);
  if (!hint.empty()) text += fmt::format("this usually means: {}\n", hint);
  return text;
}

Json number_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

}  // namespace

Json verify_json(const Report& report) {
  Json json = {{"tensors", report.compared.size()},
               {"unmatched", Json::array()},
               {"worst", nullptr},
               {"first_divergent", nullptr},
               {"tolerance", report.tolerance}};
  if (const Compared* worst = report.worst(); worst != nullptr)
    json["worst"] = {{"name", worst->name}, {"rel", number_or_null(worst->rel)}, {"op", worst->op}};
  if (const Compared* first = report.first_divergent(); first != nullptr) {
    json["first_divergent"] = {{"name", first->name},
                               {"rel", number_or_null(first->rel)},
                               {"ours", number_or_null(first->ours)},
                               {"theirs", number_or_null(first->theirs)},
                               {"op", first->op},
                               {"what", first->what},
                               {"hint", verify::hint_for(first->name, first->op)}};
  }
  json["required"] = report.n_required;
  json["reasons"] = Json::array();
  for (const Unmatched& u : report.unmatched) {
    json["unmatched"].push_back(u.name);
    json["reasons"].push_back({{"name", u.name}, {"op", u.op}, {"why", u.why}});
  }
  json["unknown"] = report.unknown;
  return json;
}

std::string verify_text(const Report& report) {
  const Compared* worst = report.worst();
  std::string text = table(report) + unmatched_lines(report) + divergence_lines(report);
  text += fmt::format("{} of {} tensors compared", report.compared.size(), report.n_required);
  if (worst != nullptr)
    text += fmt::format(", the worst is off by {:.2e}, tolerance {:.0e}", worst->rel, report.tolerance);
  text += report.passed() ? ": equal\n" : ": NOT equal\n";
  return text;
}

}  // namespace lockstep
