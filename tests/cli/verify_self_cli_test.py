#!/usr/bin/env python3
"""`lockstep verify --self`: every path of this machine, and what scripts rely on."""
import pathlib

import lockstep_program
from lockstep_program import MODEL, USAGE, ProgramTest, run


class VerifySelf(ProgramTest):
    def test_json_has_every_path_with_its_calls(self):
        for flags in ([], ["--quick", "--compute", "exact", "--kv-type", "q8_0"]):
            got = self.json_of("verify", MODEL, "--self", "--json", *flags)
            self.assertIs(got["equal"], True)
            self.assertRegex(got["hash"], "^[0-9a-f]{32}$")
            self.assertGreaterEqual(len(got["paths"]), 3)
            for path in got["paths"]:
                self.assertEqual(set(path), {"isa", "threads", "chunk", "neighbours", "prefix", "calls", "hash"})
                self.assertEqual(path["hash"], got["hash"])
                self.assertGreater(sum(n for kernel, n in path["calls"].items() if kernel.startswith("attend_chunk")), 0)
            self.assertIn("scalar", {path["isa"] for path in got["paths"]})
            kernels = {kernel for path in got["paths"] for kernel in path["calls"]}
            if any(kernel.endswith("stream") for kernel in kernels):
                self.assertTrue(any(kernel.endswith("panel") for kernel in kernels))

    def test_the_hash_is_that_of_the_model(self):
        first = self.json_of("verify", MODEL, "--self", "--json")["hash"]
        self.assertEqual(self.json_of("verify", MODEL, "--self", "--json")["hash"], first)
        self.assertNotEqual(self.json_of("verify", MODEL, "--self", "--json", "--compute", "exact")["hash"], first)

    def test_people_get_a_table_that_ends_with_the_verdict(self):
        lines = self.expect_done(run("verify", MODEL, "--self")).decode().splitlines()
        self.assertRegex(lines[0], "^kernels +threads +chunk")
        self.assertRegex(lines[-1], r"^equal: \d+ paths, the same bits$")

    def test_full_has_more_paths(self):
        self.assertGreater(len(self.json_of("verify", MODEL, "--self", "--full", "--json")["paths"]),
                           len(self.json_of("verify", MODEL, "--self", "--json")["paths"]))

    def test_a_model_of_one_token_of_context_is_no_fault(self):
        key = b"llama.context_length"
        model = pathlib.Path(MODEL).read_bytes()
        value = model.index(key) + len(key) + 4  # behind its type
        path = self.temporary_folder() / "short.gguf"
        path.write_bytes(model[:value] + (1).to_bytes(4, "little") + model[value + 4:])
        report = self.json_of("verify", path, "--self", "--json")
        self.assertIs(report["equal"], True, report)
        self.assertIn("reused", {path["prefix"] for path in report["paths"]})

    def test_self_and_against_exclude_each_other(self):
        self.expect_error(run("verify", MODEL, "--self", "--against", "x"), USAGE, "--self and --against")

    def test_quick_and_full_are_not_both(self):
        self.expect_error(run("verify", MODEL, "--self", "--quick", "--full"), USAGE, "--full")


if __name__ == "__main__":
    lockstep_program.main()
