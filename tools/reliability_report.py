#!/usr/bin/env python3
"""The table of docs/reliability.md from what runs left behind: reliability_report.py [--write]

Reads, as far as they are there: the reports of ctest (build/*/test-report.xml), build/fuzz/executions.tsv (make fuzz),
build/refusals.json (make refusals), build/mutations.json (make mutate), build/mutations_asan.json (make mutate-asan) and
build/mutation_coverage.json (make coverage). What was not run is a dash. --write puts the table into docs/reliability.md between
its two marks; else it is printed.
"""
import json
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- table: tools/reliability_report.py --write -->", "<!-- end of table -->"

# Rows that count tests of the release build by their suite.
TEST_ROWS = [
    ("hostile model files: tests of the reader", r"^(Reader|TensorTable|ModelFile|Metadata|DamagedModel|ChangingModel|WhileItIsRead|ModelInAnotherForm)\."),
    ("hostile hyper-parameters, tensors and vocabularies: tests", r"^(LoadConfig|Tensors|KvHeads|HeadSize|Rope\w*|NotFinite|Vocab|CaseB18)\."),
    ("session and base files that were changed: tests", r"^(SessionFile|BaseFile)\."),
    ("faults (allocation, memory, disk, pipe, terminal, signal): tests", r"^(AllocationFailure|ProgramWithoutMemory|MemoryLimit|MemoryRoom|NewFiles)\.|^Cli\.(faults|limits|signals|written_files)_"),
    ("corpora of the fuzz targets, replayed", r"^Fuzz\."),
]
CASES = ROOT / "tests" / "cases.md"
# What a fuzz target works on; an hour of processor time for each of these is what a campaign means.
FUZZ_GROUPS = {
    "model files and file readers": ("gguf", "split", "reference", "session_file", "base_file", "manifest"),
    "texts": ("vocab", "tokenizer", "chat_template", "request", "text_stream"),
    "arithmetic": ("isa_equivalence",),
}
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


def plain_name(name):
    """A test of C++ without its parameters, a file of Python tests as tests/cases.md names it."""
    if name.startswith("Cli."):
        return name.removeprefix("Cli.") + ".py"
    return next((part for part in name.split("/") if "." in part), name)


def case_lines():
    return [line for line in CASES.read_text(encoding="utf-8").splitlines() if line.startswith("| B")]


def case_row(release):
    """How many cases of public reports there are, and the tests that hold them."""
    rows = case_lines()
    named = {name.split(":")[0] for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[3])}
    matching = [test for test in release or [] if plain_name(test[0]) in named]
    missing = named - {plain_name(test[0]) for test in matching}
    text = f"{len(rows)} cases, held by {len(named)} tests and files of tests: {counted(matching)} with their parameters"
    if matching and missing:
        text += f", {len(missing)} not run"
    return "cases of public reports tried", text if matching else "-"


def refusal_rows():
    """For each case that is a hostile model file: how many were refused by name, at what cost."""
    path = ROOT / "build" / "refusals.json"
    if not path.exists():
        yield "hostile model files of those cases", "-"
        return
    tried = {line.split("|")[1].strip(): line.split("|")[2].strip() for line in case_lines()}
    for case in json.loads(path.read_text())["cases"]:
        text = f"{case['refused_rightly']} of {case['files']} files refused by name; at most {case['worst_cpu_ms']:.1f} ms, "
        text += f"file size + {case['worst_extra_bytes'] / 1e6:.1f} MB"
        yield f"{case['case']}: {tried[case['case']]}", text


def test_rows():
    release = outcomes("release")
    yield case_row(release)
    yield from refusal_rows()
    for label, pattern in TEST_ROWS:
        matching = [test for test in release or [] if re.search(pattern, test[0])]
        yield label, counted(matching) if matching else "-"


def sanitizer_rows():
    for build, label in SANITIZER_BUILDS.items():
        tests = outcomes(build)
        yield f"tests under sanitizers: {label}", counted(tests) if tests else "-"


def ran(executions, seconds):
    return f"{executions:,} executions in {seconds / 60:.0f} min of processor time" if executions else "-"


def fuzz_rows():
    path = ROOT / "build" / "fuzz" / "executions.tsv"
    totals, failed = {}, {}
    for line in path.read_text().splitlines() if path.exists() else []:
        name, executions, seconds, status = line.split("\t")
        total = totals.setdefault(name, [0, 0])
        total[0] += int(executions)
        total[1] += int(seconds)
        failed[name] = status != "0"  # of the last run
    findings = list((ROOT / "build" / "fuzz" / "findings").glob("*"))
    for group, targets in FUZZ_GROUPS.items():
        executions, seconds = (sum(totals.get(target, (0, 0))[i] for target in targets) for i in range(2))
        yield f"fuzzing of {group}", ran(executions, seconds)
        for target in targets:
            unsettled = sum(finding.name.startswith(f"{target}-") for finding in findings)
            text = ran(*totals.get(target, (0, 0)))
            if target in totals:
                text += f", {unsettled} open findings" + (", the last run failed" if failed[target] else "")
            yield f"fuzz target {target}", text
    others = {file.name.removesuffix("_fuzz.cpp") for file in (ROOT / "tests" / "fuzz").glob("*_fuzz.cpp")}
    others.difference_update(*FUZZ_GROUPS.values())
    if others:
        sys.exit(f"reliability: in no group of fuzz targets: {' '.join(sorted(others))}")


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
    sanitized = ROOT / "build" / "mutations_asan.json"
    text = "-"
    if sanitized.exists():
        report = json.loads(sanitized.read_text())
        text = f"{report['mutations']:,}, {report['findings']} findings"
    yield "mutated files under sanitizers: address, undefined", text
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
