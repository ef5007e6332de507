#!/usr/bin/env python3
"""Every test that tests/cases.md names exists: check_cases.py ROOT. Finds nothing: a pass."""
import pathlib
import re
import sys

GTEST = re.compile(r"^\s*TEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)", re.MULTILINE)
PYTHON_TEST = re.compile(r"^    def (test_\w+)\(", re.MULTILINE)
ROW = re.compile(r"^\| (B\d\d) \| ([^|]+) \| (.+) \|$")


def tests_of(root):
    """Suite.Test of C++ and file.py:test_name of Python."""
    names = set()
    for folder in ("src", "apps", "tests"):
        for path in (root / folder).rglob("*_test.cpp"):
            names |= {f"{suite}.{test}" for suite, test in GTEST.findall(path.read_text(encoding="utf-8"))}
        for path in (root / folder).rglob("*_test.py"):
            names |= {f"{path.name}:{test}" for test in PYTHON_TEST.findall(path.read_text(encoding="utf-8"))}
    return names


def check(root):
    findings = []
    known = tests_of(root)
    cases = []
    for number, line in enumerate((root / "tests/cases.md").read_text(encoding="utf-8").splitlines(), 1):
        if not line.startswith("| B"):
            continue
        row = ROW.match(line)
        named = re.findall(r"`([^`]+)`", row[3]) if row else []
        if not named:
            findings.append(f"tests/cases.md:{number}: a row is | CASE | what is tried | `tests` |")
            continue
        cases.append(row[1])
        findings += [f"tests/cases.md:{number}: {row[1]}: no test {name}" for name in named if name not in known]
    if not cases or cases != sorted(set(cases)):
        findings.append("tests/cases.md: every case has one row, in order")
    return findings


def main():
    findings = check(pathlib.Path(sys.argv[1]))
    print("\n".join(findings))
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
