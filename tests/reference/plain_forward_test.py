#!/usr/bin/env python3
"""Holds `lockstep trace --logits` against plain_forward.py on random models that are made for it.

    plain_forward_test.py LOCKSTEP
"""
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import plain_forward
except ImportError:
    print("skipped: the Python packages gguf and numpy are not there (tools/fetch_gguf_package.sh)")
    sys.exit(77)

ROOT = pathlib.Path(__file__).parents[2]
VOCABULARY = ROOT / "tests/data/models/mini-llama.Q4_0.gguf"
SHAPES = ["mini-mistral3", "mini-mixtral", "mini-qwen3moe", "mini-qwen3", "mini-yarn", "mini-gemma2", "mini-gemma3"]
N_TOKENS = 200  # three original contexts of mini-mistral3, two chunks of attention, six windows of the gemmas
MOST_NMSE = 1e-11
# What GELU rounds to half precision may fall on either side. So these are held to the distance of plain_forward.py from
# itself, with products as far off as those of fp32: 3e-7 takes other families' logits as far (1e-12) as lockstep is.
AGAINST_NOISE = {"mini-gemma2", "mini-gemma3"}
PRODUCT_ERROR = 3e-7
MOST_TIMES_NOISE = 3


def run(*command):
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def nmse(got, wanted):
    return ((got - wanted) ** 2).sum() / (wanted ** 2).sum()


def check(lockstep, shape, folder):
    model, logits = folder / f"{shape}.gguf", folder / "logits"
    run(sys.executable, ROOT / "tools/make_model.py", shape, VOCABULARY, model, "--tokens", 2048)
    ids = random.Random(shape).choices(range(2048), k=N_TOKENS)
    run(lockstep, "trace", model, "--ids", ",".join(map(str, ids)), "--logits", logits)
    wanted = plain_forward.logits(model, ids)
    difference = nmse(np.fromfile(logits, "<f4").reshape(wanted.shape).astype(np.float64), wanted)
    bound = MOST_NMSE
    if shape in AGAINST_NOISE:
        bound = MOST_TIMES_NOISE * nmse(plain_forward.logits(model, ids, PRODUCT_ERROR), wanted)
    print(f"{shape}: NMSE {difference:.1e}, at most {bound:.1e}")
    return difference <= bound


def main():
    with tempfile.TemporaryDirectory() as folder:
        results = [check(sys.argv[1], shape, pathlib.Path(folder)) for shape in SHAPES]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
