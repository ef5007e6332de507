#!/usr/bin/env python3
"""`lockstep complete`: text, JSON, limits and options."""
import json
import math
import os
import tempfile

import lockstep_program
from lockstep_program import DONE, FAILED, MODEL, MODELS, N_VOCAB, TIMEOUT_S, USAGE, ProgramTest, ids_text, run, start

GREEDY = ("--temp", "0")


def complete(*arguments, **options):
    return run("complete", MODEL, *arguments, **options)


class Answers(ProgramTest):
    def answer(self, *arguments):
        return self.json_of("complete", MODEL, "--json", *arguments)

    def test_json_has_everything_that_scripts_rely_on(self):
        answer = self.answer("hello", "-n", "4", *GREEDY)
        self.assertEqual(set(answer), {"prompt_ids", "ids", "text", "finish", "n_prompt", "n_generated", "timings", "receipt"})
        self.assertEqual(set(answer["timings"]), {"load_ms", "prompt_ms", "prompt_tps", "decode_ms", "decode_tps"})
        self.assertEqual(answer["n_prompt"], len(answer["prompt_ids"]))
        self.assertEqual(answer["n_generated"], 4)
        self.assertEqual(len(answer["ids"]), 4)
        self.assertEqual(answer["finish"], "length")

    def test_the_same_prompt_in_every_form_has_the_same_answer(self):
        expected = self.answer("Hello, world", "-n", "6", *GREEDY)
        path = self.text_file("Hello, world")
        forms = {
            "-p": ["-p", "Hello, world"], "--prompt=": ["--prompt=Hello, world"], "-f": ["-f", path],
            "--ids": ["--ids", ids_text(expected["prompt_ids"])],
        }
        for name, form in forms.items():
            with self.subTest(form=name):
                answer = self.answer(*form, "-n", "6", *GREEDY)
                self.assertEqual((answer["prompt_ids"], answer["ids"]), (expected["prompt_ids"], expected["ids"]))
        piped = self.json_of("complete", MODEL, "--json", "-f", "-", "-n", "6", *GREEDY, stdin=b"Hello, world")
        self.assertEqual(piped["ids"], expected["ids"])
        by_flag = self.json_of("complete", "-m", MODEL, "Hello, world", "--json", "-n", "6", *GREEDY)
        self.assertEqual(by_flag["ids"], expected["ids"])

    def text_file(self, text):
        file = tempfile.NamedTemporaryFile("w", suffix=".txt")
        self.addCleanup(file.close)
        file.write(text)
        file.flush()
        return file.name

    def test_streamed_text_is_the_text_of_the_json_answer(self):
        answer = self.answer("Once upon", "-n", "40", *GREEDY)
        process = complete("Once upon", "-n", "40", *GREEDY)
        self.assertEqual(self.expect_done(process), answer["text"].encode() if "bytes" not in answer else bytes(answer["bytes"]))
        self.assertIn(b"generated 40 tokens", process.stderr_bytes)

    def test_a_seed_decides_the_text_and_minus_one_is_drawn_and_told(self):
        first = self.answer("a", "-n", "12", "--seed", "18446744073709551615")
        again = self.answer("a", "-n", "12", "-s", "18446744073709551615")
        other = self.answer("a", "-n", "12", "--seed", "7")
        self.assertEqual(first["ids"], again["ids"])
        self.assertNotEqual(first["ids"], other["ids"])
        drawn = self.answer("a", "-n", "12", "--seed", "-1")
        replayed = self.answer("a", "-n", "12", "--seed", str(drawn["receipt"]["seed"]))
        self.assertEqual(drawn["ids"], replayed["ids"])

    def test_the_last_of_a_repeated_option_counts(self):
        self.assertEqual(self.answer("a", "-n", "9", "-n", "3")["n_generated"], 3)

    def test_logprobs_are_sorted_and_hold_the_chosen_token(self):
        answer = self.answer("a", "-n", "3", "--logprobs", "4", *GREEDY)
        self.assertEqual([step["id"] for step in answer["steps"]], answer["ids"])
        for step in answer["steps"]:
            self.assertEqual(step["top"][0], [step["id"], step["logprob"]])
            values = [logprob for _, logprob in step["top"]]
            self.assertEqual(values, sorted(values, reverse=True))
            self.assertEqual(len(values), 4)
        whole = self.answer("a", "-n", "1", "--logprobs", str(N_VOCAB), *GREEDY)["steps"][0]["top"]
        self.assertAlmostEqual(sum(2.718281828459045 ** logprob for _, logprob in whole), 1.0, places=9)

    def test_threads_and_batches_do_not_change_the_answer(self):
        expected = self.answer("The quick brown fox jumps over", "-n", "12", "--logprobs", "3", *GREEDY)
        for form in (["-t", "1", "-b", "1"], ["-t", "3", "-b", "7"], ["-c", "100"]):
            with self.subTest(form=form):
                answer = self.answer("The quick brown fox jumps over", "-n", "12", "--logprobs", "3", *GREEDY, *form)
                self.assertEqual(answer["steps"], expected["steps"])

    def test_json_of_forbidden_tokens_is_strict_and_can_be_replayed(self):
        def refuse(constant):
            self.fail(f"{constant} is no JSON")

        first = self.answer("a", "-n", "1", *GREEDY)["ids"][0]
        all_but_one = [[i, False] for i in range(N_VOCAB) if i != 700]
        line = {"text": "a", "n_predict": 2, "temp": 0, "ignore_eos": True, "logprobs": N_VOCAB}
        for bias in ([f"{first}-inf"], [[first, False]], {str(first): False}, all_but_one):
            request = {**line, "logit_bias": bias}
            out = self.expect_done(run("complete", MODEL, "--stdin-jsonl", stdin=json.dumps(request).encode() + b"\n"))
            answer = json.loads(out, parse_constant=refuse)
            self.assertEqual(answer["receipt"]["logit_bias"], all_but_one if bias is all_but_one else [[first, False]])
            # Of the raw logits, before any bias: every token has one, and it is a number.
            for step in answer["steps"]:
                self.assertEqual(len(step["top"]), N_VOCAB)
                self.assertTrue(all(math.isfinite(logprob) for _, logprob in [*step["top"], (0, step["logprob"])]))
            recorded = self.temporary_folder() / "recorded"
            recorded.write_bytes(out)
            self.assertTrue(self.json_of("replay", MODEL, recorded, "--json")["identical"])

    def test_logit_bias_forbids_and_forces(self):
        first = self.answer("a", "-n", "1", *GREEDY)["ids"][0]
        self.assertNotEqual(self.answer("a", "-n", "1", *GREEDY, "--logit-bias", f"{first}-inf")["ids"], [first])
        forced = self.answer("a", "-n", "3", *GREEDY, "-l", "700+100", "-l", "701+200")
        self.assertEqual(forced["ids"], [701] * 3)
        self.assertEqual(forced["receipt"]["logit_bias"], [[700, 100], [701, 200]])

    def test_an_end_token_stops_and_is_an_id_but_no_text(self):
        end = "2"  # <|im_end|>
        answer = self.answer("a", "-n", "5", *GREEDY, "--logit-bias", f"{end}+1000")
        self.assertEqual((answer["ids"], answer["text"], answer["finish"]), ([2], "", "stop"))
        ignored = self.answer("a", "-n", "5", *GREEDY, "--logit-bias", f"{end}+1000", "--ignore-eos")
        self.assertEqual(ignored["n_generated"], 5)
        self.assertNotIn(2, ignored["ids"])

    def test_the_receipt_tells_how_to_get_the_same_bits(self):
        receipt = self.answer("a", "-n", "2", "--compute", "exact", "--kv-type", "f32", "-c", "99", "--top-k", "7",
                              "--isa", "scalar", "--samplers", "top_k;temperature")["receipt"]
        expected = {"compute": "exact", "kv_type": "f32", "ctx": 99, "isa": "scalar", "n_predict": 2, "stop": [],
                    "rope_set": None, "logit_bias": []}
        self.assertEqual({key: receipt[key] for key in expected}, expected)
        self.assertEqual(receipt["model"]["bytes"], os.path.getsize(MODEL))
        self.assertRegex(receipt["model"]["tree_xxh128"], "^[0-9a-f]{32}$")
        self.assertRegex(receipt["template_xxh128"], "^[0-9a-f]{32}$")
        self.assertEqual([stage["stage"] for stage in receipt["samplers"]], ["top_k", "temperature"])
        self.assertEqual(receipt["samplers"][0]["top_k"], 7)
        self.assertEqual(receipt["samplers"][1]["temp"], 0.8)

    def test_another_file_has_another_hash(self):
        other = self.json_of("complete", str(MODELS / "mini-llama.Q6_K.gguf"), "a", "-n", "1", "--json")
        self.assertNotEqual(other["receipt"]["model"], self.answer("a", "-n", "1")["receipt"]["model"])


class Limits(ProgramTest):
    """B33: prompts around a context of 64, and counts."""

    def answer(self, n_prompt, *arguments):
        ids = [5 + i % 1000 for i in range(n_prompt)]
        return self.json_of("complete", MODEL, "--json", "-c", "64", "--ignore-eos", "--ids", ids_text(ids), *arguments)

    def test_what_follows_a_prompt_ends_at_the_edge_of_the_context(self):
        for n_prompt, n_generated in ((62, 3), (63, 2), (64, 1)):
            with self.subTest(n_prompt=n_prompt):
                answer = self.answer(n_prompt)
                self.assertEqual((answer["n_generated"], answer["finish"]), (n_generated, "length"))

    def test_a_prompt_that_does_not_fit_is_refused_with_both_numbers(self):
        for n_prompt in (65, 5000):
            with self.subTest(n_prompt=n_prompt):
                process = complete("-c", "64", "--ids", ids_text([5] * n_prompt))
                self.expect_error(process, FAILED, str(n_prompt), "64")

    def test_an_empty_prompt_is_refused_where_the_file_asks_for_no_bos(self):
        for form in ([""], ["-p", ""]):
            with self.subTest(form=form):
                self.expect_error(complete("-c", "64", *form), FAILED, "prompt is empty")

    def test_counts_are_exact(self):
        for n_predict in (0, 1, 2):
            answer = self.answer(3, "-n", str(n_predict))
            self.assertEqual((answer["n_generated"], answer["finish"]), (n_predict, "length"))
        for n_predict in ("-1", "2147483648"):
            self.assertEqual(self.answer(3, "-n", n_predict)["n_generated"], 62)


class Refusals(ProgramTest):
    def test_numbers_are_held_against_their_ranges(self):
        """B37, B50: the option is named."""
        cases = [("-c", "-5", "--ctx-size"), ("-c", "abc", "--ctx-size"), ("-t", "-1", "--threads"), ("-t", "1000000", "--threads"),
                 ("-t", "2.5", "--threads"), ("-b", "0", "--batch-size"), ("-n", "-2", "--n-predict"), ("-n", "5x", "--n-predict"),
                 ("-n", "", "--n-predict"), ("-n", "9223372036854775808", "--n-predict"), ("--temp", "warm", "--temp"),
                 ("--temp", "nan", "--temp"), ("--top-k", "2147483648", "--top-k"), ("--top-p", "-1", "--top-p"), ("--min-p", "2", "--min-p"),
                 ("--repeat-penalty", "0", "--repeat-penalty"), ("--repeat-last-n", "-2", "--repeat-last-n"),
                 ("--seed", "-2", "--seed"), ("--seed", "18446744073709551616", "--seed"), ("--logprobs", "-1", "--logprobs"),
                 ("--compute", "quick", "--compute"), ("--kv-type", "q3", "--kv-type"), ("--isa", "mmx", "isa"),
                 ("--samplers", "top_k;topk", "--samplers"), ("--samplers", "heat", "--samplers"), ("--mirostat", "3", "--mirostat")]
        for flag, value, name in cases:
            with self.subTest(flag=flag, value=value):
                self.expect_error(complete("a", "--json", flag, value), USAGE, name)

    def test_values_at_the_edges_are_served(self):
        for flags in (["--temp", "1e-30"], ["--temp", "1e30"], ["--temp", "-1"], ["--top-k", "0"], ["--top-k", "-1"],
                      ["--top-k", "1000000000"], ["--top-p", "0"], ["--top-p", "1.5"], ["--min-p", "1"], ["--repeat-penalty", "1e38"],
                      ["--repeat-last-n", "2147483647"], ["--frequency-penalty", "-100"], ["-c", "0"]):
            with self.subTest(flags=flags):
                self.assertEqual(self.json_of("complete", MODEL, "a", "--json", "-n", "2", *flags)["n_generated"], 2)

    def test_threads_0_is_one_for_every_usable_cpu(self):
        """B50."""
        wanted = self.json_of("doctor", "--json")["threads"]["decode"]
        process = start("complete", MODEL, "--stdin-jsonl", "-n", "4", "--temp", "0", "-t", "0")
        process.stdin.write(b'{"text":"a"}\n')
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        n_threads = len(os.listdir(f"/proc/{process.pid}/task"))
        _, errors = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, DONE, errors)
        self.assertEqual(n_threads, wanted)
        self.assertEqual(answer["ids"], self.json_of("complete", MODEL, "a", "--json", "-n", "4", "--temp", "0", "-t", "1")["ids"])

    def test_a_context_beyond_the_training_is_refused(self):
        self.expect_error(complete("a", "-c", "2147483647"), FAILED, "ctx-size", "2147483647", "2048")

    def test_bad_ids_and_biases_are_named(self):
        """B24, B39."""
        cases = [(["--ids", "-1"], USAGE, "-1"), (["--ids", "2147483648"], USAGE, "2147483648"), (["--ids", ""], USAGE, "--ids"),
                 (["--ids", "1,,2"], USAGE, "--ids"), (["--ids", "1.5"], USAGE, "1.5"), (["--ids", str(N_VOCAB)], FAILED, str(N_VOCAB)),
                 (["a", "--logit-bias", "999999999+1"], FAILED, "999999999"), (["a", "--logit-bias", "-1+1"], USAGE, "-1"),
                 (["a", "--logit-bias", "abc"], USAGE, "abc"), (["a", "--logit-bias", "5+1e308"], USAGE, "5+1e308"),
                 (["a", "--logit-bias", "5+inf"], USAGE, "5+inf"), (["a", "--json", "--logprobs", "1000000"], FAILED, "logprobs")]
        for arguments, status, word in cases:
            with self.subTest(arguments=arguments):
                self.expect_error(complete(*arguments), status, word)

    def test_one_prompt_and_one_model_are_expected(self):
        self.expect_error(complete(), USAGE, "no text")
        self.expect_error(complete("a", "-p", "b"), USAGE, "more than one text")
        self.expect_error(complete("--stdin-jsonl", "-p", "b"), USAGE, "more than one text")
        self.expect_error(run("complete", "-m", MODEL, "x", "y"), USAGE, "twice", "x")
        self.expect_error(run("complete"), USAGE, "MODEL")
        self.expect_error(complete("a", "--logprobs", "2"), USAGE, "--logprobs")
        self.expect_error(complete("-f", "/no/such/file"), FAILED, "/no/such/file")

    def test_json_errors_are_said_on_both_streams(self):
        for arguments, code, status in ((["--ids", "99999"], "bad_request", FAILED), (["a", "-n", "x"], "usage", USAGE),
                                        (["-c", "2", "--ids", "1,2,3"], "context_full", FAILED)):
            with self.subTest(arguments=arguments):
                process = complete("--json", *arguments)
                message = self.expect_error(process, status)
                self.assertEqual(json.loads(process.stdout_bytes), {"error": {"code": code, "message": message}})


if __name__ == "__main__":
    lockstep_program.main()
