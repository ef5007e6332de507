#!/usr/bin/env python3
"""Runs every test of a build folder and ends with one plain line: N passed, N failed, N skipped.

With reference data (LOCKSTEP_GOLDEN) and without LOCKSTEP_SHORT nothing has a reason to be skipped, so a skipped test fails
the run. Else the skipped tests are listed by name and the run passes. A test of Python is a file of several; those that
were skipped in it are told by lines "SKIPPED NAME: why" of its output, and counted one by one; "why" may begin with "this
machine:" for what it does not permit (a mount, a control group), which fails no run.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

TEST_TIMEOUT_S = 900
SKIPPED_INSIDE = "SKIPPED "
NOT_PERMITTED = ": this machine: "
MOST_OUTPUT = 1 << 20  # bytes of a test that passes; ctest alone would keep 1024


def run_ctest(build, labels, exclude):
    """Runs ctest and returns (its exit status, the path of its JUnit report)."""
    report = build / "test-report.xml"
    report.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", str(build), "-j2", "--output-on-failure", "--timeout", str(TEST_TIMEOUT_S)]
    command += ["--no-tests=error", "--output-junit", str(report.resolve()), "--test-output-size-passed", str(MOST_OUTPUT)]
    if labels:
        command += ["-L", labels]
    if exclude:
        command += ["-E", exclude]
    log = build / "test-output.log"
    with open(log, "w", encoding="utf-8", errors="replace") as out:
        status = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False).returncode
    if status != 0 or not report.exists():
        print_failures(log)
    return status, report


def print_failures(log):
    """Prints what ctest said without its lines about tests that passed."""
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        passed = line.lstrip()[:1].isdigit() and line.rstrip().endswith("sec") and " Passed " in line
        if not passed and not line.lstrip().startswith("Start "):
            print(line)


def read_report(report):
    """Test names by outcome: passed, failed, skipped (JUnit's `notrun` without a skip means that the program was missing)."""
    outcome = {"passed": [], "failed": [], "skipped": []}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        status = case.get("status")
        skipped = case.find("skipped")
        if status == "run":
            kind = "passed"
        elif status == "notrun" and skipped is not None and "SKIP_" in skipped.get("message", ""):
            kind = "skipped"
        elif status == "disabled":
            kind = "skipped"
        else:
            kind = "failed"
        outcome[kind].append(case.get("name"))
        outcome["skipped"] += [f"{case.get('name')} {line}" for line in skipped_inside(case)]
    return outcome


def skipped_inside(case):
    """What a test program said of single tests that it skipped."""
    lines = (case.findtext("system-out") or "").splitlines()
    return [line.removeprefix(SKIPPED_INSIDE) for line in lines if line.startswith(SKIPPED_INSIDE)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path, help="the build folder, e.g. build/release")
    parser.add_argument("--labels", help="only tests whose label (floor) matches this regular expression")
    parser.add_argument("--exclude", help="no tests whose name matches this regular expression")
    arguments = parser.parse_args()

    started = time.monotonic()
    status, report = run_ctest(arguments.build, arguments.labels, arguments.exclude)
    if not report.exists():
        print("tests: ctest wrote no report")
        return 1
    outcome = read_report(report)

    for name in outcome["skipped"]:
        print(f"SKIPPED {name}")
    for name in outcome["failed"]:
        print(f"FAILED {name}")
    strict = bool(os.environ.get("LOCKSTEP_GOLDEN")) and not os.environ.get("LOCKSTEP_SHORT")
    wrongly_skipped = strict and any(NOT_PERMITTED not in name for name in outcome["skipped"])
    if wrongly_skipped:
        print("tests: the reference data is there, so no test may be skipped")
    print(f"tests: {arguments.build} in {time.monotonic() - started:.0f} s")
    counts = {kind: len(names) for kind, names in outcome.items()}
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    good = status == 0 and not outcome["failed"] and outcome["passed"] and not wrongly_skipped
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
