#!/usr/bin/env bash
# The Python package gguf, an independent reader of the same files, into build/python for the tests; once.
set -euo pipefail
cd "$(dirname "$0")/.."

target=build/python
[[ -d $target/gguf ]] && exit 0
echo "fetch: Python package gguf into $target"
mkdir -p build
partial=$(mktemp -d build/python.XXXXXX)
trap 'rm -rf "$partial"' EXIT
python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target "$partial" gguf==0.19.0
rm -rf "$target"
mv "$partial" "$target"
