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

    def test_a_damaged_line_is_refused_by_field_or_place(self):
        """B41: what a request may be wrong in, as JSON."""
        good = b'{"text":"a","n_predict":1,"temp":0}'
        bad = [
            (b"{:", "column 2"), (b'{"text":"a",}', "column 13"), (b"[" + good + b"]", "object"), (b'"text"', "object"), (b"null", "object"),
            (b'{"text":"a","stream":"false"}', "stream"), (b'{"messages":"hi"}', "prompt"), (b'{"text":"a","text":"b"}', "text: it is there twice"),
            (b'{"text":"a","n_predict":1,"n_predict":2}', "n_predict: it is there twice"), (b'{"text":"\\ud800"}', "surrogate"),
            (b'{"text":"\\udc00x"}', "surrogate"), (b'{"text":"\xc0\x80"}', "UTF-8"), (b'{"text":"a\x00b"}', "control character"),
            (b'{"text":"a","n_predict":' + b"9" * 15_000_000 + b"}", "number overflow"), (b'{"text":"a","n_predict":1e5}', "n_predict"),
            (b'{"text":"a","n_predict":' + b"9" * 20_000_000 + b"}", "a line of more than 16777216 bytes"),
            (b'{"text":"a","temp":1e999}', "number overflow"), (b'{"text":"a","":1}', "unknown field"),
        ]
        answers = self.answers_of("complete", [good] + [line for line, _ in bad] + [good], status=FAILED)
        self.assertEqual(answers[0]["ids"], answers[-1]["ids"])
        for (line, word), answer in zip(bad, answers[1:-1], strict=True):
            with self.subTest(line=line[:40]):
                self.assertEqual(answer["error"]["code"], "bad_request")
                self.assertIn(word, answer["error"]["message"])
                self.assertLess(len(answer["error"]["message"]), 300)

    def test_what_is_not_offered_is_refused_rather_than_ignored(self):
        """B40: grammars and schemas; B39: several answers to one request."""
        fields = ("grammar", "json_schema", "response_format", "guided_json", "tools", "n", "best_of", "stream")
        answers = self.answers_of("complete", [{"text": "a", field: "x"} for field in fields], status=FAILED)
        for field, answer in zip(fields, answers, strict=True):
            self.assertEqual((answer["error"]["code"], field in answer["error"]["message"]), ("bad_request", True), answer)
        for flag in ("--grammar", "--grammar-file", "-j", "--json-schema"):
            self.expect_error(run("complete", MODEL, "a", flag, "x"), USAGE, flag)

    def test_seeds_are_64_bits_and_what_is_drawn_can_be_asked_for_again(self):
        """B35."""
        def answer(seed):
            return self.answers_of("complete", [{"text": "a", "n_predict": 8, "temp": 1, "seed": seed}])[0]
        for seed in (0, 2**32 - 1, 2**63, 2**64 - 1):
            first, again = answer(seed), answer(seed)
            self.assertEqual((first["ids"], first["receipt"]["seed"]), (again["ids"], seed))
        drawn = answer(-1)
        self.assertEqual(answer(drawn["receipt"]["seed"])["ids"], drawn["ids"])
        for answer in self.answers_of("complete", [{"text": "a", "seed": seed} for seed in (1.5, "7", -2, 2**64, True, [1])], status=FAILED):
            self.assertIn("seed", answer["error"]["message"])

    def test_bytes_that_are_no_text_are_a_prompt(self):
        answer = self.answers_of("complete", [{"bytes": [104, 0xC3, 0xA9, 0x80], "n_predict": 1}])[0]
        self.assertGreaterEqual(answer["n_prompt"], 1)


if __name__ == "__main__":
    lockstep_program.main()
