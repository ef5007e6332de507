#!/usr/bin/env python3
"""Compares `lockstep info MODEL --json --full` with what the independent Python package gguf reads from the same file.

    compare_info.py LOCKSTEP [MODEL...]      without a MODEL: every GGUF file in $LOCKSTEP_MODELS

Every key's type and full value, every tensor's name, shape, type, byte count and data offset. Prints the differences
and exits with status 1 when there are any.
"""
import json
import math
import os
import pathlib
import subprocess
import sys

try:
    import gguf
except ImportError:
    print("skipped: the Python package gguf is not there (tools/fetch_gguf_package.sh)")
    sys.exit(77)

# Names of GGUF value types as `info` prints them.
TYPE_NAMES = {
    "UINT8": "u8", "INT8": "i8", "UINT16": "u16", "INT16": "i16", "UINT32": "u32", "INT32": "i32", "FLOAT32": "f32",
    "BOOL": "bool", "STRING": "string", "UINT64": "u64", "INT64": "i64", "FLOAT64": "f64",
}


def text_of(part):
    return part.tobytes().decode("utf-8", errors="replace")


def field_type(field):
    if field.types[0] == gguf.GGUFValueType.ARRAY:
        # The package leaves the element type of an empty array out.
        return f"array<{TYPE_NAMES[field.types[-1].name]}>" if len(field.types) > 1 else "array"
    return TYPE_NAMES[field.types[0].name]


def field_value(field):
    if field.types[-1] == gguf.GGUFValueType.STRING:
        texts = [text_of(field.parts[i]) for i in field.data]
        return texts if field.types[0] == gguf.GGUFValueType.ARRAY else texts[0]
    if field.types[0] == gguf.GGUFValueType.ARRAY:
        return [item for i in field.data for item in field.parts[i].tolist()]
    return field.parts[-1].tolist()[0]


def plain(value):
    """`value` as JSON can carry it: non-finite numbers are null."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def same(ours, theirs):
    """Equal in value and in kind: 1, 1.0 and true differ."""
    if isinstance(theirs, list):
        return isinstance(ours, list) and len(ours) == len(theirs) and all(map(same, ours, theirs))
    return type(ours) is type(theirs) and ours == theirs


def compare_metadata(info, reader, report):
    fields = {name: field for name, field in reader.fields.items() if not name.startswith("GGUF.")}
    if list(info["metadata"]) != list(fields):
        report(f"keys: {list(info['metadata'])} instead of {list(fields)}")
    for name, field in fields.items():
        found_type, wanted_type = info["types"].get(name), field_type(field)
        if found_type != wanted_type and not (wanted_type == "array" and str(found_type).startswith("array<")):
            report(f"{name}: type {found_type} instead of {wanted_type}")
        wanted = plain(field_value(field))
        if not same(info["metadata"].get(name), wanted):
            report(f"{name}: {str(info['metadata'].get(name))[:200]} instead of {str(wanted)[:200]}")
    return len(fields)


def compare_tensors(info, reader, report):
    def ours(tensor):
        return (tensor["name"], tensor["shape"], tensor["type"], tensor["bytes"], info["data_start"] + tensor["offset"])

    def theirs(tensor):
        return (tensor.name, tensor.shape.tolist(), tensor.tensor_type.name, int(tensor.n_bytes), int(tensor.data_offset))

    if len(info["tensors"]) != len(reader.tensors):
        report(f"{len(info['tensors'])} tensors instead of {len(reader.tensors)}")
    for found, wanted in zip(map(ours, info["tensors"]), map(theirs, reader.tensors)):
        if found != wanted:
            report(f"tensor {found} instead of {wanted}")
    return len(reader.tensors)


def compare(program, path):
    """The differences found in one model, one line each."""
    output = subprocess.run([program, "info", path, "--json", "--full"], check=True, stdout=subprocess.PIPE).stdout
    info = json.loads(output)
    reader = gguf.GGUFReader(path)
    found = []
    version = int(reader.fields["GGUF.version"].parts[-1][0])
    if info["version"] != version:
        found.append(f"version {info['version']} instead of {version}")
    if info["data_start"] != reader.data_offset:
        found.append(f"data_start {info['data_start']} instead of {reader.data_offset}")
    n_keys = compare_metadata(info, reader, found.append)
    n_tensors = compare_tensors(info, reader, found.append)
    if info["totals"]["bytes"] != sum(int(tensor.n_bytes) for tensor in reader.tensors):
        found.append(f"totals.bytes {info['totals']['bytes']} is not the sum of the tensors")
    print(f"{path}: {n_keys} keys and {n_tensors} tensors compared, {len(found)} differences")
    return found


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    paths = sys.argv[2:] or sorted(str(path) for path in pathlib.Path(os.environ.get("LOCKSTEP_MODELS", "")).glob("*.gguf"))
    if not paths:
        print("skipped: no MODEL is given, and none is in $LOCKSTEP_MODELS")
        sys.exit(77)
    differences = [line for path in paths for line in compare(sys.argv[1], path)]
    for line in differences:
        print(line)
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
