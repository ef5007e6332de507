#!/usr/bin/env python3
"""`lockstep complete --stdin-jsonl --parallel N`: requests together, answers as if each were alone."""
import json
import select
import subprocess

import lockstep_program
from lockstep_program import DONE, FAILED, MODEL, TIMEOUT_S, USAGE, ProgramTest, run, start

# Everything but the time it took.
FIELDS = ("prompt_ids", "ids", "text", "finish", "n_prompt", "n_generated", "steps", "receipt")


def unlike_requests():
    """Prompts and counts of very different lengths, greedy and drawn, some with a beginning in common."""
    story = "Once upon a time there was a small engine that could"
    requests = []
    for i in range(24):
        prompt = {"text": (story * (1 + i % 4))[: 3 + 37 * (i % 7)]} if i % 2 else {"ids": [(5 + i * 31 * k) % 2000 for k in range(1 + i * 5)]}
        choice = {"temp": 0} if i % 3 else {"temp": 1, "top_k": 0, "top_p": 1, "min_p": 0}
        requests.append({**prompt, **choice, "seed": i, "n_predict": (0, 1, 5, 40)[i % 4], "logprobs": 2})
    return requests


BAD = [b"nonsense", {"text": 5}, {"ids": [2048]}, {"ids": [5] * 5000}, {"text": "a", "temp": "hot"}, {"ids": []},
       {"text": "a", "logprobs": 10**6}, {"text": "a", "logit_bias": [[i, "-inf"] for i in range(2048)]}]


class Parallel(ProgramTest):
    def answers(self, requests, parallel, *options, status=DONE):
        return self.answers_of("complete", requests, status, ("--parallel", str(parallel), *options))

    def without_times(self, answers):
        return [answer if "error" in answer else {field: answer[field] for field in FIELDS if field in answer} for answer in answers]

    def test_answers_and_their_order_do_not_depend_on_how_many_travel_together(self):
        requests = unlike_requests()
        expected = self.without_times(self.answers_of("complete", requests))
        self.assertEqual([answer["n_generated"] for answer in expected], [request["n_predict"] for request in requests])
        self.assertGreater(len({json.dumps(answer["ids"]) for answer in expected}), 12)
        for parallel in (1, 2, 8, 64):
            for options in ((), ("-b", "64", "-t", "1"), ("-t", "3")):
                with self.subTest(parallel=parallel, options=options):
                    got = self.without_times(self.answers(requests, parallel, *options))
                    self.assertEqual(got, expected)

    def test_every_answer_is_that_of_a_program_of_its_own(self):
        requests = unlike_requests()[:6]
        together = self.without_times(self.answers(requests, 4))
        for request, answer in zip(requests, together):
            self.assertEqual(self.without_times(self.answers_of("complete", [request])), [answer])

    def test_lines_without_end_hold_no_answer_up(self):
        feeder = subprocess.Popen(["sh", "-c", 'echo \'{"text":"a","n_predict":3}\'; exec yes nonsense'], stdout=subprocess.PIPE)
        process = start("complete", MODEL, "--stdin-jsonl", "--parallel", "2", stdin=feeder.stdout, stderr=subprocess.DEVNULL)
        feeder.stdout.close()
        try:
            ready, _, _ = select.select([process.stdout], [], [], TIMEOUT_S)
            self.assertTrue(ready, "no answer")
            self.assertEqual(json.loads(process.stdout.readline())["n_generated"], 3)
        finally:
            for running in (process, feeder):
                running.kill()
                running.wait()
            process.stdout.close()

    def test_bad_lines_have_their_errors_in_place_and_touch_nobody(self):
        good = unlike_requests()[: len(BAD) + 1]
        mixed = [good[0]]
        for bad, next_good in zip(BAD, good[1:]):
            mixed += [bad, next_good]
        expected = self.without_times(self.answers_of("complete", good))
        words = ["JSON", "text", "2048", "5000", "temp", "empty", "logprobs", "logit_bias"]
        for parallel in (1, 2, 8):
            with self.subTest(parallel=parallel):
                answers = self.without_times(self.answers(mixed, parallel, "--logprobs", "2", status=FAILED))
                self.assertEqual(answers[0::2], expected)
                for answer, word in zip(answers[1::2], words, strict=True):
                    self.assertEqual(set(answer), {"error"})
                    self.assertIn(word, answer["error"]["message"])

    def test_only_bad_lines_are_answered_too(self):
        for parallel in (1, 8):
            answers = self.answers([b"nonsense"] * 3, parallel, status=FAILED)
            self.assertTrue(all("error" in answer for answer in answers))

    def start_server(self, parallel):
        process = start("complete", MODEL, "--stdin-jsonl", "--parallel", str(parallel), stderr=subprocess.DEVNULL, bufsize=0)
        for cleanup in (process.stdout.close, process.wait, process.kill):
            self.addCleanup(cleanup)
        return process

    def send(self, process, *requests, end=b"\n"):
        process.stdin.write(b"\n".join(json.dumps(request).encode() for request in requests) + end)
        process.stdin.flush()

    def receive(self, process):
        """The next answer, which comes although the input goes on."""
        self.assertTrue(select.select([process.stdout], [], [], lockstep_program.TIMEOUT_S)[0], "no answer comes")
        return json.loads(process.stdout.readline())

    def test_whoever_waits_for_an_answer_before_the_next_question_gets_it(self):
        requests = unlike_requests()[:6]
        expected = self.without_times(self.answers_of("complete", requests))
        for parallel in (1, 2, 8):
            with self.subTest(parallel=parallel):
                process = self.start_server(parallel)
                got = []
                for request in requests:
                    self.send(process, request)
                    got.append(self.receive(process))
                self.assertEqual(self.without_times(got), expected)
                process.stdin.close()
                self.assertEqual(process.wait(lockstep_program.TIMEOUT_S), DONE)

    def test_a_request_joins_others_on_their_way_and_half_a_line_holds_nobody_up(self):
        long, short = {"text": "a", "n_predict": 300, "seed": 1, "ignore_eos": True}, {"text": "b", "n_predict": 3, "seed": 2}
        expected = self.without_times(self.answers_of("complete", [long, short, short]))
        process = self.start_server(2)
        self.send(process, long)
        line = json.dumps(short).encode()
        self.send(process, short, end=b"\n \n" + line[:9])
        got = [self.receive(process), self.receive(process)]
        process.stdin.write(line[9:])  # the last line has no end
        process.stdin.close()
        got.append(self.receive(process))
        self.assertEqual(self.without_times(got), expected)
        self.assertEqual(process.wait(lockstep_program.TIMEOUT_S), DONE)

    def test_a_bad_line_is_answered_before_the_input_ends(self):
        process = self.start_server(4)
        process.stdin.write(b"nonsense\n")
        process.stdin.flush()
        self.assertIn("error", self.receive(process))
        process.stdin.close()
        self.assertEqual(process.wait(lockstep_program.TIMEOUT_S), FAILED)

    def test_counts_that_make_no_sense_are_refused(self):
        for value in ("0", "65", "-1", "x", "1.5", "", "99999999999999999999"):
            with self.subTest(value=value):
                self.expect_error(run("complete", MODEL, "--stdin-jsonl", f"--parallel={value}"), USAGE, "--parallel")

    def test_it_needs_requests_by_the_line(self):
        self.expect_error(run("complete", MODEL, "a", "--parallel", "2"), USAGE, "--parallel", "--stdin-jsonl")

    def test_more_than_a_batch_holds_is_refused(self):
        self.expect_error(run("complete", MODEL, "--stdin-jsonl", "--parallel", "8", "-b", "4"), FAILED, "parallel 8", "4")


if __name__ == "__main__":
    lockstep_program.main()
