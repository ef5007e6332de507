#!/usr/bin/env bash
# Configures (when needed) and builds a CMake preset: tools/build.sh PRESET [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift

if [[ ! -f build/$preset/build.ninja ]]; then
  mkdir -p "build/$preset"
  if ! cmake --preset "$preset" >"build/$preset/configure.log" 2>&1; then
    tail -n 30 "build/$preset/configure.log" >&2
    echo "build: cmake --preset $preset failed (all of it: build/$preset/configure.log)" >&2
    exit 1
  fi
fi

targets=()
[[ $# -gt 0 ]] && targets=(--target "$@")
NINJA_STATUS="[$preset %f/%t] " cmake --build --preset "$preset" "${targets[@]}"
