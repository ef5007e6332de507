#!/usr/bin/env python3
"""Which lines of src/gguf and of the hyper-parameters in src/model a campaign of mutated files reaches: mutation_coverage.py N SEED FILES...

Builds the preset coverage, runs the campaign, and prints for each source the lines that ran of those that can, the numbers
of the others, and the sum, which it fails on when it is below 95 %.
"""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "coverage"
WANTED = 95.0
CONFIG_SOURCES = ("config.cpp", "config.h", "config_keys.h", "refused_keys.cpp", "family.cpp")


def is_counted(name):
    """Sources of the reader and of the hyper-parameters; the writer is for tests and tools."""
    path = pathlib.PurePath(name)
    if "writer" in path.name or path.name.endswith("_test.h"):
        return False
    return "src/gguf/" in name or "src/model/" in name and path.name in CONFIG_SOURCES


def line_counts():
    """{source: {line: times}} over all objects; a line of a header counts in whichever object it ran."""
    counts = {}
    for data in sorted(BUILD.rglob("*.gcda")):
        output = subprocess.run(["gcov", "--json-format", "--stdout", data.name], cwd=data.parent, capture_output=True, check=True)
        for document in output.stdout.splitlines():
            for file in json.loads(document)["files"]:
                if not is_counted(file["file"]):
                    continue
                lines = counts.setdefault(file["file"][file["file"].index("src/"):], {})
                for line in file["lines"]:
                    number = line["line_number"]
                    lines[number] = lines.get(number, 0) + line["count"]
    return counts


def main():
    n, seed, *files = sys.argv[1:]
    subprocess.run([ROOT / "tools" / "build.sh", "coverage", "mutation_campaign"], check=True)
    for old in BUILD.rglob("*.gcda"):
        old.unlink()
    campaign = BUILD / "tests" / "campaign" / "mutation_campaign"
    subprocess.run([campaign, n, "--seed", seed, *files], stdout=subprocess.DEVNULL, check=False)
    counts = line_counts()
    unmeasured = [name for name in CONFIG_SOURCES if f"src/model/{name}" not in counts]
    if unmeasured:
        sys.exit(f"coverage: not measured: {' '.join(unmeasured)} (cmake/lockstep.cmake says what is)")
    ran = total = 0
    for source, lines in sorted(counts.items()):
        missed = [number for number, count in sorted(lines.items()) if count == 0]
        ran += len(lines) - len(missed)
        total += len(lines)
        print(f"{source:32} {len(lines) - len(missed):4} of {len(lines):4}  not: {' '.join(map(str, missed)) or '-'}")
    percent = 100.0 * ran / max(total, 1)
    print(f"coverage: {percent:.1f} % of {total} lines by {n} mutations, wanted {WANTED:.0f} %")
    (ROOT / "build" / "mutation_coverage.json").write_text(json.dumps({"percent": percent, "lines": total, "mutations": int(n)}) + "\n")
    return 0 if percent >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
