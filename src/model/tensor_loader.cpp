#include "model/tensor_loader.h"

#include <algorithm>
#include <exception>
#include <mutex>

#include "base/checked.h"
#include "base/error.h"
#include "base/hash128.h"
#include "kernels/packed.h"
#include "quant/dequantize.h"
#include "quant/format.h"

namespace lockstep::model {
namespace {

constexpr uint64_t kSlice = uint64_t{4} << 20;

// A placement as a run of equal pieces of the file that are converted one by one: groups of rows, or the whole of a
// small tensor.
struct Pieces {
  TensorPlacement placement;
  uint64_t file_begin;
  uint64_t row_bytes;
  uint64_t n_rows;
  uint64_t rows_per_piece;

  [[nodiscard]] uint64_t piece_bytes() const { return row_bytes * rows_per_piece; }
  [[nodiscard]] uint64_t file_end() const { return file_begin + row_bytes * n_rows; }
};

Pieces pieces_of(const gguf::ModelFile& file, const TensorPlacement& placement) {
  const gguf::TensorInfo& tensor = *placement.tensor;
  const uint64_t row_bytes = quant::row_bytes(tensor.type, tensor.shape[0]);
  return {placement, file.data_start(tensor.shard) + tensor.offset, row_bytes, tensor.bytes / row_bytes,
          kernels::kRowsPerGroup};
}

// One 4 MiB slice of one shard.
struct Slice {
  uint32_t shard;
  uint64_t begin, end;
};

std::vector<Slice> slices_of(const gguf::ModelFile& file) {
  std::vector<Slice> slices;
  for (uint32_t shard = 0; shard < file.n_shards(); ++shard) {
    const uint64_t size = file.file(shard).size();
    for (uint64_t begin = 0; begin < size; begin += kSlice)
      slices.push_back({shard, begin, std::min(begin + kSlice, size)});
  }
  return slices;
}

class Readers {
 public:
  Readers(const gguf::ModelFile& file, const std::vector<TensorPlacement>& placements, const Progress& progress)
      : file_(file),
        progress_(progress),
        slices_(slices_of(file)),
        hashes_(slices_.size()),
        by_shard_(file.n_shards()) {
    for (const TensorPlacement& placement : placements)
      by_shard_[placement.tensor->shard].push_back(pieces_of(file, placement));
    for (auto& pieces : by_shard_) std::ranges::sort(pieces, {}, &Pieces::file_begin);
    for (const Slice& slice : slices_) total_ += slice.end - slice.begin;
  }

  // Every member: slices by ticket until none is left or somebody failed.
  void run(exec::Member& me) noexcept {
    try {
      std::vector<std::byte> buffer;
      for (int64_t i = me.next(); i < static_cast<int64_t>(slices_.size()) && !failed_.load(); i = me.next()) {
        read_slice(static_cast<size_t>(i), buffer);
        if (me.index() == 0 && progress_) progress_(done_.load(), total_);
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failed_.exchange(true)) error_ = std::current_exception();
    }
  }

  std::string finish() const {
    if (error_) std::rethrow_exception(error_);
    // The end of a slice is read twice, once for the weights and once for the hash.
    for (uint32_t shard = 0; shard < file_.n_shards(); ++shard) file_.file(shard).expect_unchanged();
    return hexadecimal(hash128(std::as_bytes(std::span(hashes_))));
  }

 private:
  // A slice is read together with the rest of the last piece that begins in it.
  void read_slice(size_t index, std::vector<std::byte>& buffer) {
    const Slice& slice = slices_[index];
    const std::vector<Pieces>& pieces = by_shard_[slice.shard];
    uint64_t end = slice.end;
    const auto overlaps = [&](const Pieces& p) { return p.file_begin < slice.end && p.file_end() > slice.begin; };
    for (const Pieces& p : pieces) {
      if (overlaps(p)) end = std::max(end, last_piece_end(p, slice));
    }
    buffer.resize(end - slice.begin);
    file_.file(slice.shard).read_at(slice.begin, buffer);
    hashes_[index] = hash128(std::span(buffer).first(slice.end - slice.begin));
    for (const Pieces& p : pieces) {
      if (overlaps(p)) place(p, slice, buffer.data());
    }
    done_.fetch_add(slice.end - slice.begin);
  }

  static uint64_t first_piece(const Pieces& p, uint64_t position) {
    return position <= p.file_begin ? 0 : ceil_div(position - p.file_begin, p.piece_bytes());
  }
  static uint64_t last_piece_end(const Pieces& p, const Slice& slice) {
    return std::min(p.file_end(), p.file_begin + first_piece(p, slice.end) * p.piece_bytes());
  }

  // The pieces of p that begin in the slice.
  static void place(const Pieces& p, const Slice& slice, const std::byte* bytes) {
    const uint64_t n_pieces = ceil_div(p.n_rows, p.rows_per_piece);
    for (uint64_t i = first_piece(p, slice.begin); i < std::min(n_pieces, first_piece(p, slice.end)); ++i) {
      const std::byte* source = bytes + (p.file_begin + i * p.piece_bytes() - slice.begin);
      const uint64_t rows = std::min(p.rows_per_piece, p.n_rows - i * p.rows_per_piece);
      if (!place_piece(p, source, rows, p.placement.data + i * p.piece_bytes())) fail_not_finite(*p.placement.tensor);
    }
  }

  // False when a scale or value is not finite.
  static bool place_piece(const Pieces& p, const std::byte* source, uint64_t rows, std::byte* out) {
    const quant::TensorType type = p.placement.tensor->type;
    const auto n_cols = static_cast<int64_t>(p.placement.tensor->shape[0]);
    const uint64_t bytes = rows * p.row_bytes;
    if (p.placement.packed) {
      kernels::pack_group(type, source, static_cast<int64_t>(rows), n_cols, p.row_bytes, out);
      if (kernels::packed_unit_bytes(type) != 0) return kernels::group_is_finite(type, out, n_cols);
    } else {
      std::copy_n(source, bytes, out);
    }
    return quant::scales_are_finite(type, source, bytes / quant::format_info(type).block_bytes);
  }

  [[noreturn]] static void fail_not_finite(const gguf::TensorInfo& tensor) {
    fail(ErrorCode::kNotFinite, "tensor {} holds a NaN or infinite {}", printable(tensor.name),
         quant::format_info(tensor.type).block_size == 1 ? "value" : "block scale");
  }

  const gguf::ModelFile& file_;
  const Progress& progress_;
  std::vector<Slice> slices_;
  std::vector<Hash128> hashes_;
  std::vector<std::vector<Pieces>> by_shard_;
  uint64_t total_ = 0;
  std::atomic<uint64_t> done_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace

uint64_t placement_bytes(const gguf::TensorInfo& tensor, bool packed) {
  if (!packed) return tensor.bytes;
  const uint64_t row_bytes = quant::row_bytes(tensor.type, tensor.shape[0]);
  return round_up<uint64_t>(tensor.bytes / row_bytes, kernels::kRowsPerGroup) * row_bytes;
}

std::string load_tensors(const gguf::ModelFile& file, std::vector<TensorPlacement> placements, exec::Team& team,
                         const Progress& progress) {
  Readers readers(file, placements, progress);
  team.run([&readers](exec::Member& me) { readers.run(me); });
  return readers.finish();
}

}  // namespace lockstep::model
