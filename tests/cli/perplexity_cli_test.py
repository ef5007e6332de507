#!/usr/bin/env python3
"""`lockstep perplexity`: values, bases, refusals."""
import json
import os

import lockstep_program
from lockstep_program import FAILED, MODEL, MODELS, USAGE, ProgramTest, run

TEXT = " ".join(f"The {i} quick brown foxes jump over {i * 7} lazy dogs." for i in range(60))


class Perplexity(ProgramTest):
    def setUp(self):
        self.folder = self.temporary_folder()
        self.base = self.folder / "a.base"

    def measure(self, *arguments, model=MODEL):
        return self.json_of("perplexity", model, "-p", TEXT, "-c", "64", "--json", *arguments)

    def test_json_has_everything_that_scripts_rely_on(self):
        got = self.measure("--chunks", "3")
        self.assertLessEqual({"ppl", "ppl_se", "chunks", "ctx", "tokens"}, set(got))
        self.assertEqual((got["chunks"], got["ctx"], got["tokens"]), (3, 64, 3 * 31))
        self.assertGreater(got["ppl"], 1)
        self.assertGreater(got["ppl_se"], 0)
        self.assertGreater(self.measure()["chunks"], 3)

    def test_nothing_but_the_numbers_decides(self):
        expected = self.measure("--chunks", "2")
        for flags in (["-t", "1", "-b", "5"], ["--isa", "scalar"], ["-t", "3"]):
            with self.subTest(flags=flags):
                self.assertEqual(self.measure("--chunks", "2", *flags), expected)

    def test_a_file_is_its_text(self):
        path = self.folder / "text"
        path.write_text(TEXT)
        got = self.json_of("perplexity", MODEL, "-f", path, "-c", "64", "--json", "--chunks", "2")
        self.assertEqual(got, self.measure("--chunks", "2"))

    def test_against_exact_is_against_a_base_that_exact_saved(self):
        live = self.measure("--chunks", "3", "--against", "exact")
        self.assertGreater(live["kld"]["mean"], 0)
        self.assertLessEqual(live["kld"]["mean"], live["kld"]["p99"])
        self.assertLessEqual(live["kld"]["p99"], live["kld"]["max"])
        self.assertTrue(0.5 < live["same_top"] <= 1)
        exact = self.measure("--chunks", "3", "--compute", "exact", "--save-base", self.base)
        self.assertEqual(live["base_ppl"], exact["ppl"])
        self.assertEqual(self.measure("--chunks", "3", "--against", self.base), live)
        same = self.measure("--chunks", "3", "--compute", "exact", "--against", self.base)
        self.assertEqual((same["kld"], same["same_top"]), ({"mean": 0.0, "p99": 0.0, "max": 0.0}, 1.0))
        other = self.measure("--chunks", "2", "--against", self.base, model=MODELS / "mini-llama.Q6_K.gguf")
        self.assertGreater(other["kld"]["mean"], live["kld"]["mean"])
        self.assertEqual(os.listdir(self.folder), ["a.base"])

    def test_people_get_lines(self):
        out = self.expect_done(run("perplexity", MODEL, TEXT, "-c", "64", "--chunks", "2", "--against", "exact")).decode()
        self.assertRegex(out, r"^perplexity [\d.]+ \+- [\d.]+: 2 windows of 64 tokens, 62 of them scored\nagainst exact")

    def test_what_cannot_be_measured_is_refused(self):
        def perplexity(*arguments):
            return run("perplexity", MODEL, *arguments)

        self.expect_error(perplexity("-p", "too short"), FAILED, "one window of 512")
        self.expect_error(perplexity("-p", TEXT, "-c", "3"), USAGE, "--ctx-size", "3", "4")
        self.expect_error(perplexity("-p", TEXT, "--chunks", "x"), USAGE, "--chunks")
        self.expect_error(perplexity(), USAGE, "no text")
        self.expect_error(perplexity("-p", TEXT, "-c", "64", "--against", "/no/such/base"), FAILED, "/no/such/base")
        self.expect_error(perplexity("-p", TEXT, "-c", "64", "--against", MODEL), FAILED, MODEL, "not a base")
        self.expect_error(perplexity("-p", TEXT, "-c", "64", "--save-base", "/no/such/folder/x"), FAILED, "/no/such/folder/x")

    def test_bad_bases_are_named_errors(self):
        self.measure("--chunks", "2", "--save-base", self.base)
        data = self.base.read_bytes()
        cut = self.folder / "cut"
        cut.write_bytes(data[:-100])
        process = run("perplexity", MODEL, "-p", TEXT, "-c", "64", "--chunks", "2", "--json", "--against", cut)
        self.expect_error(process, FAILED, "cut", "cut off")
        self.assertEqual(json.loads(process.stdout_bytes)["error"]["code"], "bad_file")
        other_text = run("perplexity", MODEL, "-p", TEXT[1:], "-c", "64", "--chunks", "2", "--against", self.base)
        self.expect_error(other_text, FAILED, "another text")
        self.expect_error(run("perplexity", MODEL, "-p", TEXT, "-c", "60", "--chunks", "2", "--against", self.base), FAILED, "-c")
        self.expect_error(run("perplexity", MODEL, "-p", TEXT, "-c", "64", "--against", self.base), FAILED, "--chunks")


if __name__ == "__main__":
    lockstep_program.main()
