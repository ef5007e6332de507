#include "kernels/counted_table.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <utility>

#include "base/error.h"
#include "kernels/packed.h"
#include "kernels/select.h"
#include "quant/format.h"

namespace lockstep::kernels {
namespace {

constexpr size_t kTypes = std::size(KernelTable().fast);

using Counter = std::atomic<uint64_t>;

enum Operation : size_t {
  kQuantize,
  kRmsNorm,
  kSwiglu,
  kGeglu,
  kSoftcap,
  kAdd,
  kRope,
  kMerge,
  kFinish,
  kOperations,
};
constexpr const char* kOperationNames[] = {"quantize", "rms_norm", "swiglu",      "geglu",           "softcap",
                                           "add",      "rope",     "merge_chunk", "finish_attention"};
static_assert(std::size(kOperationNames) == kOperations);

// See the header: counted functions have no other place to look.
std::atomic<const KernelTable*> real{nullptr};
struct Counters {
  Counter products[2][2][kTypes];  // fast, exact; streamed, by panel
  Counter operations[kOperations];
  Counter append_k[kCacheTypes], append_v[kCacheTypes], attend[kCacheTypes];
};
Counters counters;

void count(Counter& counter) noexcept {
  counter.fetch_add(1, std::memory_order_relaxed);
}

const KernelTable& table() noexcept {
  return *real.load(std::memory_order_relaxed);
}

template <bool exact, size_t type>
void product(const LinearJob& job) noexcept {
  const ProductWay way = product_way(table(), static_cast<quant::TensorType>(type), exact, job.a.n_tokens);
  count(counters.products[exact][static_cast<size_t>(way)][type]);
  (exact ? table().exact : table().fast)[type](job);
}

template <int type>
void append_k(void* k, int64_t position, const float* head, int64_t head_dim) noexcept {
  count(counters.append_k[type]);
  table().append_k[type](k, position, head, head_dim);
}

template <int type>
void append_v(void* v, int64_t position, const float* head, int64_t head_dim) noexcept {
  count(counters.append_v[type]);
  table().append_v[type](v, position, head, head_dim);
}

template <int type>
void attend(const AttentionJob& job, AttentionPartial* partial, float* o) noexcept {
  count(counters.attend[type]);
  table().attend_chunk[type](job, partial, o);
}

// A function of the same type as entry `slot` of the table, which it counts and calls.
template <auto slot, Operation operation, typename Result, typename... Arguments>
auto counted(Result (*)(Arguments...) noexcept) {
  return +[](Arguments... arguments) noexcept -> Result {
    count(counters.operations[operation]);
    return (table().*slot)(arguments...);
  };
}

template <size_t... types>
void wrap_products(KernelTable& wrapped, std::index_sequence<types...>) {
  ((wrapped.fast[types] = wrapped.fast[types] == nullptr ? nullptr : product<false, types>,
    wrapped.exact[types] = wrapped.exact[types] == nullptr ? nullptr : product<true, types>),
   ...);
}

template <int... types>
void wrap_caches(KernelTable& wrapped, std::integer_sequence<int, types...>) {
  ((wrapped.append_k[types] = append_k<types>, wrapped.append_v[types] = append_v<types>,
    wrapped.attend_chunk[types] = attend<types>),
   ...);
}

template <auto slot, Operation operation>
void wrap(KernelTable& wrapped) {
  wrapped.*slot = counted<slot, operation>(wrapped.*slot);
}

KernelTable wrapped_table(const KernelTable& inner) {
  KernelTable wrapped = inner;
  wrap_products(wrapped, std::make_index_sequence<kTypes>());
  wrap_caches(wrapped, std::make_integer_sequence<int, kCacheTypes>());
  wrap<&KernelTable::quantize, kQuantize>(wrapped);
  wrap<&KernelTable::rms_norm, kRmsNorm>(wrapped);
  wrap<&KernelTable::swiglu, kSwiglu>(wrapped);
  wrap<&KernelTable::geglu, kGeglu>(wrapped);
  wrap<&KernelTable::softcap, kSoftcap>(wrapped);
  wrap<&KernelTable::add, kAdd>(wrapped);
  wrap<&KernelTable::rope, kRope>(wrapped);
  wrap<&KernelTable::merge_chunk, kMerge>(wrapped);
  wrap<&KernelTable::finish_attention, kFinish>(wrapped);
  return wrapped;
}

}  // namespace

CountedTable::CountedTable(const KernelTable& inner) : table_(wrapped_table(inner)) {
  const KernelTable* none = nullptr;
  if (!real.compare_exchange_strong(none, &inner))
    fail(ErrorCode::kBadRequest, "another self-check is counting calls of kernels");
  static_cast<void>(take());
}

CountedTable::~CountedTable() {
  real.store(nullptr);
}

std::map<std::string, uint64_t> CountedTable::take() {
  std::map<std::string, uint64_t> calls;
  const auto move_to = [&](const std::string& name, Counter& counter) {
    if (const uint64_t n = counter.exchange(0); n != 0) calls[name] += n;
  };
  for (const bool exact : {false, true}) {
    for (const auto way : {ProductWay::kStream, ProductWay::kPanel}) {
      for (const quant::FormatInfo& format : quant::all_formats()) {
        move_to(product_name(table_, format.type, exact, way),
                counters.products[exact][static_cast<size_t>(way)][static_cast<size_t>(format.type)]);
      }
    }
  }
  for (size_t i = 0; i < kOperations; ++i) move_to(kOperationNames[i], counters.operations[i]);
  for (int i = 0; i < kCacheTypes; ++i) {
    const std::string_view cache = to_string(static_cast<CacheType>(i));
    move_to(fmt::format("append_k {}", cache), counters.append_k[i]);
    move_to(fmt::format("append_v {}", cache), counters.append_v[i]);
    move_to(attention_name(static_cast<CacheType>(i)), counters.attend[i]);
  }
  return calls;
}

ProductWay product_way(const KernelTable& table, quant::TensorType type, bool exact, int64_t n_tokens) {
  using enum quant::TensorType;
  const bool is_float = type == kF32 || type == kF16 || type == kBF16;
  const bool may_stream = is_float || !exact;
  return may_stream && n_tokens <= table.most_streamed[static_cast<size_t>(type)] ? ProductWay::kStream
                                                                                  : ProductWay::kPanel;
}

std::string product_name(const KernelTable& table, quant::TensorType type, bool exact, ProductWay way) {
  std::string name = fmt::format("{} {}", exact ? "exact" : "fast", quant::to_string(type));
  if (!table.packed) return name;
  return name + (way == ProductWay::kStream ? " stream" : " panel");
}

std::string attention_name(CacheType type) {
  return fmt::format("attend_chunk {}", to_string(type));
}

}  // namespace lockstep::kernels
