#!/usr/bin/env python3
"""Prints tests/data/sampling/draws.jsonl: which tokens a seed draws, computed from the definition alone.

An independent implementation of what NUMERICS.md says "From logits to a token": Philox 4x32-10 from the paper, weights and
divisions rounded to float32 one by one, sums of integers, everything sorted. Python's own log for min_p. One line a case: seed,
params, n and salt of make_logits (the test has the same formula), steps and the ids drawn there.

The cases of NEAR have steps alone at which weights in double precision would draw another token.
"""
import functools
import json
import math
import struct

STEPS = 32
POLYNOMIAL = ["0x1.5bba14p20", "0x1.3cea88p23", "0x1.c6b752p25", "0x1.ebf9bcp27", "0x1.62e42ap29", "0x1p30"]


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


@functools.cache
def weight(depth):
    """exp(-depth) in units of 2^-30. Sums and products of float32 are right when they are rounded from double precision."""
    t = f32(min(f32(depth), 22.0) * -f32(math.log2(math.e)))
    n = int(f32(t - 0.5))  # towards zero
    f = f32(t - n)
    y = 0.0
    for coefficient in POLYNOMIAL:
        y = f32(f32(y * f) + float.fromhex(coefficient))
    return int(f32(math.ldexp(y, n) + 0.5))


def weight_in_doubles(depth):
    return 2.0**30 * math.exp(-depth)


def weigh(candidates, weight):
    return [weight(candidates[0][1] - logit) for _, logit in candidates]


def ranked(candidates):
    return sorted(candidates, key=lambda c: (-c[1], c[0]))


def first(weights, enough):
    """How many weights it takes until their sum is enough."""
    so_far = 0
    for count, w in enumerate(weights, 1):
        so_far += w
        if enough(so_far):
            return count
    return len(weights)


def distribution(logits, params, weight):
    """What a step may draw from, best first."""
    bias = {int(k): v for k, v in params.get("logit_bias", {}).items()}
    candidates = ranked([(i, f32(x + bias.get(i, 0.0))) for i, x in enumerate(logits)])
    if params["top_k"] > 0:
        candidates = candidates[: params["top_k"]]
    if params["top_p"] < 1:
        weights = weigh(candidates, weight)
        share = f32(params["top_p"]) * sum(weights)
        candidates = candidates[: first(weights, lambda so_far: so_far >= share)]
    if params["min_p"] > 0:
        lowest = candidates[0][1] + math.log(f32(params["min_p"]))
        candidates = [c for c in candidates if c[1] >= lowest]
    if params["temp"] <= 0:
        return candidates[:1]
    return ranked([(i, f32(x / f32(params["temp"]))) for i, x in candidates])


def draws(logits, params, seed, steps, weight=weight):
    candidates = distribution(logits, params, weight)
    weights = weigh(candidates, weight)
    total = sum(weights)
    ids = []
    for step in steps:
        share = uniform(seed, step) * total  # exceeded by whole weights at floor(share) + 1
        ids.append(candidates[first(weights, lambda so_far: so_far > share) - 1][0])
    return ids


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

OPEN = {"temp": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
# salt, seed, n, changes, steps (found by search among the first 2^22)
NEAR = [
    (11, 12, 20000, {**OPEN, "temp": 1.0}, [
        45305, 45887, 80818, 142177, 226329, 229984, 253688, 274423, 280471, 300658, 323033, 354416, 377047,
        451098, 452645, 511920, 535643, 546174, 578889, 609744, 635598, 666809, 687224, 716677, 736030,
        737597, 801029, 854309, 870110, 944682, 997947, 1108788,
    ]),
    (12, 13, 20000, {**OPEN, "temp": 3.0}, [
        21138, 47947, 54782, 55964, 64958, 76635, 80673, 104840, 123546, 137702, 166874, 184071, 185675,
        203479, 210571, 217452, 233623, 235383, 250452, 262943, 263542, 267781, 273138, 273885, 279182,
        285756, 296969, 299929, 317441, 325415, 341706, 348152,
    ]),
    (13, 14, 5000, {**OPEN, "temp": 2.0}, [
        168987, 243254, 287116, 380675, 389331, 447295, 548943, 636280, 654077, 743242, 768063, 779804,
        1139224, 1257223, 1338204, 1443426, 1461121, 1609464, 1655408, 1803975, 1962255, 1998112, 2127394,
        2235991, 2357293, 2392446, 2439382, 2546467, 2587858, 2596719, 2608185, 2935314,
    ]),
    (14, 15, 3000, {**OPEN, "temp": 0.5}, [
        52731, 446447, 665212, 685247, 745467, 1117590, 1277424, 1308032, 1486477, 2274463, 2350178, 2355529,
        2501012, 2943326, 2977851, 3223016, 3321704, 3596103, 3675197,
    ]),
    (15, 0x8000000000000005, 8000, {**OPEN, "temp": 0.9}, [
        47435, 51438, 129805, 199810, 258206, 322418, 326643, 408536, 448591, 558015, 821212, 898433, 1002209,
        1057694, 1182151, 1271389, 1304514, 1442516, 1718286, 1752592, 1879788, 1884342, 1949266, 2030751,
        2128470, 2301228, 2325153, 2332057, 2538432, 2563318, 2724590, 2729294,
    ]),
]
# salt, n, top_p: next to the sum of some tokens, so that one token more or fewer is kept
NEAR_SHARES = [
    (18, 60, 0.6827586), (18, 200, 0.35749385), (18, 200, 0.44555113), (18, 200, 0.47399816), (19, 60, 0.8230224), (19, 200, 0.53593785),
    (19, 200, 0.6013858), (20, 200, 0.5587249), (21, 200, 0.29863462), (22, 200, 0.58467335), (23, 200, 0.5405629), (24, 60, 0.8291235),
    (25, 200, 0.47878718), (26, 60, 0.7302357),
]


def near_cases():
    for salt, seed, n, changes, steps in NEAR:
        yield salt, seed, n, changes, steps
    for salt, n, top_p in NEAR_SHARES:
        yield salt, salt, n, {**OPEN, "top_p": top_p}, range(1000)


def print_case(salt, seed, n, params, steps, ids):
    line = {"seed": seed, "params": params, "n": n, "salt": salt, "steps": list(steps), "ids": ids}
    print(json.dumps(line, separators=(",", ":")))


def main():
    for salt, (seed, n, changes) in enumerate(CASES):
        params = {**DEFAULTS, **changes}
        print_case(salt, seed, n, params, range(STEPS), draws(make_logits(n, salt), params, seed, range(STEPS)))
    for salt, seed, n, params, steps in near_cases():
        logits = make_logits(n, salt)
        both = zip(steps, draws(logits, params, seed, steps), draws(logits, params, seed, steps, weight_in_doubles))
        near = [(step, token) for step, token, other in both if token != other][:STEPS]
        assert near, f"no step tells the definitions apart with salt {salt}"
        print_case(salt, seed, n, params, *zip(*near))


if __name__ == "__main__":
    main()
