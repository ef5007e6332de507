#!/usr/bin/env python3
"""Quantize a GGUF file with llama.cpp (PyPI llama-cpp-python, see bench_peer.py for its set-up), every matrix in the one type.

usage: quantize_model.py IN.gguf OUT.gguf TYPE      TYPE: Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS F16 BF16 F32

`pure` matters: without it llama.cpp picks another type for the head and some layers, and figures no longer compare. A K type needs rows that are
multiples of 256 (llama3.2-1b, not qwen2.5-0.5b, whose width is 896).

The benchmark models (seed 1; tools/bench_report.sh makes them):
  make_model.py qwen2.5-0.5b $LOCKSTEP_GOLDEN/vocab/ggml-vocab-qwen2.gguf q05.F16.gguf;      Q4_0 284,084,704 bytes, Q8_0 531,065,312
  make_model.py llama3.2-1b  $LOCKSTEP_GOLDEN/vocab/ggml-vocab-llama-bpe.gguf l1b.F16.gguf;  Q4_0 and Q4_K 703,204,928, Q6_K 1,021,795,904, Q8_0 1,321,078,336
"""
import sys

import llama_cpp as L

FTYPE = {"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 7, "Q5_0": 8, "Q5_1": 9, "Q2_K": 10, "Q3_K": 11, "Q4_K": 14, "Q5_K": 16,
         "Q6_K": 18, "IQ4_NL": 25, "IQ4_XS": 30, "BF16": 32}


def main():
    if len(sys.argv) != 4 or sys.argv[3] not in FTYPE:
        raise SystemExit(__doc__)
    p = L.llama_model_quantize_default_params()
    p.ftype, p.nthread, p.pure, p.allow_requantize = FTYPE[sys.argv[3]], 2, True, True
    if L.llama_model_quantize(sys.argv[1].encode(), sys.argv[2].encode(), p):
        raise SystemExit("quantization failed")


main()
