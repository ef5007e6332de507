#!/usr/bin/env python3
"""The table of docs/reliability.md from what runs left behind: reliability_report.py [--write]

Reads, as far as they are there: the reports of ctest (build/*/test-report.xml), build/fuzz/executions.tsv (make fuzz),
build/mutations.json (make mutate) and build/mutation_coverage.json (make coverage). What was not run is a dash. --write puts the table
into docs/reliability.md between its two marks; else it is printed.
"""
import json
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- table: tools/reliability_report.py --write -->", "<!-- end of table -->"

# Rows that count tests of the release build by name.
TEST_ROWS = [
    ("cases of public reports tried", r"^(Cases?|CaseB\d+|B\d\d)|/?Case[A-Z]|^Cli\..*case"),
    ("hostile files refused, tests of the reader", r"^(Reader|TensorTable|ModelFile|Metadata|Shards).*(Refuses|Names|Takes)"),
    ("hyper-parameters refused, tests", r"^Config.*"),
    ("faults injected (allocation, disk, pipe, signal)", r"^(Faults?|AllocationFault)|/?Fault[A-Z]|^Cli\..*fault"),
    ("corpora of the fuzz targets, replayed", r"^Fuzz\."),
]
SANITIZER_BUILDS = {
    "asan": "address, undefined (g++, all)",
    "clang-asan": "address, undefined (clang, floors below apps)",
    "tsan": "thread (g++, threaded floors)",
}


def outcomes(build):
    """[(name, passed)] of the last test run of a build; None when there was none."""
    report = ROOT / "build" / build / "test-report.xml"
    if not report.exists():
        return None
    cases = ElementTree.parse(report).getroot().iter("testcase")
    return [(case.get("name"), case.get("status") == "run") for case in cases if case.find("skipped") is None]


def counted(tests):
    failed = sum(not passed for _, passed in tests)
    return f"{len(tests)} passed" if not failed else f"{len(tests) - failed} passed, {failed} failed"


def test_rows():
    release = outcomes("release")
    for label, pattern in TEST_ROWS:
        matching = [test for test in release or [] if re.search(pattern, test[0])]
        yield label, counted(matching) if matching else "-"


def sanitizer_rows():
    for build, label in SANITIZER_BUILDS.items():
        tests = outcomes(build)
        yield f"tests under sanitizers: {label}", counted(tests) if tests else "-"


def fuzz_rows():
    path = ROOT / "build" / "fuzz" / "executions.tsv"
    totals = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        name, executions, seconds, _ = line.split("\t")
        total = totals.setdefault(name, [0, 0])
        total[0] += int(executions)
        total[1] += int(seconds)
    # libFuzzer also leaves "slow units" there: inputs during which the machine paused.
    findings = [file for file in (ROOT / "build" / "fuzz" / "findings").glob("*") if "-slow-unit-" not in file.name]
    for target in sorted(file.name.removesuffix("_fuzz.cpp") for file in (ROOT / "tests" / "fuzz").glob("*_fuzz.cpp")):
        executions, seconds = totals.get(target, (0, 0))
        unsettled = sum(finding.name.startswith(f"{target}-") for finding in findings)
        text = f"{executions:,} executions in {seconds / 60:.0f} min, {unsettled} open findings" if executions else "-"
        yield f"fuzz target {target}", text


def mutation_rows():
    path = ROOT / "build" / "mutations.json"
    if not path.exists():
        yield "mutated files", "-"
        return
    report = json.loads(path.read_text())
    yield "mutated files", f"{report['mutations']:,}, {report['before_data']:,} before the tensor data, {report['aimed']:,} of these at a field"
    for kind in report["kinds"]:
        text = f"{kind['refused']} refused, {kind['accepted']} ran, {kind['failed']} failed with a named error; at most "
        text += f"{kind['worst_cpu_ms']:.0f} ms, refused: file size + {kind['worst_refused_extra_bytes'] / 1e6:.1f} MB"
        yield f"mutated: {kind['kind']}", text
    yield "mutated files: findings", str(report["findings"])
    coverage = ROOT / "build" / "mutation_coverage.json"
    if coverage.exists():
        report = json.loads(coverage.read_text())
        yield "lines of src/gguf and model/config that these reach", f"{report['percent']:.1f} % of {report['lines']} ({report['mutations']:,} mutations)"


def table():
    rows = [*test_rows(), *sanitizer_rows(), *fuzz_rows(), *mutation_rows()]
    return "\n".join(["| what | result |", "|---|---|"] + [f"| {label} | {text} |" for label, text in rows])


def main():
    if sys.argv[1:] != ["--write"]:
        print(table())
        return
    page = PAGE.read_text()
    head, rest = page.split(BEGIN)
    tail = rest.split(END)[1]
    PAGE.write_text(f"{head}{BEGIN}\n{table()}\n{END}{tail}")


if __name__ == "__main__":
    main()
