#!/usr/bin/env python3
"""Writes tests/data/quant: blocks of every supported tensor type with the weights that the Python package gguf reads from them,
numbers with the blocks that gguf makes of them, and the table of block sizes. See the README there.

Usage: make_quant_test_data.py DIRECTORY     (needs: pip install gguf numpy)
"""
import pathlib
import sys
import warnings

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

# Byte offsets of the f16 scales and minima in a block.
SCALES = {
    "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0],
    "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208],
    "IQ4_NL": [0], "IQ4_XS": [0], "IQ3_S": [0], "TQ1_0": [52], "TQ2_0": [64], "MXFP4": [],
}  # fmt: skip
QUANTIZED = ["F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"]

# 1, -1, the smallest subnormals, the largest subnormal, the smallest normal, the largest numbers, zeros, and two of everyday size.
SPECIAL_F16 = [0x3C00, 0xBC00, 0x0001, 0x8001, 0x03FF, 0x0400, 0x7BFF, 0xFBFF, 0x0000, 0x8000, 0x2E66, 0xA1F3]
# All bits set gives the largest 4-bit and 6-bit sub-scales and integers; 0x80 gives the 8-bit -128; None is random.
SPECIAL_BYTES = [0xFF, 0x00, 0x80, 0x7F, None]
SPECIAL_EXPONENTS = [0, 1, 2, 3, 126, 127, 128, 129, 253, 254, 255]

WEIGHTS_PER_TYPE = 20 * 256

# Not in files, and not as ggml has them in gguf's table (0.19.0): 36 bytes by struct block_q8_1; Q2_0 is missing.
SIZE_CORRECTIONS = {"Q8_1": (32, 36), "Q2_0": (64, 18)}
NUMBER_OF_MISSING = {"Q2_0": 42}


def finite_f16(rng, count):
    bits = rng.integers(0, 1 << 16, count, dtype=np.uint16)
    return np.where((bits & 0x7C00) == 0x7C00, bits & 0x83FF, bits).astype(np.uint16)


def make_blocks(rng, name):
    block_size, block_bytes = gguf.GGML_QUANT_SIZES[Type[name]]
    count = WEIGHTS_PER_TYPE // block_size
    special = 12 * count // 20
    blocks = rng.integers(0, 256, (count, block_bytes), dtype=np.uint8)
    for i in range(special):
        fill = SPECIAL_BYTES[i % len(SPECIAL_BYTES)]
        if fill is not None:
            blocks[i] = fill
    for k, offset in enumerate(SCALES[name]):
        scales = finite_f16(rng, count)
        for i in range(special):
            scales[i] = SPECIAL_F16[(i + 5 * k) % len(SPECIAL_F16)]
        blocks[:, offset : offset + 2] = scales.reshape(-1, 1).view(np.uint8)
    if name == "MXFP4":
        for i in range(special):
            blocks[i, 0] = SPECIAL_EXPONENTS[i % len(SPECIAL_EXPONENTS)]
    return blocks.reshape(-1)


def make_numbers(rng):
    """32 numbers a row: zeros, equal ones, ties, one sign only, and random ones of many magnitudes."""
    rows = rng.standard_normal((96, 32)).astype(np.float32)
    rows *= np.exp2(rng.integers(-20, 12, (96, 1))).astype(np.float32)
    rows[0] = 0
    rows[1] = 1
    rows[2] = -3
    rows[3, :16], rows[3, 16:] = 2, -2
    rows[4] = (np.arange(32) - 16) * 0.25
    rows[5] = (np.arange(32) - 7) * 0.5
    rows[6] = 65504
    rows[7] = 1e-7
    rows[8] = np.abs(rows[8])
    rows[9] = -np.abs(rows[9])
    rows[10] = (np.arange(32) - 15) * 8.5  # ties of Q8_0: the largest is 136
    rows[11:24] = rng.integers(-16, 17, (13, 32)) * np.float32(0.25)
    rows[24:32] = rng.integers(-254, 255, (8, 32)) * np.float32(0.5)
    rows[24:32, 3] = 127
    return rows.reshape(-1).astype(np.float32)


def write_sizes(path):
    sizes = {t.name: (int(t), *size) for t, size in gguf.GGML_QUANT_SIZES.items()}
    for name, size in SIZE_CORRECTIONS.items():
        number = sizes[name][0] if name in sizes else NUMBER_OF_MISSING[name]
        sizes[name] = (number, *size)
    lines = [f"{name}\t{number}\t{size}\t{nbytes}\n" for name, (number, size, nbytes) in sizes.items()]
    path.write_text("".join(lines))


def main():
    warnings.simplefilter("ignore")  # numpy reports the infinities of MXFP4 with large exponents
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(20240607)
    write_sizes(out / "block_sizes.tsv")

    rows = {name: make_blocks(rng, name) for name in SCALES}
    every_17th = np.arange(0, 1 << 16, 17, dtype=np.uint16)
    rows["F16"] = every_17th[(every_17th & 0x7C00) != 0x7C00].view(np.uint8)
    rows["BF16"] = every_17th[(every_17th & 0x7F80) != 0x7F80].view(np.uint8)
    for name, row in rows.items():
        row.tofile(out / f"{name}.blocks")
        gguf.quants.dequantize(row, Type[name]).astype(np.float32).tofile(out / f"{name}.weights.f32")

    numbers = make_numbers(rng)
    numbers.tofile(out / "numbers.f32")
    for name in QUANTIZED:
        np.ascontiguousarray(gguf.quants.quantize(numbers, Type[name])).tofile(out / f"{name}.quantized")


if __name__ == "__main__":
    main()
