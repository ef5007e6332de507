#!/usr/bin/env python3
"""`lockstep tokenize` and `lockstep detokenize`."""
import json
import tempfile

import lockstep_program
from lockstep_program import FAILED, MODEL, MODELS, N_VOCAB, USAGE, ProgramTest, ids_text, run

GOLDEN = json.loads((MODELS / "mini-llama.Q4_0.json").read_text())


class Tokenize(ProgramTest):
    def test_ids_are_those_of_the_reference(self):
        answer = self.json_of("tokenize", MODEL, "--json", "-p", GOLDEN["prompt"])
        self.assertEqual(answer["ids"], GOLDEN["ids"])
        self.assertEqual("".join(answer["pieces"]), GOLDEN["prompt"])
        self.assertNotIn("bytes", answer)

    def test_people_get_one_line_an_id(self):
        output = self.expect_done(run("tokenize", MODEL, "Hello\n\tworld \\ \x1b")).decode()
        lines = [line.split("\t") for line in output.removesuffix("\n").split("\n")]
        self.assertTrue(all(len(line) == 2 and line[0].isdigit() for line in lines), lines)
        self.assertEqual("".join(piece for _, piece in lines), "Hello\\n\\tworld \\\\ \\x1B")

    def test_special_tokens_are_recognised_unless_told_otherwise(self):
        self.assertEqual(self.json_of("tokenize", MODEL, "--json", "-p", "<|im_end|>")["ids"], [2])
        plain = self.json_of("tokenize", MODEL, "--json", "--no-special", "-p", "<|im_end|>")
        self.assertNotIn(2, plain["ids"])
        self.assertEqual("".join(plain["pieces"]), "<|im_end|>")

    def test_pieces_that_are_no_characters_come_as_bytes_too(self):
        answer = self.json_of("tokenize", MODEL, "--json", "-p", "\u00e9")
        self.assertEqual(sum(answer["bytes"], []), list("\u00e9".encode()))

    def test_a_file_is_read_byte_for_byte(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"ab\0cd\r\n\n")
            file.flush()
            answer = self.json_of("tokenize", MODEL, "--json", "-f", file.name)
        whole = self.answers_of("tokenize", [{"bytes": list(b"ab\0cd\r\n\n")}])[0]
        self.assertEqual(answer["ids"], whole["ids_special"])

    def test_lines_are_answered_with_both_forms(self):
        text = "a<|im_end|>b"
        answers = self.answers_of("tokenize", [{"text": text}, {"bytes": list(text.encode())}, {"text": ""}])
        self.assertEqual(answers[0], answers[1])
        self.assertEqual(answers[2], {"ids": [], "ids_special": []})
        self.assertIn(2, answers[0]["ids_special"])
        self.assertNotIn(2, answers[0]["ids"])
        self.assertEqual(answers[0]["ids"], self.json_of("tokenize", MODEL, "--json", "--no-special", "-p", text)["ids"])

    def test_a_bad_line_has_an_error_in_its_place(self):
        requests = [{"text": "a"}, {"ids": [1]}, {"text": "a", "x": 1}, b"{", {"bytes": [-1]}, {"text": "a"}]
        answers = self.answers_of("tokenize", requests, status=FAILED)
        self.assertEqual([set(answer) for answer in answers[1:-1]], [{"error"}] * 4)
        self.assertEqual(answers[0], answers[-1])


class Detokenize(ProgramTest):
    def test_texts_come_back(self):
        for text in (GOLDEN["prompt"], " leading and trailing ", "\n\n", "caf\u00e9"):
            with self.subTest(text=text):
                ids = self.json_of("tokenize", MODEL, "--json", "--no-special", "-p", text)["ids"]
                self.assertEqual(self.json_of("detokenize", MODEL, "--json", "--ids", ids_text(ids)), {"text": text})
                self.assertEqual(self.expect_done(run("detokenize", MODEL, "--ids", ids_text(ids))), text.encode())

    def test_half_a_character_is_shown_and_its_bytes_are_given(self):
        first = self.json_of("tokenize", MODEL, "--json", "-p", "\u00e9")["ids"][0]
        self.assertEqual(self.json_of("detokenize", MODEL, "--json", "--ids", str(first)), {"text": "\ufffd", "bytes": [0xC3]})

    def test_names_of_control_tokens_can_be_left_out(self):
        self.assertEqual(self.json_of("detokenize", MODEL, "--json", "--ids", "2")["text"], "<|im_end|>")
        self.assertEqual(self.json_of("detokenize", MODEL, "--json", "--no-special", "--ids", "2")["text"], "")

    def test_bad_ids_are_refused(self):
        """B24."""
        for ids, status in (("-1", USAGE), ("2147483648", USAGE), ("x", USAGE), ("", USAGE), (str(N_VOCAB), FAILED)):
            with self.subTest(ids=ids):
                self.expect_error(run("detokenize", MODEL, "--ids", ids), status, ids)
        self.expect_error(run("detokenize", MODEL), USAGE, "--ids")


if __name__ == "__main__":
    lockstep_program.main()
