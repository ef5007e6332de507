#!/usr/bin/env bash
# clang-tidy (.clang-tidy) over all C++ sources of a build folder: tools/lint.sh BUILD_FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
log=$1/lint.log
if ! run-clang-tidy -quiet -p "$1" "^$PWD/(src|apps|tests)/" >"$log" 2>&1; then
  # Without colours, each finding once although many sources include the header.
  sed 's/\x1b\[[0-9;]*m//g' "$log" | grep -E ': (warning|error): ' | sort -u >&2
  echo "lint: see above (all of it: $log)" >&2
  exit 1
fi
echo "lint: no findings"
