#!/usr/bin/env python3
"""`lockstep run`: one answer, events, stops, sessions on disk, a full context. The conversation is in run_terminal_cli_test.py."""
import json
import os
import resource
import signal

import lockstep_program
from lockstep_program import (DONE, FAILED, INTERRUPTED, MODEL, MODELS, TIMEOUT_S, USAGE, ProgramTest, ids_text, run,
                              saved_messages, start)

GREEDY = ("--temp", "0", "--ignore-eos", "--seed", "1")
SLOW = ("--isa", "scalar", "--compute", "exact", "-t", "1")


class RunTest(ProgramTest):
    def setUp(self):
        self.folder = self.temporary_folder()

    def events(self, *arguments, status=DONE, **options):
        """The deltas, joined, and the last event of a run with --json."""
        process = run("run", MODEL, "--json", *GREEDY, *arguments, **options)
        self.assertEqual(process.returncode, status, process.stderr_bytes)
        events = [json.loads(line) for line in process.stdout_bytes.splitlines()]
        self.assertTrue(all("delta" in event for event in events[:-1]), events)
        done = events[-1]
        self.assertIs(done["done"], True)
        text = b"".join(bytes(event["bytes"]) if "bytes" in event else event["delta"].encode() for event in events[:-1])
        self.assertEqual(text, bytes(done["bytes"]) if "bytes" in done else done["text"].encode())
        return done


class OneAnswer(RunTest):
    def test_events_end_with_all_that_complete_says(self):
        done = self.events("Hello", "-n", "12")
        complete = self.json_of("complete", MODEL, "--json", *GREEDY, "-n", "12", "--ids", ids_text(done["prompt_ids"]))
        self.assertLessEqual(set(complete), set(done))
        self.assertEqual((done["ids"], done["text"], done["finish"]), (complete["ids"], complete["text"], "length"))
        self.assertEqual(done["receipt"], complete["receipt"])
        self.assertEqual(done["n_reused"], 0)

    def test_the_prompt_is_what_the_template_makes_of_the_message(self):
        conversation = {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi <|im_end|>"}],
                        "add_generation_prompt": True}
        path = self.folder / "input.json"
        path.write_text(json.dumps(conversation))
        rendered = self.json_of("template", MODEL, "--json", "--input", path)
        for flag in ("-sys", "--system-prompt"):
            process = run("run", MODEL, "Hi <|im_end|>", "--json", "-n", "1", *GREEDY, flag, "Be brief.")
            done = json.loads(self.expect_done(process).splitlines()[-1])
            self.assertEqual(done["prompt_ids"], rendered["ids"])
            self.assertIn(b"stays plain text", process.stderr_bytes)

    def test_a_system_text_that_is_no_text_is_refused_as_a_message_is(self):
        no_text = b"\xff".decode("utf-8", "surrogateescape")
        self.expect_error(run("run", MODEL, "a", "-n", "1", "-sys", no_text), FAILED, "system text", "UTF-8")
        self.expect_error(run("run", MODEL, no_text, "-n", "1"), FAILED, "message", "UTF-8")

    def test_a_prompt_in_every_form_and_piped_input_have_the_same_answer(self):
        """B49: input that ends within a line, and two lines, are one message."""
        wanted = self.events("one\ntwo", "-n", "6")["ids"]
        path = self.folder / "prompt.txt"
        path.write_text("one\ntwo")
        for arguments in (["-p", "one\ntwo"], ["-f", str(path)]):
            self.assertEqual(self.events(*arguments, "-n", "6")["ids"], wanted)
        for stdin in (b"one\ntwo", b"one\ntwo\n", b"one\ntwo\r\n"):
            self.assertEqual(self.events("-n", "6", stdin=stdin)["ids"], wanted)

    def test_input_that_is_closed_or_empty_is_no_message_and_no_error(self):
        """B49."""
        for stdin in (b"", b"\n"):
            process = run("run", MODEL, stdin=stdin)
            self.assertEqual((process.returncode, process.stdout_bytes), (DONE, b""), process.stderr_bytes)
        process = start("run", MODEL, stdin=None, preexec_fn=lambda: os.close(0))
        process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, DONE)

    def test_plain_output_is_the_text_alone_and_statistics_are_beside_it(self):
        done = self.events("Hello", "-n", "12")
        process = run("run", MODEL, "Hello", "-n", "12", *GREEDY)
        self.assertEqual(self.expect_done(process), done["text"].encode())
        self.assertRegex(process.stderr_bytes, rb"prompt \d+ tokens, [\d.]+ tokens/s; generated 12 tokens")
        self.assertNotIn(b"\x1b", process.stderr_bytes)

    def test_a_pipe_gets_control_bytes_as_they_are(self):
        """B49: escape codes of the model."""
        escape = self.json_of("tokenize", MODEL, "--json", "--no-special", "-p", "\x1b")["ids"]
        self.assertEqual(len(escape), 1)
        process = run("run", MODEL, "a", "-n", "3", *GREEDY, "--logit-bias", f"{escape[0]}+1000")
        self.assertEqual(self.expect_done(process), b"\x1b" * 3)

    def test_an_interrupt_stops_the_answer(self):
        process = start("run", MODEL, "a", "--isa", "scalar", "--compute", "exact", "-t", "1", *GREEDY)
        first = process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, INTERRUPTED, errors)
        self.assertTrue(first)
        self.assertIn(b"finish: cancelled", errors)

    def test_what_cannot_be_served_is_one_line(self):
        """B27, B33, B50: no template, a template that refuses, a prompt that does not fit, bad options."""
        self.expect_error(run("run", MODEL, ""), FAILED, "prompt is empty")
        self.expect_error(run("run", MODEL, "a", "--overflow", "shift"), USAGE, "--overflow", "drop-oldest")
        self.expect_error(run("run", MODEL, "a", "-p", "b"), USAGE, "more than one text")
        self.expect_error(run("run", MODEL, "a", "-c", "-5"), USAGE, "--ctx-size")
        self.expect_error(run("run", MODEL, "a", "-t", "1000000"), USAGE, "--threads")
        self.expect_error(run("run", MODEL, "a", "-b", "0"), USAGE, "--batch-size")
        self.expect_error(run("run", MODEL, "a", "--stop", b"\xff".decode("utf-8", "surrogateescape")), USAGE, "--stop", "UTF-8")
        self.expect_error(run("run", MODEL, "word " * 100, "-c", "64"), FAILED, "64")
        refusing = self.folder / "refusing.jinja"
        refusing.write_text("{{ raise_exception('no conversation today') }}")
        process = run("run", MODEL, "a", "--json", "--chat-template-file", refusing)
        self.expect_error(process, FAILED, "no conversation today")
        self.assertEqual(json.loads(process.stdout_bytes)["error"]["code"], "template")


class Stops(RunTest):
    """B30 on the command line; the rest is in the tests of src/chat."""

    def test_the_text_ends_before_a_stop_in_every_command_and_form(self):
        prompt_ids = self.events("Tell me", "-n", "1")["prompt_ids"]
        text = self.events("Tell me", "-n", "40")["text"]
        stop = text[10:16]
        wanted = text[:text.index(stop)]
        for option in ("--stop", "-r", "--reverse-prompt"):
            done = self.events("Tell me", "-n", "40", option, stop, "--stop", "")
            self.assertEqual((done["text"], done["finish"]), (wanted, "stop"))
            self.assertLess(done["n_generated"], 40)
        self.assertEqual(done["receipt"]["stop"], [stop, ""])
        ids = ("--ids", ids_text(prompt_ids))
        self.assertEqual(self.json_of("complete", MODEL, *ids, "--json", "-n", "40", *GREEDY, "--stop", stop)["text"], wanted)
        self.assertEqual(self.expect_done(run("complete", MODEL, *ids, "-n", "40", *GREEDY, "--stop", stop)), wanted.encode())
        self.assertEqual(self.expect_done(run("run", MODEL, "Tell me", "-n", "40", *GREEDY, "--stop", stop)), wanted.encode())
        request = {"ids": prompt_ids, "n_predict": 40, "temp": 0, "ignore_eos": True}
        for options in ((), ("--parallel", "3")):
            answers = self.answers_of("complete", [{**request, "stop": stop}, {**request, "stop": ["nonsense", stop]}, request],
                                      options=options)
            self.assertEqual([(a["text"], a["finish"]) for a in answers], [(wanted, "stop")] * 2 + [(text, "length")])

    def test_a_stop_that_is_no_text_is_refused_by_name(self):
        answers = self.answers_of("complete", [{"text": "a", "stop": 5}, {"text": "a", "stop": [5]}], status=FAILED)
        for answer in answers:
            self.assertIn("stop", answer["error"]["message"])


class Sessions(RunTest):
    QUESTIONS = ("What is a river?", "And a sea?", "Which is larger?", "Why?")

    def setUp(self):
        super().setUp()
        self.file = self.folder / "session"

    def ask(self, question, *arguments):
        return self.events(question, "-n", "8", "--session", self.file, *arguments)

    def test_a_conversation_goes_on_after_a_restart_with_the_same_ids_and_nothing_computed_twice(self):
        answers = [self.ask(question) for question in self.QUESTIONS]
        for before, after in zip(answers, answers[1:]):
            # The timeline on disk: the prompt and all of the answer but its last token, as far as the new prompt agrees.
            timeline = before["prompt_ids"] + before["ids"][:-1]
            common = len(os.path.commonprefix([timeline, after["prompt_ids"]]))
            self.assertEqual(after["n_reused"], common)
            self.assertGreaterEqual(common, len(before["prompt_ids"]))
        for answer in answers:
            cold = self.json_of("complete", MODEL, "--json", "-n", "8", *GREEDY, "--ids", ids_text(answer["prompt_ids"]))
            self.assertEqual(cold["ids"], answer["ids"])

    def test_a_file_of_something_else_is_refused_by_name_and_left_alone(self):
        self.ask(self.QUESTIONS[0])
        saved = self.file.read_bytes()
        cases = (([MODEL, "--kv-type", "f32"], ("kv-type", "f16", "f32")), ([MODEL, "--compute", "exact"], ("compute", "exact")),
                 ([str(MODELS / "mini-llama.Q6_K.gguf")], ("another model",)))
        for arguments, words in cases:
            self.expect_error(run("run", *arguments, "-p", "a", "--session", self.file), FAILED, str(self.file), *words)
        self.assertEqual(self.file.read_bytes(), saved)

    def test_a_torn_file_is_refused(self):
        self.ask(self.QUESTIONS[0])
        saved = self.file.read_bytes()
        for torn in (saved[:-1], saved[:len(saved) // 2], saved[:50], b"", saved[:-20] + b"x" + saved[-19:]):
            self.file.write_bytes(torn)
            self.expect_error(run("run", MODEL, "a", "--session", self.file), FAILED, str(self.file))
            self.assertEqual(self.file.read_bytes(), torn)

    def test_a_disk_that_is_full_leaves_the_old_file(self):
        self.ask(self.QUESTIONS[0])
        saved = self.file.read_bytes()

        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

        process = run("run", MODEL, "a", "-n", "2", "--session", self.file, preexec_fn=small_files)
        self.assertEqual(process.returncode, FAILED)
        self.assertIn(str(self.file).encode(), process.stderr_bytes)
        self.assertEqual(self.file.read_bytes(), saved)
        self.assertEqual(os.listdir(self.folder), ["session"])

    def test_a_place_where_no_file_can_be_is_refused_before_anything_is_computed(self):
        (self.folder / "file").write_bytes(b"")
        (self.folder / "loop").symlink_to("loop")
        for place in ("none/session", "file/session", "loop", "."):
            for form in ((), ("--json",)):
                with self.subTest(place=place, form=form):
                    process = run("run", MODEL, "a", "-n", "4", *form, *GREEDY, "--session", f"{self.folder}/{place}")
                    self.expect_error(process, FAILED, str(self.folder))
                    self.assertNotIn(b"delta", process.stdout_bytes)
        self.assertEqual(sorted(os.listdir(self.folder)), ["file", "loop"])

    def test_an_answer_that_cannot_be_saved_is_told_of_all_the_same(self):
        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

        wanted = self.events("a", "-n", "3")["ids"]
        process = run("run", MODEL, "a", "--json", "-n", "3", *GREEDY, "--session", self.file, preexec_fn=small_files)
        self.assertEqual(process.returncode, FAILED)
        done, error = map(json.loads, process.stdout_bytes.splitlines()[-2:])
        self.assertEqual((done["done"], done["ids"], error["error"]["code"]), (True, wanted, "io"))
        self.assertFalse(self.file.exists())

    def test_an_answer_that_cannot_be_shown_is_saved(self):
        """The reader has gone away; the disk is full."""
        for form in ((), ("--json",)):
            for output in ("pipe", "/dev/full"):
                with self.subTest(form=form, output=output):
                    self.file.unlink(missing_ok=True)
                    arguments = ("run", MODEL, self.QUESTIONS[0], *form, *GREEDY, *SLOW, "--session", self.file)
                    if output == "pipe":
                        process = start(*arguments)
                        self.assertNotEqual(process.stdout.read(20), b"")
                        process.stdout.close()
                    else:
                        with open(output, "wb") as full:
                            process = start(*arguments, stdout=full)
                    process.stdin.close()
                    process.stderr.close()
                    self.assertEqual(process.wait(TIMEOUT_S), FAILED)
                    question, answer = saved_messages(self.file)
                    self.assertEqual((question["role"], question["content"]), ("user", self.QUESTIONS[0]))
                    self.assertNotEqual(answer["content"], "")

    def test_a_full_context_is_an_error_with_both_numbers_or_drops_whole_turns(self):
        for question in self.QUESTIONS[:3]:
            last = self.ask(question)
        limit = ("-c", str(last["n_prompt"] + 4))
        process = run("run", MODEL, "One more question", "--session", self.file, *limit, *GREEDY)
        self.expect_error(process, FAILED, "tokens", limit[1])
        process = run("run", MODEL, "One more question", "-n", "8", "--session", self.file, *limit, *GREEDY, "--json",
                      "--overflow", "drop-oldest")
        done = json.loads(self.expect_done(process).splitlines()[-1])
        self.assertGreaterEqual(done["n_dropped_turns"], 1)
        self.assertLessEqual(done["n_prompt"] + 8, int(limit[1]))
        cold = self.json_of("complete", MODEL, "--json", "-n", "8", *GREEDY, *limit, "--ids", ids_text(done["prompt_ids"]))
        self.assertEqual(cold["ids"], done["ids"])
        text = self.expect_done(run("detokenize", MODEL, "--json", "--ids", ids_text(done["prompt_ids"]))).decode()
        self.assertNotIn(self.QUESTIONS[0], text)
        self.assertIn("One more question", text)

    def test_what_was_dropped_is_said(self):
        for question in self.QUESTIONS:
            last = self.ask(question)
        process = run("run", MODEL, "More", "-n", "8", "--session", self.file, "-c", str(last["n_prompt"] + 4), *GREEDY,
                      "--overflow", "drop-oldest")
        self.expect_done(process)
        self.assertRegex(process.stderr_bytes, rb"the context is full: the oldest .*left out")


if __name__ == "__main__":
    lockstep_program.main()
