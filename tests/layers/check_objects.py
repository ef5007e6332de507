#!/usr/bin/env python3
"""Each kernel unit exports its table and nothing else: check_objects.py ROOT BUILD NM [UNIT...]

A unit compiled for AVX-512 that emits a weak symbol (an inline function, a template) may be the copy that the linker keeps for
every caller, and then the program dies on a CPU without AVX-512. So: no weak or unique symbol, exactly one exported definition.
The UNITs given are those for other processors, which this build has no objects of.
"""
import pathlib
import subprocess
import sys

WEAK = set("WwVvu")
EXPORTED = set("ABCDGRST")


def symbols(nm, compiled):
    """(kind, name) of every symbol of an object file, demangled."""
    output = subprocess.run([nm, "-C", compiled], check=True, capture_output=True, text=True).stdout
    for line in output.splitlines():
        kind, name = line[17:].split(" ", 1)
        yield kind, name


def check_object(nm, compiled):
    found = list(symbols(nm, compiled))
    findings = [f"{compiled.name}: weak symbol {name}" for kind, name in found if kind in WEAK]
    exported = [name for kind, name in found if kind in EXPORTED]
    if len(exported) != 1:
        findings.append(f"{compiled.name}: exports {len(exported)} symbols, not one: {', '.join(exported)}")
    return findings


def main():
    root, build, nm = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    elsewhere = {pathlib.Path(unit) for unit in sys.argv[4:]}
    findings = []
    for unit in sorted(set((root / "src/kernels").glob("isa_*.cpp")) - elsewhere):
        objects = list(build.rglob(f"lockstep_kernels.dir/**/{unit.name}.o"))
        if len(objects) != 1:
            findings.append(f"{unit.name}: {len(objects)} objects below {build}, expected one")
        for compiled in objects:
            findings += check_object(nm, compiled)
    print("\n".join(findings))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
