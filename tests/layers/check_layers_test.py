#!/usr/bin/env python3
"""Every check of check_layers.py passes on a small clean tree and names each fault that is planted in it."""
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import check_layers  # noqa: E402

CLEAN = {
    "src/base/error.h": "#pragma once\n",
    "src/quant/format.cpp": '#include "base/error.h"\n#include "quant/format.h"\n',
    "src/quant/format.h": "#pragma once\n#include <string>\n",
    "src/kernels/oracle/linear.h": '#pragma once\n#include "quant/format.h"\n',
    "src/kernels/isa_scalar.cpp": '#include "kernels/oracle/linear.h"\n',
    "src/kernels/oracle_test.cpp": '#include <gtest/gtest.h>\n#include "kernels/oracle/linear.h"\n',
    "apps/lockstep/main.cpp": '#include <CLI/CLI.hpp>\n#include "base/error.h"\n',
    "ARCHITECTURE.md": "`src/base/error.h`, base/error, kernels/oracle/, kernels/isa_*.cpp, docs/adr/; and so on.\n",
    "docs/adr/0001.md": "",
}


class LayerChecks(unittest.TestCase):
    def findings(self, check, changes=()):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {**CLEAN, **dict(changes)}.items():
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return check_layers.CHECKS[check](root)

    def test_a_clean_tree_passes_every_check(self):
        for check in check_layers.CHECKS:
            self.assertEqual(self.findings(check), [], check)

    def assert_finding(self, check, path, text, expected):
        findings = self.findings(check, {path: text})
        self.assertEqual(len(findings), 1, findings)
        self.assertIn(expected, findings[0])

    def test_a_floor_may_not_include_one_above(self):
        self.assert_finding("includes", "src/base/error.h", '#pragma once\n#include "quant/format.h"\n', "base may not include quant")

    def test_an_include_in_a_test_of_a_floor_counts(self):
        self.assert_finding("includes", "src/base/error_test.cpp", '#  include "quant/format.h"\n', "error_test.cpp:1: base may")

    def test_an_unknown_floor_is_named(self):
        self.assert_finding("includes", "src/attic/old.h", "#pragma once\n", "attic is not a floor")

    def test_a_header_that_does_not_exist_is_named(self):
        self.assert_finding("includes", "apps/lockstep/main.cpp", '#include "base/gone.h"\n', "no src/base/gone.h")

    def test_kernel_interiors_are_hidden_from_other_kernel_files(self):
        self.assert_finding("includes", "src/kernels/select.cpp", '#include "kernels/oracle/linear.h"\n', "only kernels/isa_*.cpp")

    def test_json_stays_out_of_the_lower_floors(self):
        self.assert_finding("libraries", "src/gguf/reader.cpp", "#include <nlohmann/json.hpp>\n", "nlohmann/json.hpp is for")

    def test_test_code_stays_out_of_the_program(self):
        self.assert_finding("libraries", "src/gguf/reader.cpp", "#include <gtest/gtest.h>\n", "gtest/gtest.h is for tests")

    def test_what_tests_share_stays_out_of_the_program(self):
        shared = {"src/gguf/forged.h": "#pragma once\n#include <gtest/gtest.h>\n"}
        self.assertEqual(self.findings("libraries", {**shared, "src/gguf/a_test.cpp": '#include "gguf/forged.h"\n'}), [])
        findings = self.findings("libraries", {**shared, "src/gguf/a.cpp": '#include "gguf/forged.h"\n'})
        self.assertEqual(len(findings), 1, findings)

    def test_file_names_are_unique(self):
        self.assert_finding("file_names", "src/gguf/format.h", "#pragma once\n", "the name is taken by src/")

    def test_file_names_say_something(self):
        self.assert_finding("file_names", "src/base/utils.h", "#pragma once\n", "says nothing")

    def test_file_names_are_snake_case(self):
        self.assert_finding("file_names", "src/base/HalfFloat.h", "#pragma once\n", "not snake_case")

    def test_sources_are_ascii(self):
        self.assert_finding("sources", "src/base/half.h", "#pragma once\n// \u00e9\n", "half.h:2: not ASCII")

    def test_headers_are_included_once(self):
        self.assert_finding("sources", "src/base/half.h", "// nothing\n", "no #pragma once")

    def test_paths_named_in_the_architecture_exist(self):
        self.assert_finding("architecture", "ARCHITECTURE.md", "See src/base/gone.h.\n", "src/base/gone.h, which does not exist")

    def test_short_paths_named_in_the_architecture_exist(self):
        self.assert_finding("architecture", "ARCHITECTURE.md", "Then `model/forward` runs.\n", "src/model/forward, which")


if __name__ == "__main__":
    unittest.main()
