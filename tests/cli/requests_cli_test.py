#!/usr/bin/env python3
"""`lockstep complete --stdin-jsonl`: many requests, one model."""
import lockstep_program
from lockstep_program import DONE, FAILED, MODEL, USAGE, ProgramTest, run


class Requests(ProgramTest):
    def test_every_request_is_answered_as_if_it_were_alone(self):
        requests = [
            {"text": "The quick brown fox", "n_predict": 8, "temp": 0, "seed": 0, "logprobs": 3},
            {"text": "The quick brown dog", "n_predict": 8, "seed": 3, "logprobs": 3},
            {"bytes": list(b"The quick"), "n_predict": 4, "seed": 3, "top_k": 5, "logprobs": 3},
            {"ids": [7, 8, 9], "n_predict": 4, "temp": 0, "seed": 1, "logit_bias": {"700": 3.5}, "logprobs": 3},
            {"text": "The quick brown fox", "n_predict": 8, "temp": 0, "seed": 0, "logprobs": 3},
        ]
        together = self.answers_of("complete", requests)
        for request, answer in zip(requests, together):
            alone = self.answers_of("complete", [request])[0]
            for field in ("prompt_ids", "ids", "text", "finish", "steps", "receipt"):
                self.assertEqual(answer[field], alone[field], field)
        self.assertEqual(together[0]["steps"], together[4]["steps"])

    def test_a_request_is_answered_as_the_same_command_line(self):
        answer = self.answers_of("complete", [{"text": "Hello", "n_predict": 9, "seed": 11, "top_n_sigma": 2, "typical_p": 0.9}])[0]
        alone = self.json_of("complete", MODEL, "Hello", "--json", "-n", "9", "--seed", "11", "--top-nsigma", "2", "--typical", "0.9")
        self.assertEqual((answer["ids"], answer["receipt"]), (alone["ids"], alone["receipt"]))

    def test_options_of_the_command_line_are_the_defaults(self):
        answers = self.answers_of("complete", [{"text": "a"}, {"text": "a", "n_predict": 2}, {"text": "a", "n_predict": None}],
                                  options=["-n", "3", "--temp", "0"])
        self.assertEqual([answer["n_generated"] for answer in answers], [3, 2, 3])
        self.assertEqual(answers[0]["receipt"]["samplers"][-1]["temp"], 0)

    def test_a_bad_request_has_an_error_in_its_place_and_the_rest_goes_on(self):
        """B33, B39: every error names the field or entry."""
        good = {"text": "a", "n_predict": 1, "temp": 0}
        bad = [
            ({"text": "a", "n_predict": "5"}, "n_predict"), ({"text": "a", "n_predict": 1.5}, "n_predict"),
            ({"text": "a", "n_predict": -2}, "n_predict"), ({"text": "a", "max_tokens": 5}, "max_tokens"),
            ({"text": "a", "threads": 1}, "threads"), ({"text": "a", "n": 1}, "field n"),
            ({"text": "a", "seed": -2}, "seed"), ({"text": "a", "seed": 2**64}, "seed"), ({"text": "a", "seed": 1.0}, "seed"),
            ({"text": "a", "temp": "hot"}, "temp"), ({"text": "a", "temp": 1e300}, "temp"), ({"text": "a", "ignore_eos": 1}, "ignore_eos"),
            ({"text": "a", "top_k": 2**31}, "top_k"), ({"text": "a", "top_p": -1}, "top_p"), ({"text": "a", "samplers": ["x"]}, "samplers"),
            ({"ids": [-1]}, "-1"), ({"ids": [2048]}, "2048"), ({"ids": [2**40]}, str(2**40)), ({"ids": [1.5]}, "1.5"),
            ({"ids": ["1"]}, '"1"'), ({"ids": []}, "empty"), ({"ids": 5}, "ids"), ({"bytes": [256]}, "256"), ({"text": 5}, "text"),
            ({"text": "a", "logit_bias": {"999999999": 1}}, "999999999"), ({"text": "a", "logit_bias": {"-1": 1}}, "-1"),
            ({"text": "a", "logit_bias": {"abc": 1}}, "abc"), ({"text": "a", "logit_bias": {"5": 1e308}}, "5"),
            ({"text": "a", "logit_bias": [[2**40, 1]]}, str(2**40)), ({"text": "a", "logit_bias": [[1]]}, "[1]"),
            ({"text": "a", "logit_bias": 3}, "logit_bias"), ({"text": "a", "logprobs": 10**6}, "logprobs"),
            ({"text": "a", "ids": [1]}, "ids"), ({"n_predict": 1}, "prompt"), ([1], "object"), (b"nonsense", "JSON"),
            (b'{"text":' + b"[" * 100000, "levels"), (b'{"text":"\xff"}', "JSON"),
        ]
        requests = [good] + [request for request, _ in bad] + [good]
        answers = self.answers_of("complete", requests, status=FAILED)
        for (request, word), answer in zip(bad, answers[1:-1]):
            with self.subTest(request=request):
                self.assertEqual(set(answer), {"error"})
                self.assertIn(word, answer["error"]["message"])
                self.assertEqual(answer["error"]["code"], "bad_request")
        self.assertEqual(answers[0]["ids"], answers[-1]["ids"])

    def test_a_prompt_beyond_the_context_fails_alone(self):
        answers = self.answers_of("complete", [{"ids": [5] * 65}, {"ids": [5] * 64}, {"ids": [5] * 5000}], status=FAILED,
                                  options=["-c", "64", "--ignore-eos"])
        self.assertEqual(answers[0]["error"]["code"], "context_full")
        self.assertIn("65", answers[0]["error"]["message"])
        self.assertEqual(answers[1]["n_generated"], 1)
        self.assertIn("5000", answers[2]["error"]["message"])

    def test_the_end_of_input_ends_the_program(self):
        """B49: closed, empty, ending within a line; blank lines are no requests."""
        line = b'{"text":"a","n_predict":1}'
        for stdin, n_answers in ((b"", 0), (b"\n", 0), (line, 1), (line + b"\n\n" + line, 2), (line + b"\r\n", 1)):
            with self.subTest(stdin=stdin):
                process = run("complete", MODEL, "--stdin-jsonl", stdin=stdin)
                self.assertEqual(process.returncode, DONE, process.stderr_bytes)
                self.assertEqual(len(process.stdout_bytes.splitlines()), n_answers)

    def test_bytes_that_are_no_text_are_a_prompt(self):
        answer = self.answers_of("complete", [{"bytes": [104, 0xC3, 0xA9, 0x80], "n_predict": 1}])[0]
        self.assertGreaterEqual(answer["n_prompt"], 1)


if __name__ == "__main__":
    lockstep_program.main()
