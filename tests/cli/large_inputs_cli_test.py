#!/usr/bin/env python3
"""Texts, templates, requests and recordings that are larger than what is read: refused by their size, unread."""
import json
import os

import lockstep_program
from lockstep_program import DONE, FAILED, MODEL, ProgramTest, run

MEBIBYTE = 1 << 20


class LargeInputs(ProgramTest):
    def test_a_file_beyond_the_limit_of_its_use_is_refused_by_its_size(self):
        path = self.temporary_folder() / "large"
        path.touch()
        os.truncate(path, 1 << 30)  # has no blocks on the disk
        for command, most in ((("complete", MODEL, "-f", path), 64 * MEBIBYTE), (("tokenize", MODEL, "-f", path), 64 * MEBIBYTE),
                              (("template", MODEL, "--input", path), 16 * MEBIBYTE), (("replay", MODEL, path), 256 * MEBIBYTE),
                              (("run", MODEL, "a", "--chat-template-file", path), MEBIBYTE // 4)):
            with self.subTest(command=command[0]):
                self.expect_error(run(*command), FAILED, f"large: {1 << 30} bytes, expected at most {most}")

    def test_standard_input_without_an_end_is_refused_at_the_limit(self):
        text = b"a" * (64 * MEBIBYTE + 1)
        self.expect_error(run("tokenize", MODEL, "-f", "-", stdin=text), FAILED, "standard input: more than 67108864 bytes")

    def test_a_line_beyond_the_limit_has_an_error_in_its_place_and_the_rest_goes_on(self):
        lines = b"\n".join((b"x" * (16 * MEBIBYTE + 1), b'{"text":"' + b"a" * (40 * MEBIBYTE) + b'"}', b'{"text":"a"}', b""))
        for command in (("complete", MODEL, "-n", "1", "--stdin-jsonl"), ("tokenize", MODEL, "--stdin-jsonl")):
            with self.subTest(command=command[0]):
                process = run(*command, stdin=lines)
                self.assertEqual(process.returncode, FAILED, process.stderr_bytes)
                answers = [json.loads(line) for line in process.stdout_bytes.splitlines()]
                self.assertEqual(len(answers), 3)
                for answer in answers[:2]:
                    self.assertEqual(answer["error"]["message"], "a line of more than 16777216 bytes")
                self.assertNotIn("error", answers[2])

    def test_sequence_breakers_without_number_are_refused_by_name(self):
        request = {"text": "a", "dry_multiplier": 1, "dry_sequence_breaker": [f"e{i}" for i in range(300)]}
        process = run("complete", MODEL, "-n", "1", "--stdin-jsonl", stdin=json.dumps(request).encode() + b"\n")
        self.assertIn("dry_sequence_breaker: 300 texts, expected at most 128", json.loads(process.stdout_bytes)["error"]["message"])
        request["dry_sequence_breaker"] = request["dry_sequence_breaker"][:128]
        process = run("complete", MODEL, "-n", "1", "--stdin-jsonl", stdin=json.dumps(request).encode() + b"\n")
        self.assertEqual(process.returncode, DONE, process.stdout_bytes)


if __name__ == "__main__":
    lockstep_program.main()
