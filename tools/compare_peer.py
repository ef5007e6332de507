#!/usr/bin/env python3
"""Holds lockstep's logits against those of llama.cpp itself, for a random model of every family.

usage: compare_peer.py LOCKSTEP [SHAPE...]

Run by `make peer-families` with the Python of .peer/ (llama-cpp-python 0.3.36). Models are F32, so is the cache, and
flash attention is off: what is left are roundings. Each shape of tools/make_model.py runs with a prompt that is longer
than its window and its original context. Exits with status 1 when one differs by more than its bound.
"""
import ctypes
import pathlib
import random
import subprocess
import sys
import tempfile

import llama_cpp
import numpy as np

ROOT = pathlib.Path(__file__).parents[1]
VOCABULARY = ROOT / "tests/data/models/mini-llama.Q4_0.gguf"
N_TOKENS = 200
CONTEXT = {"mini-phi3": 1024}  # the context chooses its factors: at most the original one, the short ones
MOST_NMSE = 1e-10
# llama.cpp's GELU is a table of half-precision numbers, which makes of an ulp before it a thousand (NUMERICS.md): these
# are held to the distance of llama.cpp from itself, when it takes the prompt token by token and adds in another order.
AGAINST_ITSELF = {"mini-gemma2", "mini-gemma3"}
MOST_TIMES_ITSELF = 4


def all_shapes():
    sys.path.insert(0, str(ROOT / "tools"))
    import make_model
    return [name for name in make_model.SHAPES if name.startswith("mini-")]


def peer_logits(path, ids, context, at_once=N_TOKENS):
    params = llama_cpp.llama_context_default_params()
    params.n_ctx, params.n_batch, params.n_ubatch = context, N_TOKENS, at_once
    params.n_threads = params.n_threads_batch = 2
    params.flash_attn_type = 0
    params.type_k = params.type_v = 0
    model = llama_cpp.llama_model_load_from_file(str(path).encode(), llama_cpp.llama_model_default_params())
    if not model:
        raise SystemExit(f"compare_peer: llama.cpp does not load {path}")
    ctx = llama_cpp.llama_init_from_model(model, params)
    batch = llama_cpp.llama_batch_init(len(ids), 0, 1)
    batch.n_tokens = len(ids)
    for i, token in enumerate(ids):
        batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, i, 1, True
        batch.seq_id[i][0] = 0
    if llama_cpp.llama_decode(ctx, batch) != 0:
        raise SystemExit("compare_peer: llama_decode failed")
    n_vocab = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
    rows = llama_cpp.llama_get_logits(ctx)
    logits = np.ctypeslib.as_array(ctypes.cast(rows, ctypes.POINTER(ctypes.c_float)), (len(ids), n_vocab)).copy()
    llama_cpp.llama_batch_free(batch)
    llama_cpp.llama_free(ctx)
    llama_cpp.llama_model_free(model)
    return logits.astype(np.float64)


def nmse(got, wanted):
    return ((got - wanted) ** 2).sum() / (wanted ** 2).sum()


def compare(lockstep, shape, folder):
    model, logits = folder / f"{shape}.gguf", folder / "logits"
    make = [sys.executable, ROOT / "tools/make_model.py", shape, VOCABULARY, model, "--tokens", "2048", "--dtype", "f32"]
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
    ids = random.Random(shape).choices(range(2048), k=N_TOKENS)
    context = CONTEXT.get(shape, 2048)
    subprocess.run([lockstep, "trace", model, "--ids", ",".join(map(str, ids)), "--logits", logits, "-c", str(context)],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wanted = peer_logits(model, ids, context)
    got = np.fromfile(logits, "<f4").reshape(wanted.shape).astype(np.float64)
    difference, bound, note = nmse(got, wanted), MOST_NMSE, ""
    if shape in AGAINST_ITSELF:
        itself = nmse(peer_logits(model, ids, context, at_once=1), wanted)
        bound, note = max(MOST_NMSE, MOST_TIMES_ITSELF * itself), f", llama.cpp from itself {itself:.1e}"
    verdict = "equal" if difference <= bound else f"DIFFERS (bound {bound:.0e})"
    print(f"{shape:16} NMSE {difference:.1e}  {verdict}{note}", flush=True)
    model.unlink()
    return difference <= bound


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__.strip().splitlines()[2])
    llama_cpp.llama_backend_init()
    quiet = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda *_: None)
    llama_cpp.llama_log_set(quiet, ctypes.c_void_p(0))
    with tempfile.TemporaryDirectory() as folder:
        results = [compare(sys.argv[1], shape, pathlib.Path(folder)) for shape in sys.argv[2:] or all_shapes()]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
