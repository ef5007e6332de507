#!/usr/bin/env python3
"""check_objects.py passes a unit with one export and names weak symbols and further exports: check_objects_test.py CXX NM."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import check_objects  # noqa: E402

CXX, NM = sys.argv[1:3]
TABLE = "namespace { int one() { return 1; } }\nextern int (*const table)();\nint (*const table)() = one;\n"


class ObjectChecks(unittest.TestCase):
    def findings(self, source):
        with tempfile.TemporaryDirectory() as folder:
            unit, compiled = pathlib.Path(folder, "unit.cpp"), pathlib.Path(folder, "unit.o")
            unit.write_text(source, encoding="utf-8")
            subprocess.run([CXX, "-std=c++20", "-c", unit, "-o", compiled], check=True)
            return check_objects.check_object(NM, compiled)

    def test_one_export_passes(self):
        self.assertEqual(self.findings(TABLE), [])

    def test_an_inline_function_is_found(self):
        findings = self.findings("inline int two() { return 2; }\n" + TABLE.replace("return 1", "return two()"))
        self.assertEqual(findings, ["unit.o: weak symbol two()"])

    def test_a_second_export_is_found(self):
        self.assertEqual(len(self.findings(TABLE + "int two() { return 2; }\n")), 1)

    def test_no_export_is_found(self):
        self.assertEqual(len(self.findings("namespace { [[maybe_unused]] int one() { return 1; } }\n")), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
