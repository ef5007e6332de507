#!/usr/bin/env bash
# How fast each family runs against llama with the same weights: tools/bench_families.sh LLAMA.gguf [FAMILY...]
# The files are made in build/families/ (tools/relabel_family.py) and the families take turns, three rounds. BENCH="-p 0 -n 64 -r 2": other options
# of `lockstep bench`.
set -euo pipefail
cd "$(dirname "$0")/.."

source=${1:?which llama file}
shift
families=("$@")
[[ ${#families[@]} -gt 0 ]] || families=(qwen2 qwen3 smollm3 granite olmo2 phi3 gemma2 gemma3 mixtral qwen3moe)
folder=build/families
mkdir -p "$folder"

for family in llama "${families[@]}"; do
  [[ -f $folder/$family.gguf ]] && continue
  PYTHONPATH=build/python python3 tools/relabel_family.py "$source" "$family" "$folder/$family.part"
  mv "$folder/$family.part" "$folder/$family.gguf"
done
for round in 1 2 3; do
  for family in llama "${families[@]}"; do
    build/release/lockstep bench "$folder/$family.gguf" ${BENCH:--p 512 -n 64 -r 2} -o csv 2>/dev/null | sed -n "s/^\(pp\|tg\)/$family,\1/p"
  done
done | python3 -c '
import csv, statistics, sys
# The reading rate of a machine may change between two runs: prefill is compared by multiply-adds per cycle, decode by the
# share of the rate that was probed in the same run.
measure = {"pp": "mac_per_cycle", "tg": "bandwidth_share"}
names = "test tps_median tps_min tps_max runs steady discarded threads isa kv_type gbps bandwidth_share mac_per_cycle".split()
values, speeds = {}, {}
for family, *row in csv.reader(sys.stdin):
    fields = dict(zip(names, row))
    key = fields["test"], family
    values.setdefault(key, []).append(float(fields[measure[fields["test"][:2]]]))
    speeds.setdefault(key, []).append(float(fields["tps_median"]))
for (test, family), mine in values.items():
    ratio = statistics.median(mine) / statistics.median(values[test, "llama"])
    print(f"{test:8} {family:10} {statistics.median(speeds[test, family]):8.1f} tokens/s  {measure[test[:2]]} {ratio:.3f} of llama")
'
