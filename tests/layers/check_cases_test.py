#!/usr/bin/env python3
"""check_cases.py finds tests that are not there."""
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_cases  # noqa: E402

GOOD = "| B01 | files | `Reader.Refuses`, `x_cli_test.py:test_a` |\n| B03 | more | `Reader.Refuses` |\n"


class CheckCases(unittest.TestCase):
    def findings(self, table):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for part in ("src", "apps", "tests/cli"):
                (root / part).mkdir(parents=True)
            (root / "src/reader_test.cpp").write_text("TEST(Reader, Refuses) {}\nTEST_P(Every, Works) {}\n")
            (root / "tests/cli/x_cli_test.py").write_text("class A:\n    def test_a(self):\n        pass\n")
            (root / "tests/cases.md").write_text(table)
            return check_cases.check(root)

    def test_a_good_table_passes(self):
        self.assertEqual(self.findings(GOOD), [])

    def test_planted_faults_are_found(self):
        for table in (GOOD.replace("Reader.Refuses`,", "Reader.Refused`,"), GOOD.replace("test_a", "test_b"),
                      GOOD + "| B02 | out of order | `Every.Works` |\n", GOOD + "| B03 | twice | `Every.Works` |\n",
                      GOOD + "| B04 | without tests | none |\n", GOOD + "| B04 | no end\n", ""):
            with self.subTest(table=table):
                self.assertEqual(len(self.findings(table)), 1)


if __name__ == "__main__":
    unittest.main()
