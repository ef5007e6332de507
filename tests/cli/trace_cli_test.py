#!/usr/bin/env python3
"""`lockstep trace --logits`: every position's logits, against those of llama.cpp."""
import array
import json
import os
import pathlib

import lockstep_program
from lockstep_program import FAILED, MODEL, MODELS, N_VOCAB, USAGE, ProgramTest, ids_text, run

MOST_NMSE = 1e-11


def floats(path):
    values = array.array("f")
    values.frombytes(pathlib.Path(path).read_bytes())
    return values


def nmse(ours, theirs):
    return sum((a - b) ** 2 for a, b in zip(ours, theirs)) / sum(b * b for b in theirs)


class TraceLogits(ProgramTest):
    def setUp(self):
        self.file = os.path.join(self.temporary_folder(), "logits.f32")

    def test_exact_logits_are_those_of_the_reference(self):
        for name in ("mini-llama.Q4_0", "mini-llama.Q4_K_S", "mini-llama.Q6_K"):
            with self.subTest(model=name):
                golden = json.loads((MODELS / f"{name}.json").read_text())
                process = run("trace", MODELS / f"{name}.gguf", "--ids", ids_text(golden["ids"]), "--logits", self.file)
                self.expect_done(process)
                ours, theirs = floats(self.file), floats(MODELS / f"{name}.exact.f32")
                self.assertEqual(len(ours), len(golden["ids"]) * N_VOCAB)
                self.assertLess(nmse(ours, theirs), MOST_NMSE)

    def test_a_text_is_its_ids(self):
        golden = json.loads((MODELS / "mini-llama.Q4_0.json").read_text())
        self.expect_done(run("trace", MODEL, golden["prompt"], "--logits", self.file))
        self.assertLess(nmse(floats(self.file), floats(MODELS / "mini-llama.Q4_0.exact.f32")), MOST_NMSE)

    def test_what_cannot_be_done_is_refused(self):
        self.expect_error(run("trace", MODEL, "--logits", self.file), USAGE, "no text")
        self.expect_error(run("trace", MODEL, "a", "--logits", "/no/such/folder/x"), FAILED, "/no/such/folder/x")
        self.expect_error(run("trace", MODEL, "--ids", str(N_VOCAB), "--logits", self.file), FAILED, str(N_VOCAB))

    def test_a_full_disk_is_an_error(self):
        if not os.path.exists("/dev/full"):
            lockstep_program.skip_on_this_machine("no /dev/full")
        self.expect_error(run("trace", MODEL, "a", "--logits", "/dev/full"), FAILED, "/dev/full")


if __name__ == "__main__":
    lockstep_program.main()
