#!/usr/bin/env bash
# lockstep and llama.cpp in turn on the same files, as a Markdown report: tools/bench_report.sh [options] [MODEL.TYPE...]
#   -t N        threads (2)                 -r N     rounds of each test (5)
#   -d N,...    depths of decode tests (0)  -o FILE  the report (build/bench-report.md)
# MODEL is smollm2 (as fetched, no TYPE), qwen2.5-0.5b or llama3.2-1b, TYPE as tools/quantize_model.py takes it. Default:
# smollm2 and the pure files of docs/performance.md. What is missing is made: the peer in .peer/ (ten minutes), the models in
# models/bench/ (their vocabularies come from LOCKSTEP_GOLDEN). Nothing else should run on the machine meanwhile.
set -euo pipefail
cd "$(dirname "$0")/.."

threads=2 rounds=5 depths=0 report=build/bench-report.md lockstep=build/release/lockstep
while getopts "t:r:d:o:" option; do
  case $option in
    t) threads=$OPTARG ;;
    r) rounds=$OPTARG ;;
    d) depths=$OPTARG ;;
    o) report=$OPTARG ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
models=("$@")
[[ ${#models[@]} -gt 0 ]] || models=(smollm2 qwen2.5-0.5b.Q4_0 qwen2.5-0.5b.Q8_0 llama3.2-1b.{Q4_0,Q8_0,Q4_K,Q6_K,F16})

folder=models/bench peer=.peer/bin/python
mkdir -p "$folder" "$(dirname "$report")"

vocabulary() {
  local name
  case $1 in
    qwen2.5-0.5b) name=ggml-vocab-qwen2 ;;
    llama3.2-1b) name=ggml-vocab-llama-bpe ;;
    *)
      echo "bench-report: no model named $1 (there are smollm2, qwen2.5-0.5b and llama3.2-1b)" >&2
      return 2
      ;;
  esac
  echo "${LOCKSTEP_GOLDEN:?bench-report: LOCKSTEP_GOLDEN names no folder with vocab/$name.gguf}/vocab/$name.gguf"
}

# Prints the path of a model's file, made under another name first so that a half-made one is never taken.
model_file() {
  local shape=${1%.*} type=${1##*.} vocab
  if [[ $1 == smollm2 ]]; then
    tools/fetch_models.sh smollm2 >&2
    echo models/SmolLM2-135M-Instruct.Q4_1.gguf
    return
  fi
  local source=$folder/$shape.F16.gguf file=$folder/$1.gguf
  if [[ ! -f $source ]]; then
    vocab=$(vocabulary "$shape")
    "$peer" tools/make_model.py "$shape" "$vocab" "$source.part" >&2
    mv "$source.part" "$source"
  fi
  if [[ ! -f $file ]]; then
    "$peer" tools/quantize_model.py "$source" "$file.part" "$type" >"$folder/$1.log" 2>&1
    mv "$file.part" "$file"
  fi
  echo "$file"
}

# The lines of a Markdown table from bench_peer.py's JSON: table_rows NAME
table_rows() {
  python3 -c '
import json, sys
for line in sys.stdin:
    for test, e in json.loads(line).items():
        flash = "on" if e["flash_attention"] else "off"
        print("|", " | ".join([sys.argv[1], test, str(e["lockstep"]), str(e["llama.cpp"]), flash, str(e["ratio"])]), "|")
' "$1"
}

measure() {
  local file depth first=1
  file=$(model_file "$1")
  for depth in ${depths//,/ }; do
    # Prefill is measured once, into an empty cache.
    "$peer" tools/bench_peer.py "$file" -p $((first * 512)) -d "$depth" -t "$threads" -r "$rounds" --lockstep "$lockstep" \
      2>>"$report.log" | table_rows "$1"
    first=0
  done
}

tools/make_peer.sh
{
  echo "# Measured $(date -u +%Y-%m-%d), $threads threads, $rounds rounds, lockstep $(git describe --always --dirty)"
  echo
  echo '```'
  "$lockstep" doctor
  "$lockstep" roofline -t "$threads" --format Q4_0,Q8_0,Q4_K,Q6_K,F16
  echo '```'
  echo
  echo "Tokens a second; medians of rounds in turn, the ratio is the median of the rounds' ratios."
  echo
  echo "| model | test | lockstep | llama.cpp | its flash attention | ratio |"
  echo "|---|---|---:|---:|---|---:|"
} >"$report.part"
for model in "${models[@]}"; do
  echo "bench-report: $model" >&2
  measure "$model" >>"$report.part"
done
{
  echo
  echo "lockstep alone, with its share of the reading rate:"
  echo
  for model in "${models[@]}"; do
    echo "$model"
    echo
    "$lockstep" bench "$(model_file "$model")" -t "$threads" -d "$depths" -r "$rounds" -o md
    echo
  done
} >>"$report.part" 2>>"$report.log"
mv "$report.part" "$report"
echo "bench-report: $report"
