#!/usr/bin/env python3
"""Prints tests/data/sampling/draws.jsonl: which tokens a seed draws, computed from the definition alone.

An independent implementation: Philox 4x32-10 from the paper, stages in exact float32 where the engine divides or scales in
float32, Python's own exp and log for the probabilities. One line a case: seed, params, n and salt of make_logits (the test has the same formula), ids of step 0, 1, ...
"""
import json
import math
import struct

STEPS = 32


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def uniform(seed, step):
    x = philox((step & 0xFFFFFFFF, step >> 32, 0, 0), (seed & 0xFFFFFFFF, seed >> 32))
    return (((x[0] << 32) | x[1]) >> 11) * 2.0**-53


def softmax(candidates):
    weights = [math.exp(logit - candidates[0][1]) for _, logit in candidates]
    total = sum(weights)
    return [w / total for w in weights]


def ranked(candidates):
    return sorted(candidates, key=lambda c: (-c[1], c[0]))


def sample(logits, params, u):
    bias = {int(k): v for k, v in params.get("logit_bias", {}).items()}
    candidates = ranked([(i, f32(x + bias.get(i, 0.0))) for i, x in enumerate(logits)])
    if params["top_k"] > 0:
        candidates = candidates[: params["top_k"]]
    if params["top_p"] < 1:
        total, kept = 0.0, 0
        for p in softmax(candidates):
            total, kept = total + p, kept + 1
            if total >= f32(params["top_p"]):
                break
        candidates = candidates[:kept]
    if params["min_p"] > 0:
        lowest = candidates[0][1] + math.log(f32(params["min_p"]))
        candidates = [c for c in candidates if c[1] >= lowest]
    if params["temp"] <= 0:
        return candidates[0][0]
    candidates = ranked([(i, f32(x / f32(params["temp"]))) for i, x in candidates])
    cumulative = 0.0
    for (token, _), p in zip(candidates, softmax(candidates)):
        cumulative += p
        if u < cumulative:
            return token
    return candidates[-1][0]


def make_logits(n, salt):
    """Multiples of 1/64 (exact in float32), some of them equal."""
    return [((i * 7919 + salt * 104729) % 641 - 320) / 64.0 for i in range(n)]


DEFAULTS = {"temp": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05}
CASES = [
    (0, 100, {}),
    (42, 100, {}),
    (0xFFFFFFFFFFFFFFFF, 100, {"temp": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}),
    (1 << 32, 1000, {"temp": 1.5, "top_k": 0, "top_p": 1.0, "min_p": 0.0}),
    (7, 3000, {"temp": 2.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}),
    (123456789, 100, {"temp": 1e30}),
    (5, 60, {"top_k": 3, "top_p": 1.0, "min_p": 0.0, "temp": 3.0}),
    (5, 60, {"logit_bias": {"3": 1.5, "59": 4.25}, "temp": 2.5}),
    (6, 1000, {"top_k": 0, "top_p": 0.7, "min_p": 0.0, "temp": 1.0}),
    (6, 1000, {"top_k": 0, "top_p": 1.0, "min_p": 0.2, "temp": 1.0}),
    (9, 100, {"temp": 0.0}),
]


def main():
    for salt, (seed, n, changes) in enumerate(CASES):
        params = {**DEFAULTS, **changes}
        logits = make_logits(n, salt)
        ids = [sample(logits, params, uniform(seed, step)) for step in range(STEPS)]
        print(json.dumps({"seed": seed, "params": params, "n": n, "salt": salt, "ids": ids}, separators=(",", ":")))


if __name__ == "__main__":
    main()
