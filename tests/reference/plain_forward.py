#!/usr/bin/env python3
"""The logits of a model, in double precision and as slowly as the papers write it.

usage: plain_forward.py MODEL.gguf 1,2,3 LOGITS.f64

From the published descriptions alone: RMS norm (Zhang and Sennrich 2019), rotary positions (Su et al. 2021), grouped
queries (Ainslie et al. 2023), SwiGLU (Shazeer 2020), norms of query and key heads (Qwen3), a mixture of experts (Jiang
et al. 2024, "Mixtral of Experts"; Qwen3), YaRN (Peng et al. 2023), the temperature of Ministral 3: queries times
1 + beta * log(1 + floor(position / original context)), and Gemma 2 and 3 (Gemma Team 2024, 2025): a scaled embedding,
norms after each branch, windows, caps of scores and logits, GELU by tanh, which is taken of half-precision numbers
and rounded to one, as llama.cpp does. Needs the packages numpy and gguf.
"""
import sys

import gguf
import numpy as np

GEMMA = {"gemma2", "gemma3"}
HALVES = {"qwen2", "qwen3", "qwen3moe"} | GEMMA  # other converters permute Q and K for adjacent pairs
FAMILIES = HALVES | {"llama", "mistral3"}


class File:
    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self.keys = {name: field.contents() for name, field in reader.fields.items() if "tokenizer" not in name}
        self.tensors = {t.name: t for t in reader.tensors}
        self.arch = self.keys["general.architecture"]
        if self.arch not in FAMILIES:
            raise SystemExit(f"plain_forward: architecture {self.arch} is not one of {sorted(FAMILIES)}")

    def key(self, name, absent=None):
        return self.keys.get(f"{self.arch}.{name}", absent)

    def weight(self, name):
        """In numpy's order: [n_out, n_in], experts before."""
        tensor = self.tensors[name]
        return gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float64)

    def optional(self, name):
        return self.weight(name) if name in self.tensors else None


def rms_norm(x, weight, eps):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * weight


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def silu(x):
    return x / (1 + np.exp(-x))


def half(x):
    return x.astype(np.float32).astype(np.float16).astype(np.float64)


def gelu(x):
    h = half(np.clip(x, -10, 10))
    between = half(0.5 * h * (1 + np.tanh(np.sqrt(2 / np.pi) * h * (1 + 0.044715 * h * h))))
    return np.where(x <= -10, 0, np.where(x >= 10, x, between))


def softcap(x, cap):
    return np.tanh(x / cap) * cap if cap else x


class Product:
    """x times a matrix. With `error`, each result is off by that share of itself, as if it had been summed in fp32 in
    some other order: how far such noise takes the logits is how far two correct programs are from each other."""

    def __init__(self, error=0.0):
        self.error, self.random = error, np.random.default_rng(1)

    def __call__(self, x, matrix):
        y = x @ matrix.T
        return y * (1 + self.error * self.random.standard_normal(y.shape)) if self.error else y


def is_windowed(f, layer):
    period = {"gemma2": 2, "gemma3": 6}.get(f.arch)
    return period is not None and layer % period < period - 1


class Rotation:
    """Angles of each position's pairs, and what the rotated vectors are multiplied by."""

    def __init__(self, f, head_dim, layer):
        n = f.key("rope.dimension_count", head_dim)
        base = f.key("rope.freq_base", 10000.0)
        if f.arch == "gemma3" and is_windowed(f, layer):
            base = f.key("rope.freq_base_swa", 10000.0)
        pair = np.arange(n // 2)
        plain = base ** (-2.0 * pair / n)
        factors = f.optional("rope_freqs.weight")
        if factors is not None:
            plain = plain / factors
        kind = f.key("rope.scaling.type", "none")
        factor = f.key("rope.scaling.factor", 1.0) if kind != "none" else 1.0
        self.halves = f.arch in HALVES
        self.magnitude = 1.0
        self.frequencies = plain / factor
        if kind != "yarn":
            return
        original = f.key("rope.scaling.original_context_length")

        def pair_with_turns(turns):
            return n * np.log(original / (turns * 2 * np.pi)) / (2 * np.log(base))

        low = max(0, np.floor(pair_with_turns(f.key("rope.scaling.yarn_beta_fast", 32.0))))
        high = min(n - 1, np.ceil(pair_with_turns(f.key("rope.scaling.yarn_beta_slow", 1.0))))
        scaled = np.clip((pair - low) / max(high - low, 0.001), 0, 1)
        self.frequencies = plain / factor * scaled + plain * (1 - scaled)

        def magnitude(share):
            return 0.1 * share * np.log(factor) + 1 if factor > 1 else 1.0

        # Transformers: mscale over mscale_all_dim; without the latter it is YaRN's own.
        all_dims = f.key("rope.scaling.yarn_log_multiplier", 0.0)
        self.magnitude = magnitude(1.0) / (magnitude(all_dims) if all_dims else 1.0)

    def __call__(self, x):
        """x [n_tokens, n_heads, head_dim]"""
        angles = np.arange(len(x))[:, None] * self.frequencies
        cos, sin = np.cos(angles)[:, None] * self.magnitude, np.sin(angles)[:, None] * self.magnitude
        half = len(self.frequencies)
        first = np.s_[..., :half] if self.halves else np.s_[..., 0:2 * half:2]
        second = np.s_[..., half:2 * half] if self.halves else np.s_[..., 1:2 * half:2]
        out = x.copy()
        out[first] = x[first] * cos - x[second] * sin
        out[second] = x[first] * sin + x[second] * cos
        return out


def is_hidden(f, layer, n):
    """[n, n]: which keys a query does not see: later ones, and in a window those that are too far."""
    distance = np.arange(n)[:, None] - np.arange(n)
    window = f.key("attention.sliding_window") if is_windowed(f, layer) else n
    return (distance < 0) | (distance >= window)


def attention(f, layer, x, product):
    n_heads, eps = f.key("attention.head_count"), f.key("attention.layer_norm_rms_epsilon")
    n_kv = f.key("attention.head_count_kv", n_heads)
    head_dim = f.key("attention.key_length", f.key("embedding_length") // n_heads)

    def project(which, heads):
        y = product(x, f.weight(f"blk.{layer}.attn_{which}.weight"))
        bias = f.optional(f"blk.{layer}.attn_{which}.bias")
        y = (y if bias is None else y + bias).reshape(len(x), heads, head_dim)
        norm = f.optional(f"blk.{layer}.attn_{which}_norm.weight")
        return y if norm is None else rms_norm(y, norm, eps)

    rotate = Rotation(f, head_dim, layer)
    q, k, v = rotate(project("q", n_heads)), rotate(project("k", n_kv)), project("v", n_kv)
    beta = f.key("attention.temperature_scale", 0.0)
    if beta:
        turns = np.arange(len(x)) // f.key("rope.scaling.original_context_length")
        q = q * (1 + beta * np.log(1 + turns))[:, None, None]
    out = np.empty_like(q)
    for head in range(n_heads):
        kv = head // (n_heads // n_kv)
        scores = softcap(q[:, head] @ k[:, kv].T / np.sqrt(head_dim), f.key("attn_logit_softcapping"))
        scores[is_hidden(f, layer, len(x))] = -np.inf
        out[:, head] = softmax(scores) @ v[:, kv]
    return product(out.reshape(len(x), -1), f.weight(f"blk.{layer}.attn_output.weight"))


def feed_forward(x, gate, up, down, activation, product):
    return product(activation(product(x, gate)) * product(x, up), down)


def experts(f, layer, x, product):
    """For each token the best experts by the router, their results weighted by its probabilities among them."""
    gate, up, down = (f.weight(f"blk.{layer}.ffn_{m}_exps.weight") for m in ("gate", "up", "down"))
    probabilities = softmax(product(x, f.weight(f"blk.{layer}.ffn_gate_inp.weight")))
    scale = f.key("expert_weights_scale", 0.0) or 1.0
    out = np.zeros_like(x)
    for t in range(len(x)):
        best = np.argsort(-probabilities[t], kind="stable")[:f.key("expert_used_count")]
        weights = probabilities[t, best] / probabilities[t, best].sum() * scale
        for e, weight in zip(best, weights):
            out[t] += weight * feed_forward(x[t:t + 1], gate[e], up[e], down[e], silu, product)[0]
    return out


def logits(path, ids, error=0.0):
    f, product = File(path), Product(error)
    eps, activation = f.key("attention.layer_norm_rms_epsilon"), gelu if f.arch in GEMMA else silu
    embedding = f.weight("token_embd.weight")
    x = embedding[ids] * (np.sqrt(f.key("embedding_length")) if f.arch in GEMMA else 1)

    def post_norm(y, weight):
        return rms_norm(y, f.weight(weight), eps) if weight in f.tensors else y

    for layer in range(f.key("block_count")):
        blk = f"blk.{layer}"
        y = attention(f, layer, rms_norm(x, f.weight(f"{blk}.attn_norm.weight"), eps), product)
        x = x + post_norm(y, f"{blk}.post_attention_norm.weight")
        y = rms_norm(x, f.weight(f"{blk}.ffn_norm.weight"), eps)
        if f"{blk}.ffn_gate_inp.weight" in f.tensors:
            y = experts(f, layer, y, product)
        else:
            matrices = (f.weight(f"{blk}.ffn_{m}.weight") for m in ("gate", "up", "down"))
            y = feed_forward(y, *matrices, activation, product)
        x = x + post_norm(y, f"{blk}.post_ffw_norm.weight")
    head = f.optional("output.weight")
    y = product(rms_norm(x, f.weight("output_norm.weight"), eps), embedding if head is None else head)
    return softcap(y, f.key("final_logit_softcapping"))


def main():
    if len(sys.argv) != 4:
        raise SystemExit("usage: plain_forward.py MODEL.gguf 1,2,3 LOGITS.f64")
    logits(sys.argv[1], [int(i) for i in sys.argv[2].split(",")]).tofile(sys.argv[3])


if __name__ == "__main__":
    main()
