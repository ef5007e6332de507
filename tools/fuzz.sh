#!/usr/bin/env bash
# Runs fuzz targets: tools/fuzz.sh SECONDS [NAME...]   (all of tests/fuzz when none is named; FUZZ_JOBS at a time, 2; FUZZ_SEED for
# the same beginning every time)
# New inputs gather in build/fuzz/corpus/NAME; an input that is a finding lands in build/fuzz/findings and fails the run. How often
# each target ran is added to build/fuzz/executions.tsv (name, executions, seconds, findings), which tools/reliability_report.py
# adds up.
set -uo pipefail
cd "$(dirname "$0")/.."
export FUZZ_SECONDS=$1
shift
names=("$@")
if [[ ${#names[@]} -eq 0 ]]; then
  for file in tests/fuzz/*_fuzz.cpp; do names+=("$(basename "$file" _fuzz.cpp)"); done
fi

# 25 s for one input: the machine may be busy with other things.
fuzz_one() {
  local name=$1 log=build/fuzz/$1.log status=0 executions
  mkdir -p "build/fuzz/corpus/$name" build/fuzz/findings
  build/clang-asan/tests/fuzz/"${name}_fuzz" -seed="${FUZZ_SEED:-0}" -max_total_time="$FUZZ_SECONDS" -timeout=25 -rss_limit_mb=3072 \
    -malloc_limit_mb=1024 -print_final_stats=1 -artifact_prefix="build/fuzz/findings/$name-" \
    "build/fuzz/corpus/$name" "tests/fuzz/corpus/$name" >"$log" 2>&1 || status=1
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  printf '%s\t%s\t%s\t%s\n' "$name" "${executions:-0}" "$FUZZ_SECONDS" "$status" >>build/fuzz/executions.tsv
  echo "fuzz: $name: ${executions:-0} executions in $FUZZ_SECONDS s, $status findings"
  [[ $status -eq 0 ]] || grep -E '^does not hold|SUMMARY|ERROR:|Test unit written|runtime error' "$log" | head -n 5
  return $status
}
export -f fuzz_one

printf '%s\n' "${names[@]}" | xargs -P "${FUZZ_JOBS:-2}" -I{} bash -c 'fuzz_one {}'
