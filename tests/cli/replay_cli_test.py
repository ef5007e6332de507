#!/usr/bin/env python3
"""`lockstep replay`: recorded answers, other circumstances, damaged recordings."""
import copy
import json

import lockstep_program
from lockstep_program import DONE, FAILED, MODEL, MODELS, N_VOCAB, USAGE, ProgramTest, ids_text, run

OTHER_MODEL = str(MODELS / "mini-llama.Q6_K.gguf")


class Replay(ProgramTest):
    def setUp(self):
        self.file = self.temporary_folder() / "recorded.jsonl"

    def record(self, *arguments):
        return self.json_of("complete", MODEL, "--json", *arguments)

    def replay(self, *recorded, status, model=MODEL, options=()):
        self.file.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in recorded))
        process = run("replay", model, self.file, "--json", *options)
        self.assertEqual(process.returncode, status, process.stderr_bytes)
        verdicts = [json.loads(line) for line in process.stdout_bytes.splitlines()]
        self.assertEqual(len(verdicts), len(recorded))
        return verdicts

    def test_every_kind_of_request_is_identical(self):
        recorded = [
            self.record("hello", "-n", "8", "--temp", "0"),
            self.record("hello", "-n", "8", "--seed", "18446744073709551615", "--logprobs", "3"),
            self.record("hello", "-n", "8", "--seed", "-1", "--top-k", "0", "--samplers", "temperature;min_p;xtc", "--xtc-probability", "0.7"),
            self.record("hello", "-n", "8", "--mirostat", "2", "--mirostat-lr", "0.3", "--temp", "1.7"),
            self.record("hello", "-n", "20", "--dry-multiplier", "0.8", "--dry-sequence-breaker", "x", "--repeat-penalty", "1.3",
                        "--typical", "0.9", "--dynatemp-range", "0.4", "--top-n-sigma", "2.5"),
            self.record("hello", "-n", "4", "-l", "700+3.25", "-l", "12-inf", "--ignore-eos", "--compute", "exact", "--kv-type", "f32"),
            self.record("hello", "-c", "12"),
            self.record("hello", "-n", "0"),
            self.record("hello", "-n", "8", "--kv-type", "q8_0", "-t", "1", "-b", "2", "--isa", "scalar"),
        ]
        for verdict in self.replay(*recorded, status=DONE):
            self.assertEqual(verdict, {"identical": True, "differences": []})
        self.replay(*recorded[:3], status=DONE, options=["-t", "3", "-b", "1", "--isa", "scalar"])

    def test_a_changed_token_is_found_where_it_is(self):
        recorded = self.record("hello", "-n", "8", "--temp", "0", "--logprobs", "1")
        del recorded["steps"]
        for position in (0, 5, 7):
            changed = copy.deepcopy(recorded)
            changed["ids"][position] = (changed["ids"][position] + 1) % N_VOCAB
            verdict = self.replay(recorded, changed, status=FAILED)[1]
            self.assertEqual((verdict["identical"], verdict["position"]), (False, position))
            self.assertIn("nothing in the receipts differs", verdict["why"])
            self.assertIn("an edited recording", verdict["why"])
        for n in (0, 3):
            shorter = {**recorded, "ids": recorded["ids"][:n]}
            self.assertEqual(self.replay(shorter, status=FAILED)[0]["position"], n)

    def test_log_probabilities_are_compared_to_the_last_bit(self):
        recorded = self.record("hello", "-n", "4", "--temp", "0", "--logprobs", "2")
        recorded["steps"][2]["top"][1][1] *= 1 + 2**-52
        self.assertEqual(self.replay(recorded, status=FAILED)[0]["position"], 2)

    def test_why_names_what_the_receipts_do_not_share(self):
        recorded = self.record("The quick brown fox", "-n", "24", "--seed", "5", "--temp", "3", "--top-k", "0", "--min-p", "0", "--top-p", "1")
        verdict = self.replay(recorded, status=FAILED, model=OTHER_MODEL)[0]
        self.assertFalse(verdict["identical"])
        self.assertIn("other model file: " + recorded["receipt"]["model"]["tree_xxh128"], verdict["why"])
        exact = self.replay(recorded, status=FAILED, options=["--compute", "exact", "--kv-type", "f32"])[0]
        self.assertIn("other compute mode: fast, here exact", exact["why"])
        self.assertIn("other kv type: f16, here f32", exact["why"])
        older = copy.deepcopy(recorded)
        older["receipt"]["version"] = "0.0.1"
        older["receipt"]["rope_set"] = "long"
        older["ids"][3] += 1
        why = self.replay(older, status=FAILED)[0]["why"]
        self.assertIn("other version of lockstep: 0.0.1", why)
        self.assertIn("other set of RoPE factors", why)
        same = copy.deepcopy(recorded)
        same["receipt"]["version"] = "0.0.1"
        self.assertEqual([word[:13] for word in self.replay(same, status=DONE)[0]["differences"]], ["other version"])
        shorter = self.replay(self.record("a", "-c", "12", "--temp", "0"), status=FAILED, options=["-c", "9"])[0]
        self.assertIn("other context size: 12, here 9", shorter["why"])

    def test_answers_that_something_else_ended_are_compared_as_far_as_they_go(self):
        recorded = self.record("hello", "-n", "30", "--temp", "0")
        recorded["receipt"]["stop"] = ["x"]
        recorded["ids"] = recorded["ids"][:11]
        self.replay(recorded, status=DONE)
        recorded["receipt"]["stop"] = []
        recorded["finish"] = "cancelled"
        self.replay(recorded, status=DONE)

    def test_parts_of_a_streamed_answer_are_passed_over(self):
        recorded = self.record("hello", "-n", "3", "--temp", "0")
        self.file.write_text('{"delta":"a"}\n\n' + json.dumps({"done": True, **recorded}) + "\n")
        out = self.expect_done(run("replay", MODEL, self.file))
        self.assertEqual(out, b"line 3: identical, 3 tokens\n")

    def test_damaged_recordings_are_errors_that_name_the_field(self):
        good = self.record("hello", "-n", "3", "--temp", "0")

        def damaged(path, value="remove"):
            copied = copy.deepcopy(good)
            place = copied
            for key in path[:-1]:
                place = place[key]
            if value == "remove":
                del place[path[-1]]
            else:
                place[path[-1]] = value
            return copied

        cases = [("not json", "JSON"), ("[]", "object"), ("{}", "receipt"), ('{"error":{"code":"x","message":"y"}}', "receipt"),
                 ("[" * 100 + "]" * 100, "levels"), ({"receipt": good["receipt"]}, "prompt_ids"), (damaged(["receipt"], 7), "object"),
                 (damaged(["receipt"]), "receipt"), (damaged(["ids"]), "ids"), (damaged(["ids"], "x"), "ids"),
                 (damaged(["ids"], [1, 2.5]), "ids"), (damaged(["ids"], [2**31]), "ids"), (damaged(["prompt_ids"], [2**64 - 1]), "prompt_ids"),
                 (damaged(["prompt_ids"], [-1]), "prompt_ids"), (damaged(["prompt_ids"], [N_VOCAB]), str(N_VOCAB)),
                 (damaged(["prompt_ids"], []), "empty"), (damaged(["prompt_ids"], [5] * 5000), "5000"), (damaged(["steps"], {}), "steps"),
                 (damaged(["steps"], [1]), "object"), (damaged(["finish"]), "finish")]
        for field, values in {"compute": (1, "quick"), "kv_type": ("q3", None), "ctx": (0, -5, "x", 2**63, 1e300, 2**62), "seed": (-1, 2**64, "x", None),
                              "n_predict": (-2, "x", None, 2**63), "ignore_eos": (1,), "logit_bias": ("x", [[1]], [[-1, 2]]), "version": (1,),
                              "stop": ("x",), "samplers": ("x", [1], [{}], [{"stage": "heat"}], [{"stage": "top_k", "heat": 1}],
                                                           [{"stage": "top_k", "top_k": "x"}], [{"stage": "min_p", "min_keep": -1}])}.items():
            cases.append((damaged(["receipt", field]), field))
            cases += [(damaged(["receipt", field], value), "") for value in values]
        verdicts = self.replay(*[case for case, _ in cases], good, status=FAILED)
        for (case, word), verdict in zip(cases, verdicts):
            with self.subTest(case=str(case)[-300:]):
                self.assertIn(word, verdict["error"]["message"])
                self.assertEqual(verdict["error"]["message"].count("\n"), 0)
        self.assertTrue(verdicts[-1]["identical"])

    def test_what_cannot_be_replayed_is_refused(self):
        self.expect_error(run("replay", MODEL), USAGE, "FILE")
        self.expect_error(run("replay"), USAGE, "MODEL")
        self.expect_error(run("replay", MODEL, "/no/such/file"), FAILED, "/no/such/file")
        self.file.write_text("\n\n")
        self.expect_error(run("replay", MODEL, self.file), FAILED, "no recorded answer")
        self.expect_error(run("replay", MODEL, self.file, "--compute", "quick"), USAGE, "--compute")
        self.expect_error(run("replay", "/no/such/model.gguf", self.file), FAILED, "/no/such/model.gguf")

    def test_a_recording_of_ids_needs_no_text(self):
        recorded = self.record("--ids", ids_text([5, 6, 7]), "-n", "3", "--temp", "0")
        recorded["text"] = "something else"
        self.replay(recorded, status=DONE)


if __name__ == "__main__":
    lockstep_program.main()
