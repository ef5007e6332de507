#!/usr/bin/env python3
"""Holds the sources to the rules of ARCHITECTURE.md that no compiler knows: check_layers.py CHECK ROOT.

Every check returns a list of findings, one line each; an empty list is a pass.
"""
import pathlib
import re
import sys

# What a floor may include beside itself. The table of ARCHITECTURE.md, in code.
MAY_INCLUDE = {
    "base": set(),
    "quant": {"base"},
    "gguf": {"base", "quant"},
    "tokenizer": {"base", "gguf"},
    "kernels": {"base", "quant"},
    "exec": {"base"},
    "model": {"base", "quant", "gguf", "kernels", "exec"},
    "sampling": {"base"},
    "engine": {"base", "gguf", "tokenizer", "model", "exec", "sampling"},
    "chat": {"base", "tokenizer", "engine"},
    "verify": {"base", "model", "engine"},
}

# Folders whose contents are compiled for one instruction set at a time.
KERNEL_INTERIOR = ("kernels/simd/", "kernels/body/", "kernels/oracle/")

# Libraries with a fence around them: who may include headers that match. "apps" and "tests" stand for those folders.
LIBRARIES = {
    r"nlohmann/.*": {"apps", "engine", "verify", "chat", "tests"},
    r"pcre2.*\.h": {"tokenizer"},
    r"CLI/.*": {"apps"},
    r"histedit\.h": {"apps"},
    r"(gtest|gmock)/.*": {"tests"},
}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
CODE_FOLDERS = ("src", "apps", "tests", "fuzz", "bench", "rust", "tools")
SOURCE_SUFFIXES = {".h", ".cpp", ".c", ".py", ".sh", ".rs", ".cmake"}
CPP_SUFFIXES = {".h", ".cpp", ".c"}
# Names that their tools prescribe, once per folder.
PRESCRIBED_NAMES = {"CMakeLists.txt", "Cargo.toml", "lib.rs", "build.rs"}
# Names that say nothing about what is inside.
VAGUE_NAMES = {"utils", "util", "common", "helpers", "helper", "misc"}


def files_below(root, folders, suffixes):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            relative = path.relative_to(root)
            if path.is_file() and path.suffix in suffixes and "target" not in relative.parts:
                yield path, relative


def floor_of(relative):
    """The floor of a file below src/, else the top folder (apps, tests, ...)."""
    return relative.parts[1] if relative.parts[0] == "src" else relative.parts[0]


def is_test(relative):
    return relative.stem.endswith("_test") or relative.parts[0] in ("tests", "fuzz")


def includes_of(path):
    text = path.read_text(encoding="utf-8", errors="replace")
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match[1] == '"', match[2]


def may_see_kernel_interior(relative):
    path = relative.as_posix()
    inside = path.startswith(tuple("src/" + folder for folder in KERNEL_INTERIOR))
    unit = relative.parent.as_posix() == "src/kernels" and re.fullmatch(r"isa_\w+\.cpp", relative.name)
    return inside or bool(unit) or is_test(relative)


def check_includes(root):
    """Floors include only what the table allows; kernel interiors are seen by isa_*.cpp and tests alone."""
    findings = []
    for path, relative in files_below(root, ("src", "apps", "rust"), CPP_SUFFIXES):
        floor = floor_of(relative)
        if relative.parts[0] == "src" and floor not in MAY_INCLUDE:
            findings.append(f"{relative}: {floor} is not a floor of the table")
            continue
        for line, quoted, header in includes_of(path):
            target = header.split("/")[0]
            if not quoted or target not in MAY_INCLUDE:
                continue
            if relative.parts[0] == "src" and target != floor and target not in MAY_INCLUDE[floor]:
                findings.append(f"{relative}:{line}: {floor} may not include {target} ({header})")
            if not (root / "src" / header).is_file():
                findings.append(f"{relative}:{line}: there is no src/{header}")
    for path, relative in files_below(root, CODE_FOLDERS, CPP_SUFFIXES):
        for line, _, header in includes_of(path):
            if header.startswith(KERNEL_INTERIOR) and not may_see_kernel_interior(relative):
                findings.append(f"{relative}:{line}: only kernels/isa_*.cpp and tests may include {header}")
    return findings


def test_support(root):
    """Headers below src/ that include GoogleTest, as includes spell them: what the tests of a floor share."""
    return {
        relative.relative_to("src").as_posix()
        for path, relative in files_below(root, ("src",), {".h"})
        if any(header.startswith(("gtest/", "gmock/")) for _, _, header in includes_of(path))
    }


def check_libraries(root):
    """A fenced library is included only where its fence allows; headers that tests share are for tests."""
    findings = []
    support = test_support(root)
    for path, relative in files_below(root, CODE_FOLDERS, CPP_SUFFIXES):
        for_tests = is_test(relative) or relative.as_posix().removeprefix("src/") in support
        places = {floor_of(relative)} | ({"tests"} if for_tests else set())
        for line, _, header in includes_of(path):
            if header in support and not for_tests:
                findings.append(f"{relative}:{line}: {header} includes GoogleTest and is for tests only")
            for pattern, allowed in LIBRARIES.items():
                if re.fullmatch(pattern, header) and not places & allowed:
                    findings.append(f"{relative}:{line}: {header} is for {', '.join(sorted(allowed))} only")
    return findings


def check_file_names(root):
    """A file name is snake_case, says what is inside, and is used once."""
    findings, seen = [], {}
    for _, relative in files_below(root, CODE_FOLDERS, SOURCE_SUFFIXES):
        name = relative.name
        if name in PRESCRIBED_NAMES:
            continue
        if name in seen:
            findings.append(f"{relative}: the name is taken by {seen[name]}")
        seen.setdefault(name, relative)
        if not re.fullmatch(r"[a-z0-9_]+", relative.stem):
            findings.append(f"{relative}: the name is not snake_case")
        if relative.stem.removesuffix("_test") in VAGUE_NAMES:
            findings.append(f"{relative}: the name says nothing")
    return findings


def check_sources(root):
    """Sources are ASCII; headers start their code with #pragma once."""
    findings = []
    for path, relative in files_below(root, CODE_FOLDERS, SOURCE_SUFFIXES):
        data = path.read_bytes()
        for number, line in enumerate(data.split(b"\n"), 1):
            if not line.isascii():
                findings.append(f"{relative}:{number}: not ASCII")
        if path.suffix == ".h" and not re.search(rb"^#pragma once$", data, re.MULTILINE):
            findings.append(f"{relative}: no #pragma once")
    return findings


def check_architecture(root):
    """ARCHITECTURE.md is there, and every path that it names (`src/base/error.h`, `tests/layers/`) exists."""
    document = root / "ARCHITECTURE.md"
    if not document.is_file():
        return ["ARCHITECTURE.md: missing"]
    text = document.read_text(encoding="utf-8")
    findings = []
    # A path starts with a top folder and has no wildcard, or is a capitalised document at the top.
    tops = "|".join((*CODE_FOLDERS, "docs", "cmake"))
    pattern = re.compile(rf"(?<![\w./-])(?:(?:{tops})/[\w./*-]*|[A-Z]+\.md)(?<![.,])")
    paths = {match[0] for match in pattern.finditer(text)}
    # Paths below src/ may be written without it: `model/forward.cpp`, `kernels/simd/`.
    below_src = re.compile(rf"(?<![\w./-])(?:{'|'.join(MAY_INCLUDE)})/[\w./*-]*(?<![.,])")
    paths |= {"src/" + match[0] for match in below_src.finditer(text)}
    for path in sorted(paths):
        if "*" in path:
            exists = any(root.glob(path.rstrip("/")))
        else:
            # `model/forward` stands for the header, the source or the folder of that name.
            exists = any((root / (path + suffix)).exists() for suffix in ("", ".h", ".cpp"))
        if not exists:
            findings.append(f"ARCHITECTURE.md: names {path}, which does not exist")
    return findings


CHECKS = {
    "includes": check_includes,
    "libraries": check_libraries,
    "file_names": check_file_names,
    "sources": check_sources,
    "architecture": check_architecture,
}


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in CHECKS:
        print(f"usage: check_layers.py {'|'.join(CHECKS)} ROOT", file=sys.stderr)
        return 2
    findings = CHECKS[sys.argv[1]](pathlib.Path(sys.argv[2]))
    print("\n".join(findings))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
