// A kernel table that counts how often each of its entries is called, around another that does the work: the proof that
// a self-check ran the kernels that it claims to have checked. Production knows nothing of it.
//
// Entries of a table are plain functions without a context, so what they count with is the one piece of state in
// lockstep that belongs to the program: at most one CountedTable exists at a time. Its table may be used by many
// threads; take() is called while none of them computes.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "kernels/table.h"
#include "quant/tensor_type.h"

namespace lockstep::kernels {

class CountedTable {
 public:
  // `real` must outlive it. Error kBadRequest when there is another one.
  explicit CountedTable(const KernelTable& real);
  ~CountedTable();
  CountedTable(const CountedTable&) = delete;
  CountedTable& operator=(const CountedTable&) = delete;

  [[nodiscard]] const KernelTable& table() const noexcept { return table_; }

  // Calls by kernel since the last take(), without those never called. Products are "fast Q4_K" for the scalar sets,
  // "fast Q4_K stream" or "fast Q4_K panel" for the vector ones, which have two ways to multiply; others go by the
  // names of their entries.
  [[nodiscard]] std::map<std::string, uint64_t> take();

 private:
  KernelTable table_;
};

// The way in which a vector set multiplies.
enum class ProductWay { kStream, kPanel };
[[nodiscard]] ProductWay product_way(const KernelTable& table, quant::TensorType type, bool exact, int64_t n_tokens);
[[nodiscard]] std::string product_name(const KernelTable& table, quant::TensorType type, bool exact, ProductWay way);
[[nodiscard]] std::string attention_name(CacheType type);

}  // namespace lockstep::kernels
