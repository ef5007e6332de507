#include "verify/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "verify/trace_record.h"

namespace lockstep::verify {
namespace {

// Not a number counts as infinitely far away.
double relative(double difference, double size) {
  if (difference == 0) return 0;
  const double rel = std::abs(difference) / size;
  return std::isnan(rel) ? std::numeric_limits<double>::infinity() : rel;
}

std::string_view base_name(std::string_view name) {
  const size_t dash = name.rfind('-');
  const bool numbered =
      dash != name.npos && dash + 1 < name.size() && name.find_first_not_of("0123456789", dash + 1) == name.npos;
  return numbered ? name.substr(0, dash) : name;
}

bool is_made_here(std::string_view name) {
  for (int64_t site = 0; site < model::kSites; ++site) {
    if (base_name(name) == model::site_name(static_cast<model::Site>(site)).name) return true;
  }
  return false;
}

// What llama.cpp's graph has besides its named results: views, cache writes, scores, numbered nodes.
bool is_scaffolding(const ReferenceEntry& entry) {
  constexpr std::array<std::string_view, 6> kOps = {"RESHAPE", "VIEW", "PERMUTE", "TRANSPOSE", "SET_ROWS", "CPY"};
  if (std::ranges::find(kOps, entry.op) != kOps.end()) return true;
  if (entry.name.empty()) return false;
  return entry.name.starts_with("node_") || (entry.name.starts_with("kq") && !entry.name.starts_with("kqv_out"));
}

// Of a sequence of places, which belong to a longest ascending part: the others stand out of order.
std::vector<bool> ascending_part(const std::vector<size_t>& places) {
  constexpr size_t kNone = std::numeric_limits<size_t>::max();
  std::vector<size_t> ends;  // ends[k]: index of the smallest last place of an ascending part of k + 1
  std::vector<size_t> previous(places.size(), kNone);
  for (size_t i = 0; i < places.size(); ++i) {
    const auto slot = std::ranges::lower_bound(ends, places[i], {}, [&](size_t index) { return places[index]; });
    if (slot != ends.begin()) previous[i] = *(slot - 1);
    if (slot == ends.end()) {
      ends.push_back(i);
    } else {
      *slot = i;
    }
  }
  std::vector<bool> kept(places.size(), false);
  for (size_t i = ends.empty() ? kNone : ends.back(); i != kNone; i = previous[i]) kept[i] = true;
  return kept;
}

}  // namespace

const Compared* Report::worst() const {
  const auto found = std::ranges::max_element(compared, {}, &Compared::rel);
  return found == compared.end() ? nullptr : &*found;
}

const Compared* Report::first_divergent() const {
  const auto found = std::ranges::find_if(compared, [&](const Compared& c) { return !(c.rel <= tolerance); });
  return found == compared.end() ? nullptr : &*found;
}

bool Report::passed() const {
  return n_required > 0 && unmatched.empty() && static_cast<int64_t>(compared.size()) == n_required &&
         first_divergent() == nullptr;
}

Comparison::Comparison(const Reference& reference, double tolerance)
    : reference_(reference), used_(reference.entries.size(), false), report_{tolerance, 0, {}, {}, {}} {
  for (size_t i = 0; i < reference.entries.size(); ++i) {
    const ReferenceEntry& entry = reference.entries[i];
    if (!entry.name.empty()) places_[{entry.name, entry.op}].push_back(i);
  }
}

void Comparison::look_at(const model::TensorView& tensor) {
  ++report_.n_required;
  const Key key = {tensor.name, std::string(tensor.op)};
  const size_t occurrence = n_seen_[key]++;
  const auto found = places_.find(key);
  std::string why = "missing";
  if (found != places_.end() && occurrence < found->second.size()) {
    const size_t place = found->second[occurrence];
    const ReferenceEntry& entry = reference_.entries[place];
    used_[place] = true;
    if (entry.unreadable.empty() && entry.ne == tensor.ne) {
      matched_.push_back(place);
      return compare(tensor, entry);
    }
    why = entry.unreadable.empty() ? "shape" : entry.unreadable;
  }
  report_.unmatched.push_back({key.first, key.second, why, tensor.layer});
}

void Comparison::compare(const model::TensorView& tensor, const ReferenceEntry& entry) {
  const TraceRecord ours = summarize(tensor);
  const auto n = static_cast<double>(tensor.n_elements());
  const double rms = std::sqrt(ours.sumsq / n);
  const double sum_size = std::max(std::abs(entry.sum), rms * std::sqrt(n));
  Compared result = {entry.name, entry.op, tensor.layer, relative(ours.sum - entry.sum, sum_size),
                     "sum",      ours.sum, entry.sum};
  for (const ListedValue& listed : entry.values) {
    const auto value = static_cast<double>(tensor.at(listed.index));
    const double beyond = std::max(0.0, std::abs(value - listed.value) - listed.half_digit);
    const double rel = relative(std::isfinite(value) ? beyond : value, rms);
    if (rel <= result.rel) continue;
    result.rel = rel;
    result.what = fmt::format("element {}", listed.index);
    result.ours = value;
    result.theirs = listed.value;
  }
  report_.compared.push_back(std::move(result));
}

void Comparison::take_out_of_order() {
  const std::vector<bool> in_order = ascending_part(matched_);
  std::vector<Compared> kept;
  for (size_t i = 0; i < report_.compared.size(); ++i) {
    Compared& compared = report_.compared[i];
    if (in_order[i]) {
      kept.push_back(std::move(compared));
    } else {
      report_.unmatched.push_back({compared.name, compared.op, "order", compared.layer});
    }
  }
  report_.compared = std::move(kept);
}

// What the reference has and we did not ask for. A tensor of a kind that we make is one too many; an entry without a
// name, or in a form that cannot be read, may have been anything.
void Comparison::list_left_over() {
  for (size_t i = 0; i < used_.size(); ++i) {
    const ReferenceEntry& entry = reference_.entries[i];
    if (used_[i] || is_scaffolding(entry)) continue;
    const std::string name = entry.name.empty() ? fmt::format("line {}", entry.line) : entry.name;
    if (!entry.unreadable.empty()) {
      report_.unmatched.push_back({name, entry.op, entry.unreadable, -1});
    } else if (is_made_here(entry.name)) {
      report_.unmatched.push_back({name, entry.op, "extra", -1});
    } else {
      report_.unknown.push_back(name);
    }
  }
}

Report Comparison::finish() {
  rethrow();
  take_out_of_order();
  list_left_over();
  return std::move(report_);
}

}  // namespace lockstep::verify
