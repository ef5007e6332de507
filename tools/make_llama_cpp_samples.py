#!/usr/bin/env python3
"""Prints tests/data/sampling/llama_cpp.jsonl: what llama.cpp's XTC, Mirostat and logit bias make of made-up logits.

Run by `make sampling-data` with the Python of .peer/ (llama-cpp-python 0.3.36), through llama.cpp's own C functions. One line
a case; logits [i] belong to token i.
  xtc, logit_bias   params, logits, kept: the remaining [id, logit], ids ascending (-infinity is "removed")
  mirostat          params (temp: applied before it), steps: logits, kept ids ascending, and the id that llama.cpp drew, from which
                    it learned for the next step
"""
import ctypes
import json
import math
import random
import sys

import llama_cpp

SEED = 5
ZIPF_ESTIMATE = 100  # of how many tokens Mirostat 1 takes the exponent, as llama.cpp's own programs do


def made_up_logits(rng, n, spread):
    """Like a model's: a few large ones, a long tail. Multiples of 1/128 (exact in float32), no two equal."""
    values = set()
    while len(values) < n:
        values.add(round(128 * (spread * rng.gauss(0, 1) - 1.3 * math.log(1 + len(values)))) / 128)
    return rng.sample(sorted(values), n)


def apply(sampler, pairs):
    """What the sampler leaves of [(id, logit)], and the index that it drew (-1: none)."""
    data = (llama_cpp.llama_token_data * len(pairs))(*[(i, x, 0.0) for i, x in pairs])
    array = llama_cpp.llama_token_data_array(data, len(pairs), -1, False)
    llama_cpp.llama_sampler_apply(sampler, ctypes.byref(array))
    return [(array.data[i].id, array.data[i].logit) for i in range(array.size)], array.selected


def kept(pairs):
    return [[i, float(f"{x:.9g}")] for i, x in sorted(pairs) if x != -math.inf]


def emit(**case):
    print(json.dumps(case, separators=(",", ":")))


def xtc_cases(rng):
    for n, spread in [(2, 1.0), (8, 0.5), (24, 2.0)]:
        logits = made_up_logits(rng, n, spread)
        for threshold in (0.02, 0.05, 0.1, 0.25, 0.5, 0.6):
            for min_keep in (0, n - 1):
                sampler = llama_cpp.llama_sampler_init_xtc(1.0, threshold, min_keep, SEED)  # acts in every step
                left, _ = apply(sampler, list(enumerate(logits)))
                llama_cpp.llama_sampler_free(sampler)
                emit(sampler="xtc", params={"threshold": threshold, "min_keep": min_keep}, logits=logits, kept=kept(left))


def logit_bias_cases(rng):
    for biases in ([], [(0, 1.5)], [(3, -2.25), (11, 100.0)], [(5, -math.inf)], [(2, 1.0), (2, 0.5)], [(1, -math.inf), (1, 7.0)]):
        logits = made_up_logits(rng, 12, 1.0)
        array = (llama_cpp.llama_logit_bias * len(biases))(*biases)
        sampler = llama_cpp.llama_sampler_init_logit_bias(len(logits), len(biases), array)
        left, _ = apply(sampler, list(enumerate(logits)))
        llama_cpp.llama_sampler_free(sampler)
        spelled = [[i, "-inf" if b == -math.inf else b] for i, b in biases]
        emit(sampler="logit_bias", params={"biases": spelled}, logits=logits, kept=kept(left))


def mirostat_sampler(version, n, tau, eta):
    if version == 1:
        return llama_cpp.llama_sampler_init_mirostat(n, SEED, tau, eta, ZIPF_ESTIMATE)
    return llama_cpp.llama_sampler_init_mirostat_v2(SEED, tau, eta)


def mirostat_case(rng, version, n, temp, tau, eta):
    sampler = mirostat_sampler(version, n, tau, eta)
    temperature = llama_cpp.llama_sampler_init_temp(temp)
    steps = []
    for _ in range(6):
        logits = made_up_logits(rng, n, 1.0)
        heated, _ = apply(temperature, list(enumerate(logits)))
        left, drawn = apply(sampler, heated)
        steps.append({"logits": logits, "kept": sorted(i for i, _ in left), "drawn": left[drawn][0]})
    for s in (sampler, temperature):
        llama_cpp.llama_sampler_free(s)
    emit(sampler="mirostat", params={"version": version, "temp": temp, "tau": tau, "eta": eta}, steps=steps)


def main():
    if llama_cpp.__version__ != "0.3.36":
        sys.exit(f"make_llama_cpp_samples: llama-cpp-python {llama_cpp.__version__}, expected 0.3.36 (tools/make_peer.sh)")
    rng = random.Random(1)
    xtc_cases(rng)
    logit_bias_cases(rng)
    for version in (1, 2):
        for n, temp, tau, eta in [(30, 1.0, 1.5, 0.1), (120, 1.0, 2.0, 0.5), (120, 0.7, 3.0, 0.3), (60, 1.5, 4.0, 0.4)]:
            mirostat_case(rng, version, n, temp, tau, eta)


if __name__ == "__main__":
    main()
