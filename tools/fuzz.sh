#!/usr/bin/env bash
# Runs fuzz targets: tools/fuzz.sh SECONDS [NAME...]   (all of tests/fuzz when none is named; FUZZ_JOBS at a time, 2; FUZZ_SEED for
# the same beginning every time; FUZZ_TIMEOUT seconds, 25, for one input, after which it is a finding: more where processes are paused)
# New inputs gather in build/fuzz/corpus/NAME; an input that is a finding lands in build/fuzz/findings and fails the run. How often
# each target ran is added to build/fuzz/executions.tsv (name, executions, seconds of processor time, findings), which
# tools/reliability_report.py adds up.
set -uo pipefail
cd "$(dirname "$0")/.."
export FUZZ_SECONDS=$1
shift
names=("$@")
if [[ ${#names[@]} -eq 0 ]]; then
  for file in tests/fuzz/*_fuzz.cpp; do names+=("$(basename "$file" _fuzz.cpp)"); done
fi

# Inputs that took over ten seconds by the clock, which a paused machine makes of any: those that take two of the processor again
# are findings, the others nothing.
settle_slow_units() {
  local name=$1 status=0 unit TIMEFORMAT='%U'
  for unit in build/fuzz/findings/"$name"-slow-unit-*; do
    [[ -e $unit ]] || continue
    { time build/clang-asan/tests/fuzz/"${name}_fuzz" "$unit" >/dev/null 2>&1; } 2>"$unit.time"
    if awk '{ exit !($1 >= 2) }' "$unit.time"; then status=1; else rm "$unit"; fi
    rm "$unit.time"
  done
  return $status
}

fuzz_one() {
  local name=$1 log=build/fuzz/$1.log status=0 executions seconds
  local TIMEFORMAT='%U %S'
  mkdir -p "build/fuzz/corpus/$name" build/fuzz/findings
  {
    time build/clang-asan/tests/fuzz/"${name}_fuzz" -seed="${FUZZ_SEED:-0}" -max_total_time="$FUZZ_SECONDS" \
      -timeout="${FUZZ_TIMEOUT:-25}" -rss_limit_mb=3072 -malloc_limit_mb=1024 -print_final_stats=1 \
      -artifact_prefix="build/fuzz/findings/$name-" "build/fuzz/corpus/$name" "tests/fuzz/corpus/$name" >"$log" 2>&1 || status=1
  } 2>"$log.time"
  settle_slow_units "$name" || status=1
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)
  seconds=$(awk '{ printf "%.0f", $1 + $2 }' "$log.time")
  printf '%s\t%s\t%s\t%s\n' "$name" "${executions:-0}" "$seconds" "$status" >>build/fuzz/executions.tsv
  echo "fuzz: $name: ${executions:-0} executions in $seconds s of processor time, $status findings"
  [[ $status -eq 0 ]] || grep -E '^does not hold|SUMMARY|ERROR:|Test unit written|runtime error' "$log" | head -n 5
  return $status
}
export -f fuzz_one settle_slow_units

printf '%s\n' "${names[@]}" | xargs -P "${FUZZ_JOBS:-2}" -I{} bash -c 'fuzz_one {}'
