#!/usr/bin/env bash
# Makes .peer/, a Python environment with llama.cpp built for this machine, unless it is there: what others are compared with.
set -euo pipefail
cd "$(dirname "$0")/.."

.peer/bin/python -c 'import llama_cpp, gguf, numpy' 2>/dev/null && exit
echo "make_peer: building llama.cpp in .peer/, which takes about ten minutes" >&2
python3 -m venv .peer
CMAKE_ARGS="-DGGML_NATIVE=ON" .peer/bin/pip install --quiet --no-binary llama-cpp-python llama-cpp-python==0.3.36 gguf numpy
