#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets: make_fuzz_seeds.py tests/fuzz/corpus

A few small inputs for each target in the form that it takes (the comment that opens tests/fuzz/NAME_fuzz.cpp). Files are
named seed-WHAT; everything else in the folders (findings that are kept) stays as it is. The same bytes every time.
"""
import json
import pathlib
import struct
import sys

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
FORMATS = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "?", U64: "Q", I64: "q", F64: "d"}
TENSOR_TYPES = {0: (1, 4), 1: (1, 2), 2: (32, 18), 8: (32, 34), 12: (256, 144)}  # number: elements and bytes of a block


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(data)) + data


def value_bytes(kind, value):
    if kind == STRING:
        return text(value)
    if kind == ARRAY:
        element, items = value
        return struct.pack("<IQ", element, len(items)) + b"".join(value_bytes(element, item) for item in items)
    return struct.pack("<" + FORMATS[kind], value)


def gguf(keys, tensors, alignment=32, version=3):
    """keys: (name, kind, value); tensors: (name, dims, type)."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(keys))
    for name, kind, value in keys:
        head += text(name) + struct.pack("<I", kind) + value_bytes(kind, value)
    data = b""
    for name, dims, kind in tensors:
        elements = 1
        for dim in dims:
            elements *= dim
        data += b"\0" * (-len(data) % alignment)
        head += text(name) + struct.pack("<I", len(dims)) + struct.pack(f"<{len(dims)}Q", *dims)
        head += struct.pack("<IQ", kind, len(data))
        block, size = TENSOR_TYPES[kind]
        data += b"\x11" * (elements // block * size)
    return head + b"\0" * (-len(head) % alignment) + data


EVERY_TYPE = [(f"k.{kind}", kind, 1) for kind in FORMATS] + [("k.text", STRING, "caf\u00e9\0x")]
EVERY_ARRAY = [(f"a.{kind}", ARRAY, (kind, [1, 0, 1])) for kind in FORMATS] + [("a.text", ARRAY, (STRING, ["", "b"]))]


def hyper_parameters(arch, more=()):
    sizes = {"block_count": 2, "context_length": 128, "embedding_length": 64, "feed_forward_length": 96}
    sizes |= {"attention.head_count": 4, "attention.head_count_kv": 2, "rope.dimension_count": 16}
    keys = [("general.architecture", STRING, arch)] + [(f"{arch}.{name}", U32, value) for name, value in sizes.items()]
    keys += [(f"{arch}.attention.layer_norm_rms_epsilon", F32, 1e-5), (f"{arch}.rope.freq_base", F32, 10000.0)]
    return keys + [(f"{arch}.{name}", kind, value) for name, kind, value in more]


TENSORS = [("token_embd.weight", (32, 2), 8), ("a", (3,), 0), ("b", (2, 2, 2, 1), 1), ("c", (256,), 12)]
YARN = [("rope.scaling.type", STRING, "yarn"), ("rope.scaling.factor", F32, 4.0)]
YARN += [("rope.scaling.original_context_length", U32, 64)]
GEMMA = [("attention.sliding_window", U32, 32), ("attn_logit_softcapping", F32, 50.0), ("attention.key_length", U32, 16)]
GRANITE = [("logit_scale", F32, 8.0), ("embedding_scale", F32, 12.0), ("residual_scale", F32, 0.2)]


def gguf_seeds():
    yield "empty", gguf([], [])
    yield "types", gguf(EVERY_TYPE + EVERY_ARRAY, TENSORS)
    yield "aligned", gguf([("general.alignment", U32, 64)], TENSORS, alignment=64, version=2)
    yield "cut", gguf([], TENSORS)[:-1]
    yield "llama", gguf(hyper_parameters("llama"), TENSORS)
    yield "yarn", gguf(hyper_parameters("llama", YARN), [])
    yield "gemma2", gguf(hyper_parameters("gemma2", GEMMA), [])
    yield "granite", gguf(hyper_parameters("granite", GRANITE), [])
    yield "qwen2", gguf(hyper_parameters("qwen2", [("attention.causal", BOOL, True)]), [])


def shard(i, count, tensors, n_tensors):
    keys = [("split.no", U16, i), ("split.count", U16, count), ("split.tensors.count", I32, n_tensors)]
    return gguf(keys, tensors)


def files(*contents):
    return struct.pack("<H", len(contents) - 1) + b"".join(struct.pack("<H", len(data)) + data for data in contents)


def split_seeds():
    parts = [shard(i, 3, [TENSORS[i]], 3) for i in range(3)]
    yield "three", files(*parts)
    yield "missing", files(*parts[:2])
    yield "swapped", files(parts[0], parts[2], parts[1])
    yield "twice", files(parts[0], parts[1], shard(2, 3, [TENSORS[1]], 3))
    yield "alone", files(gguf([], TENSORS))


TEXTS = {
    "words": "Hello, hello world! it's 1234567 lines\n\n\twith  spaces  ",
    "unicode": "Caf\u00e9 \u4f60\u597d \U0001f680 e\u0301 \u2581x \u0e01\u0e33 \u1100\u1161",
    "special": "<|x|>hello[U]<|xy|> <|x",
    "bytes": b"\xe2\x80 \xc0\x80 \xed\xa0\x80 \xf5 \xff \0 ab",
    "cut": "caf\u00e9 \u2026".encode()[:-1],
    "runs": "a" * 60 + " " * 40 + "\n" * 20 + "9" * 30,
}


def tokenizer_seeds():
    for i, (name, content) in enumerate(TEXTS.items()):
        data = content if isinstance(content, bytes) else content.encode()
        for choice in (i, i + 20, i + 40, 255):
            yield f"{name}-{choice}", bytes([choice, 3]) + data


def short(data):
    data = data if isinstance(data, bytes) else data.encode()
    return bytes([len(data)]) + data


def vocabulary(kind, pre, all_bytes, tokens, merges, ids, flags, content):
    data = struct.pack("<HBB", kind, pre, all_bytes) + struct.pack("<H", len(tokens))
    for token, token_type, score in tokens:
        data += short(token) + struct.pack("<bf", token_type, score)
    data += b"\0"
    if kind != 1:
        data += struct.pack("<H", len(merges)) + b"".join(short(merge) for merge in merges)
    return data + bytes(ids) + bytes([flags]) + content.encode()


def vocab_seeds():
    pieces = [("he", 1, 0), ("ll", 1, -1), ("hell", 1, -2), ("<|x|>", 3, 0), ("[U]", 4, 0), ("\u0120a", 1, 0)]
    spelled = [("<unk>", 2, 0), ("<s>", 3, 0), ("</s>", 3, 0), ("\u2581", 1, -1), ("\u2581a", 1, 0), ("<0x41>", 6, 0)]
    ids = [0, 0, 0, 0, 0, 0, 0]
    yield "bpe", vocabulary(0, 10, 1, pieces, ["h e", "l l", "he ll"], ids, 0, "hello <|x|>[U] a")
    yield "bpe-ids", vocabulary(0, 40, 1, pieces, ["h e", "x y"], [4, 5, 1, 0, 200, 2, 3], 0x3F, "hell")
    yield "spm", vocabulary(1, 0, 1, spelled, [], ids, 0, "a a  a\nA")
    yield "spm-few", vocabulary(1, 0, 0, spelled, [], [2, 3, 0, 0, 1, 0, 0], 0x15, "aXa")
    yield "gemma4", vocabulary(2, 0, 0, spelled + [("\n", 1, 0), ("\n\n", 1, 0)], ["\n \n"], ids, 0, "a\n\nb")


def long_text(data):
    return struct.pack("<H", len(data.encode())) + data.encode()


CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
TEMPLATES = {
    "chatml": CHATML,
    "loops": "{% for i in range(9) %}{% if loop.first %}{{ i }}{% endif %}{{ '%02d' | format(i) }}{% endfor %}",
    "macro": "{% macro f(x) %}{{ x | upper }}{% endmacro %}{{ f(messages[0].content) }}{{ messages | tojson(indent=2) }}",
    "raise": "{{ raise_exception('no') }}",
    "namespace": "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}",
    "filters": "{{ messages | map(attribute='content') | join(',') | trim | replace('a', 'b') }}{{ strftime_now('%Y') }}",
}


def chat_template_seeds():
    messages = struct.pack("<H", 1) + b"".join(struct.pack("<H", role) + long_text(t) for role, t in ((2, "be"), (0, "hi<|im_end|>")))
    for known in range(3):
        yield f"known-{known}", struct.pack("<HH", 0, known) + messages + b"\1"
    for name, template in TEMPLATES.items():
        yield f"any-{name}", struct.pack("<H", 1) + long_text(template) + messages
    variables = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": None}], "x": [1, 2.5, None, {"y": True}]}
    yield "variables", struct.pack("<H", 2) + long_text("{{ x }}{{ x | tojson }}" + CHATML) + json.dumps(variables).encode()
    yield "saved", struct.pack("<H", 2) + long_text(CHATML) + json.dumps({"messages": variables["messages"], "dropped": 1}).encode()


def text_stream_seeds():
    def seed(stops, data):
        return struct.pack("<H", len(stops)) + b"".join(short(stop) for stop in stops) + data
    yield "plain", seed([], b"hello \xc3\xa9 \xf0\x9f\x9a\x80 end")
    yield "stops", seed(["ab", "abc", "\n\n", "the"], b"xxabaab\nthe \xf8\xf9\xfb")
    yield "overlap", seed(["aab", "b"], b"aaaaab")
    yield "begun", seed(["abc", "bd"], b"xxab")
    yield "cut", seed(["abc"], b"caf\xc3\xa9 \xe2\x80")
    yield "halves", seed(["\U0001f680"], b"\xf0\x9f\x9a\xf0\x9f\x9a\x80\xe2\x80\xfa\2more")


LOG = """common_debug_cb_eval:                     embd = (f32)   GET_ROWS(token_embd.weight{256, 4, 1, 1}, inp_tokens{2, 1, 1, 1}}) = {8, 2, 1, 1}
[
 [
  [      0.1, -0.2, 0.3, ..., 0.4, 0.5, 0.6     ],
  [      1.0, 2.0, 3.0, ..., 4.0, 5.0, 6.0     ],
 ],
]
sum = 22.7
"""


def reference_seeds():
    entry = {"name": "embd", "op": "GET_ROWS", "type": "f32", "ne": [4, 2, 1, 1], "sum": 0.5, "sumsq": 2.0}
    entry |= {"min": -1.0, "max": 1.0, "first": [0.1, 0.2, 0.3, 0.4], "last": [1.0, 2.0, 3.0, 4e-5]}
    head = {"prompt": "a b", "ids": [1, 2], "kv": "f32", "compute": "exact"}
    lines = [head, entry, entry | {"name": "norm-0", "op": "RMS_NORM", "ne": [8]}]
    yield "trace", "\n".join(json.dumps(line) for line in lines).encode() + b"\n"
    yield "cut", (json.dumps(head) + "\n" + json.dumps(entry)[:60]).encode()
    yield "log", (LOG + LOG.replace("embd", "norm-0").replace("GET_ROWS", "RMS_NORM")).encode()
    yield "log-nan", LOG.replace("0.1", "nan").replace("22.7", "inf").encode()


def session_file_seeds():
    yield "bytes", b"\0LOCKSESS\1\0\0\0" + b"\0" * 120
    yield "sum", b"\2LOCKSESS\1\0\0\0" + b"\0" * 120
    for offset in (0, 8, 12, 22, 32, 64, 72, 80, 88, 96, 104, 112, 114, 130):
        yield f"change-{offset}", b"\3" + struct.pack("<H", offset) + short(b"\x01\xff")
    yield "same", b"\1"


def base_file_seeds():
    yield "bytes", b"\0lockbase\1\0\0\0" + b"\0" * 120
    for offset in (0, 8, 12, 16, 20, 24, 28, 32, 64, 96, 160, 600):
        yield f"change-{offset}", b"\3" + struct.pack("<H", offset) + short(b"\x01\xff")
    yield "infinite", b"\3" + struct.pack("<H", 168) + short(b"\0\0\x80\x7f")
    yield "same", b"\1"


def manifest_seeds():
    def layer(kind, digit):
        return {"mediaType": f"application/vnd.ollama.image.{kind}", "digest": "sha256:" + digit * 64}
    layers = [layer("model", "a"), layer("template", "1"), layer("params", "2")]
    yield "whole", json.dumps({"schemaVersion": 2, "layers": layers}).encode()
    yield "no-model", json.dumps({"layers": layers[1:]}).encode()
    yield "outside", json.dumps({"layers": [layers[0] | {"digest": "sha256:../../etc/passwd"}]}).encode()
    yield "no-layers", b'{"layers":{}}'


# What complete --json answers, as far as replay reads it.
RECORDING = {
    "prompt_ids": [1, 2], "ids": [3, 4], "text": "x", "finish": "length", "n_prompt": 2, "n_generated": 2,
    "receipt": {
        "model": {"tree_xxh128": "7d25cb85edf3d9b895104437a05d559d", "bytes": 1320416}, "isa": "avx512", "compute": "fast",
        "kv_type": "f16", "ctx": 2048, "rope_set": None, "seed": 9461283148735384237,
        "samplers": [
            {"stage": "penalties", "repeat_last_n": 64, "repeat_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0},
            {"stage": "dry", "dry_multiplier": 0.0, "dry_base": 1.75, "dry_allowed_length": 2, "dry_penalty_last_n": 64,
             "dry_sequence_breaker": ["\n", ":"]},
            {"stage": "top_k", "top_k": 40}, {"stage": "top_p", "top_p": 0.95, "min_keep": 0},
            {"stage": "xtc", "xtc_probability": 0.0, "xtc_threshold": 0.1, "min_keep": 0},
            {"stage": "temperature", "temp": 0.8, "dynatemp_range": 0.0, "dynatemp_exp": 1.0}],
        "n_predict": 2, "ignore_eos": False, "stop": ["a"], "logit_bias": [[5, -1.5]], "version": "0.1.0"},
}


REQUESTS = [
    {"text": "hello", "n_predict": 3, "temp": 0.5, "top_k": 4, "seed": 7, "stop": ["a", "b"]},
    {"ids": [1, 2, 300, 2147483647], "ignore_eos": True, "logit_bias": {"5": -1.5, "7": False}},
    {"bytes": [255, 0, 128], "top_p": 0.9, "min_p": None, "logprobs": 2, "logit_bias": [[1, 2.5], "9-inf"]},
    {"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}, {"role": "assistant", "content": None}]},
    {"text": "x", "samplers": "top_k;temperature", "dry_sequence_breaker": ["\n"], "repeat_penalty": 1.1, "mirostat": 2},
]


def request_seeds():
    for i, request in enumerate(REQUESTS):
        yield f"good-{i}", json.dumps(request).encode()
    yield "recording", json.dumps(RECORDING).encode()
    yield "recording-cut", json.dumps(RECORDING | {"receipt": {"model": RECORDING["receipt"]["model"]}}).encode()
    for i, line in enumerate((b"{:", b"[" * 80, b'{"text":1e999}', b'{"text":"\\ud800"}', b'{"text":"\xff"}', b'{"a":1,"a":2}')):
        yield f"bad-{i}", line


def isa_equivalence_seeds():
    for kind in range(24):  # a product of each type
        yield f"product-{kind}", struct.pack("<HHHHH", 2 + kind % 2, kind, 1, 19, 4) + struct.pack("<HI", 0, kind)
    for kind in range(4):
        yield f"vectors-{kind}", struct.pack("<HH", 0, 30 + kind) + bytes(range(40)) * 3
        yield f"attention-{kind}", struct.pack("<HHHHHH", 1, kind, 2, 19, 3, kind) + bytes(range(40)) * 3


def main():
    corpus = pathlib.Path(sys.argv[1])
    for name, make in sorted(globals().items()):
        if not name.endswith("_seeds"):
            continue
        folder = corpus / name.removesuffix("_seeds")
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("seed-*"):
            old.unlink()
        for seed, data in make():
            (folder / f"seed-{seed}").write_bytes(data)


if __name__ == "__main__":
    main()
