// Many random changes of good model files through what `info` and a short `complete` do, in one process:
//   mutation_campaign N [--seed S] [--report FILE.json] FOLDER|FILE.gguf...
// Ends with status 1 when something other than running or being refused with an Error came of one: another exception,
// more than kMostCpuMs, or, for refused files, more memory than the file's size and 64 MiB (not under sanitizers, which
// multiply both). A crash says which mutation it was in the last line on standard error.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "campaign/mutation.h"
#include "campaign/trial.h"
#include "campaign/watchdog.h"
#include "forge/memory_file.h"
#include "gguf/forged_file_test.h"
#include "gguf/writer.h"

namespace lockstep::campaign {
namespace {

constexpr double kMostCpuMs = 2000;

struct Options {
  uint64_t n = 500;
  uint64_t seed = 1;
  std::string report;
  std::vector<std::filesystem::path> files;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--seed" && i + 1 < argc) {
      options.seed = std::stoull(argv[++i]);
    } else if (argument == "--report" && i + 1 < argc) {
      options.report = argv[++i];
    } else if (i == 1) {
      options.n = std::stoull(argument);
    } else if (std::filesystem::is_directory(argument)) {
      for (const auto& entry : std::filesystem::directory_iterator(argument)) {
        if (entry.path().extension() == ".gguf") options.files.push_back(entry.path());
      }
    } else {
      options.files.emplace_back(argument);
    }
  }
  std::ranges::sort(options.files);
  return options;
}

// A model as one file, or as shards of which one at a time is changed.
class Original {
 public:
  explicit Original(const std::vector<std::string>& files) : files_(files), memory_(files.size()) {
    for (const std::string& file : files_) fields_.push_back(fields_of(file));
    for (size_t i = 0; i < files_.size(); ++i) memory_.set(i, files_[i]);
  }

  [[nodiscard]] Mutation change(forge::RandomData& random) {
    const auto i = static_cast<size_t>(random.below(static_cast<int64_t>(files_.size())));
    if (changed_ && *changed_ != i) memory_.set(*changed_, files_[*changed_]);
    changed_ = i;
    Mutation mutation = mutate(files_[i], fields_[i], random);
    memory_.set(i, mutation.bytes);
    return mutation;
  }
  [[nodiscard]] std::filesystem::path path() const { return memory_.path(0); }

 private:
  std::vector<std::string> files_;
  std::vector<FileFields> fields_;
  forge::MemoryShards memory_;
  std::optional<size_t> changed_;
};

// A key of every type of value, and of an array of it.
void add_every_type(gguf::Writer& writer) {
  auto add = [&writer, i = 0]<typename T>(T value) mutable {
    writer.add(fmt::format("value.{}", i), value);
    writer.add(fmt::format("array.{}", i++), gguf::ArrayValue(std::vector<T>{value, value, value}));
  };
  add(uint8_t{1});
  add(int8_t{-1});
  add(uint16_t{2});
  add(int16_t{-2});
  add(uint32_t{3});
  add(int32_t{-3});
  add(4.0f);
  add(true);
  add(std::string("text"));
  add(uint64_t{5});
  add(int64_t{-5});
  add(6.0);
}

// The model in two shards, with an alignment of its own and values of every type.
std::vector<std::string> split(const std::filesystem::path& path) {
  const gguf::ModelFile model = gguf::ModelFile::open(path);
  const auto tensors = model.tensors();
  std::vector<std::string> shards;
  for (uint16_t shard = 0; shard < 2; ++shard) {
    gguf::Writer writer;
    writer.set_alignment(64);
    if (shard == 0) add_every_type(writer);
    writer.add_split_keys(shard, 2, static_cast<int32_t>(tensors.size()));
    std::vector<std::vector<std::byte>> data;
    for (const auto& entry : model.metadata().entries()) {
      if (shard == 0) writer.add(entry.key, entry.value);
    }
    for (size_t i = shard; i < tensors.size(); i += 2) {
      const gguf::TensorInfo& t = tensors[i];
      data.emplace_back(t.bytes);
      model.read(t, 0, data.back());
      writer.add_tensor(t.name, t.type, {t.shape.begin(), t.shape.begin() + t.n_dims}, data.back());
    }
    const forge::MemoryFile file;
    writer.write(file.path());
    shards.push_back(read_text_file(file.path()));
  }
  return shards;
}

struct Tally {
  std::array<uint64_t, kEndings> n{};
  double worst_cpu_ms = 0;
  uint64_t worst_refused_extra = 0;  // beyond the file's size
};

class Campaign {
 public:
  explicit Campaign(const Options& options) : options_(options) {
    for (const auto& path : options.files)
      originals_.push_back(std::make_unique<Original>(std::vector{read_text_file(path)}));
    originals_.push_back(std::make_unique<Original>(split(options.files.front())));
  }

  bool run() {
    for (uint64_t i = 0; i < options_.n; ++i) step(i);
    print();
    if (!options_.report.empty()) write_report();
    return findings_ == 0;
  }

 private:
  void step(uint64_t i) {
    forge::RandomData random(options_.seed * 1000003 + i);
    Original& original = *originals_[i % originals_.size()];
    const Mutation mutation = original.change(random);
    n_before_data_ += mutation.before_data ? 1 : 0;
    n_aimed_ += mutation.aimed ? 1 : 0;
    watchdog_.start(fmt::format("mutation {} with seed {} ({})", i, options_.seed, mutation.kind));
    const Trial trial = try_model(original.path());
    watchdog_.stop();
    add(tallies_[mutation.kind], trial, mutation.bytes.size());
    judge(trial, i, mutation);
  }

  static void add(Tally& tally, const Trial& trial, uint64_t file_bytes) {
    ++tally.n[static_cast<size_t>(trial.ending)];
    tally.worst_cpu_ms = std::max(tally.worst_cpu_ms, trial.cpu_ms);
    if (trial.ending == Ending::kRefused)
      tally.worst_refused_extra = std::max(tally.worst_refused_extra, extra_bytes(trial, file_bytes));
  }

  void judge(const Trial& trial, uint64_t i, const Mutation& mutation) {
    std::string fault;
    if (trial.ending == Ending::kFinding) fault = trial.message;
    if (!gguf::kSanitized && trial.cpu_ms > kMostCpuMs) fault = fmt::format("{:.0f} ms", trial.cpu_ms);
    const bool refused = trial.ending == Ending::kRefused;
    if (!gguf::kSanitized && refused && extra_bytes(trial, mutation.bytes.size()) > kMostExtraBytes)
      fault = fmt::format("{} bytes of memory for a refused file of {}: {}", trial.peak_bytes, mutation.bytes.size(),
                          trial.message);
    if (fault.empty()) return;
    ++findings_;
    std::printf("FINDING mutation %s, seed %s (%s): %s\n", std::to_string(i).c_str(),
                std::to_string(options_.seed).c_str(), mutation.kind.c_str(), fault.c_str());
  }

  void print() const {
    std::printf("%-22s %8s %9s %7s %9s %8s %16s\n", "kind", "refused", "accepted", "failed", "findings", "most ms",
                "refused, extra MB");
    for (const auto& [kind, t] : tallies_) {
      std::printf("%-22s %8ju %9ju %7ju %9ju %8.0f %16.1f\n", kind.c_str(), uintmax_t{t.n[0]}, uintmax_t{t.n[1]},
                  uintmax_t{t.n[2]}, uintmax_t{t.n[3]}, t.worst_cpu_ms,
                  static_cast<double>(t.worst_refused_extra) / 1e6);
    }
    std::printf(
        "%ju mutations of %zu models, %ju before the tensor data, %ju of these aimed at a field; %ju findings\n",
        uintmax_t{options_.n}, originals_.size(), uintmax_t{n_before_data_}, uintmax_t{n_aimed_}, uintmax_t{findings_});
  }

  void write_report() const {
    nlohmann::ordered_json report = {{"mutations", options_.n},       {"models", originals_.size()},
                                     {"before_data", n_before_data_}, {"aimed", n_aimed_},
                                     {"findings", findings_},         {"sanitized", gguf::kSanitized}};
    for (const auto& [kind, t] : tallies_) {
      report["kinds"].push_back({{"kind", kind},
                                 {"refused", t.n[0]},
                                 {"accepted", t.n[1]},
                                 {"failed", t.n[2]},
                                 {"worst_cpu_ms", t.worst_cpu_ms},
                                 {"worst_refused_extra_bytes", t.worst_refused_extra}});
    }
    std::ofstream(options_.report) << report.dump(1) << '\n';
  }

  const Options& options_;
  Watchdog watchdog_;
  std::vector<std::unique_ptr<Original>> originals_;
  std::map<std::string, Tally> tallies_;
  uint64_t n_before_data_ = 0;
  uint64_t n_aimed_ = 0;
  uint64_t findings_ = 0;
};

}  // namespace
}  // namespace lockstep::campaign

int main(int argc, char** argv) {
  using namespace lockstep::campaign;
  try {
    const Options options = parse(argc, argv);
    if (options.files.empty()) {
      std::fputs("usage: mutation_campaign N [--seed S] [--report FILE.json] FOLDER|FILE.gguf...\n", stderr);
      return 2;
    }
    return Campaign(options).run() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
