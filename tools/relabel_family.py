#!/usr/bin/env python3
"""A llama file's weights as if they were another family's, to compare how fast families run at equal sizes.

relabel_family.py LLAMA.gguf FAMILY OUT.gguf

Matrices are copied, fused where the family fuses them; norms that the family has and llama has not are ones. The feed-forward
of a mixture of experts is cut into its experts, so that all together are as large; their router is random. The text that such
a model writes means nothing.
"""
import sys

import numpy
from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter

ONES_PER_LAYER = {  # name: which size of the model
    "qwen2": {"attn_q.bias": "q", "attn_k.bias": "kv", "attn_v.bias": "kv"},
    "qwen3": {"attn_q_norm.weight": "head", "attn_k_norm.weight": "head"},
    "olmo2": {"attn_q_norm.weight": "q", "attn_k_norm.weight": "kv", "post_attention_norm.weight": "embd",
              "post_ffw_norm.weight": "embd"},
    "gemma2": {"post_attention_norm.weight": "embd", "post_ffw_norm.weight": "embd"},
    "gemma3": {"attn_q_norm.weight": "head", "attn_k_norm.weight": "head", "post_attention_norm.weight": "embd",
               "post_ffw_norm.weight": "embd"},
    "qwen3moe": {"attn_q_norm.weight": "head", "attn_k_norm.weight": "head"},
    "llama": {}, "smollm3": {}, "granite": {}, "phi3": {}, "mixtral": {}, "mixtral-dense": {}, "qwen3moe-dense": {},
}
ARCHITECTURE = {"mixtral": "llama", "mixtral-dense": "llama", "qwen3moe-dense": "llama"}
EXPERTS = {"mixtral": (8, 2), "qwen3moe": (32, 4)}  # in all, used by a token
DENSE = {"mixtral-dense": (8, 2), "qwen3moe-dense": (32, 4)}  # a llama with what a token uses of these
KEYS = {
    "gemma2": {"attention.sliding_window": 4096},
    "gemma3": {"attention.sliding_window": 512},
    "granite": {"embedding_scale": 12.0, "residual_scale": 0.22, "logit_scale": 8.0, "attention.scale": 0.125},
}
LEFT_OUT = {"olmo2": ("attn_norm.weight", "ffn_norm.weight")}


def copy_keys(reader, writer, family):
    old = reader.fields["general.architecture"].contents()
    n_experts, n_used = EXPERTS.get(family, (0, 0))
    n_parts, n_kept = DENSE.get(family, (1, 1))
    family, relabelled = ARCHITECTURE.get(family, family), family
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        if n_experts and name == f"{old}.feed_forward_length":
            width = field.contents() // n_experts
            for key, value in (("feed_forward_length", width), ("expert_feed_forward_length", width),
                               ("expert_count", n_experts), ("expert_used_count", n_used)):
                writer.add_uint32(f"{family}.{key}", value)
            continue
        if name == f"{old}.feed_forward_length":
            writer.add_uint32(f"{family}.feed_forward_length", field.contents() // n_parts * n_kept)
            continue
        renamed = family + name[len(old):] if name.startswith(old + ".") else name
        kind, item = field.types[0], field.types[-1] if field.types[0] == GGUFValueType.ARRAY else None
        writer.add_key_value(renamed, field.contents(), kind, sub_type=item)
    for name, value in KEYS.get(relabelled, {}).items():
        add = writer.add_float32 if isinstance(value, float) else writer.add_uint32
        add(f"{family}.{name}", value)


def fused(tensors, prefix):
    """phi3's matrices: rows of several, one after another."""
    parts = {"attn_qkv.weight": ("attn_q", "attn_k", "attn_v"), "ffn_up.weight": ("ffn_gate", "ffn_up")}
    for name, sources in parts.items():
        rows = [tensors[f"{prefix}{source}.weight"] for source in sources]
        yield prefix + name, numpy.concatenate([row.data for row in rows]), rows[0].tensor_type


def experts(tensors, prefix, n):
    """The same weights: an expert has its rows of gate and up, and its columns of down."""
    for name in ("ffn_gate", "ffn_up", "ffn_down"):
        tensor = tensors[f"{prefix}{name}.weight"]
        rows, row_bytes = tensor.data.shape
        if name == "ffn_down":
            data = tensor.data.reshape(rows, n, row_bytes // n).transpose(1, 0, 2)
        else:
            data = tensor.data.reshape(n, rows // n, row_bytes)
        yield f"{prefix}{name}_exps.weight", numpy.ascontiguousarray(data), tensor.tensor_type


def relabel(source, family, out):
    reader = GGUFReader(source)
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    value = lambda name: reader.fields[f"llama.{name}"].contents()
    head = value("embedding_length") // value("attention.head_count")
    sizes = {"embd": value("embedding_length"), "head": head, "q": head * value("attention.head_count"),
             "kv": head * value("attention.head_count_kv")}
    writer = GGUFWriter(out, ARCHITECTURE.get(family, family))
    copy_keys(reader, writer, family)
    n_experts = EXPERTS.get(family, (0, 0))[0]
    random = numpy.random.default_rng(1)
    is_fused = ("attn_q.weight", "attn_k.weight", "attn_v.weight", "ffn_gate.weight", "ffn_up.weight")
    is_expert = ("ffn_gate.weight", "ffn_up.weight", "ffn_down.weight")
    for name, tensor in tensors.items():
        part = name.split(".", 2)[-1]
        if part in LEFT_OUT.get(family, ()) or (family == "phi3" and part in is_fused):
            continue
        if n_experts and part in is_expert:
            continue
        if name == "rope_freqs.weight":
            continue
        data = tensor.data
        if family in DENSE and part in is_expert:
            n_parts, n_kept = DENSE[family]
            rows, row_bytes = data.shape
            is_down = part == "ffn_down.weight"
            data = data[:, :row_bytes // n_parts * n_kept] if is_down else data[:rows // n_parts * n_kept]
        writer.add_tensor(name, numpy.ascontiguousarray(data), raw_dtype=tensor.tensor_type)
    for layer in range(value("block_count")):
        prefix = f"blk.{layer}."
        for name, size in ONES_PER_LAYER[family].items():
            writer.add_tensor(prefix + name, numpy.ones(sizes[size], dtype=numpy.float32),
                              raw_dtype=GGMLQuantizationType.F32)
        if family == "phi3":
            for name, data, kind in fused(tensors, prefix):
                writer.add_tensor(name, data, raw_dtype=kind)
        if n_experts:
            router = random.standard_normal((n_experts, sizes["embd"]), dtype=numpy.float32)
            writer.add_tensor(prefix + "ffn_gate_inp.weight", router / numpy.float32(sizes["embd"]) ** 0.5)
            for name, data, kind in experts(tensors, prefix, n_experts):
                writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[2] not in ONES_PER_LAYER:
        sys.exit(f"{__doc__}\nFAMILY: {', '.join(ONES_PER_LAYER)}")
    relabel(*sys.argv[1:])
