#!/usr/bin/env python3
"""Signals at any time in every command: a message and a status of the program's own, and files that are the old or the new ones."""
import fcntl
import os
import pathlib
import platform
import random
import re
import signal
import subprocess
import time

import lockstep_program
from lockstep_program import BY_SIGNAL, DONE, INTERRUPTED, MODEL, SLOW, TIMEOUT_S, SessionTest, run, start

MESSAGES = {signal.SIGINT: b"lockstep: interrupted", signal.SIGTERM: b"lockstep: ended by SIGTERM",
            signal.SIGHUP: b"lockstep: ended: the terminal is gone"}
WRITE = 64 if platform.machine() == "aarch64" else 1  # the number of the system call


class SignalsTest(SessionTest):
    def proc(self, process, name):
        return pathlib.Path(f"/proc/{process.pid}/{name}").read_text()

    def signals(self, process, kind):
        """A set of signals in /proc/PID/status, as bits."""
        return int(re.search(rf"{kind}:\s*(\w+)", self.proc(process, "status"))[1], 16)

    def wait_until(self, condition, what):
        end = time.monotonic() + TIMEOUT_S
        while not condition():
            self.assertLess(time.monotonic(), end, f"the program is not {what}")
            time.sleep(0.001)

    def wait_for_handlers(self, process):
        """Before main() every program dies of a signal."""
        has_them = lambda: self.signals(process, "SigCgt") & (1 << (signal.SIGHUP - 1))
        self.wait_until(lambda: has_them() or "zombie" in self.proc(process, "status"), "ready for signals")

    def expect_orderly_end(self, arguments, number, delay, stdin=b""):
        process = start(*arguments)
        self.wait_for_handlers(process)
        process.stdin.write(stdin)
        process.stdin.flush()
        time.sleep(delay)
        process.send_signal(number)
        _, errors = process.communicate(timeout=TIMEOUT_S)
        self.assertIn(process.returncode, (DONE, BY_SIGNAL + number), errors)
        self.assertNotIn(b"error", errors)
        self.assertEqual(errors.count(MESSAGES[number]), 0 if process.returncode == DONE else 1, errors)
        return process.returncode


class Signals(SignalsTest):
    def test_at_any_time_end_the_program_with_a_message_and_their_status(self):
        seed = random.randrange(2**32)
        chance = random.Random(seed)
        request = b'{"text":"Once upon a time","n_predict":40}\n' * 5
        commands = ((["complete", MODEL, "Once upon", "-n", "200", *SLOW], b""),
                    (["complete", MODEL, "Once upon", "-n", "100", "--json", *SLOW], b""),
                    (["complete", MODEL, "--stdin-jsonl", "--parallel", "2", *SLOW], request),
                    (["run", MODEL, "Once upon", "-n", "200", "--json", *SLOW], b""))
        n_ended = 0
        for round_ in range(12):
            for arguments, stdin in commands:
                number = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[round_ % 3]
                with self.subTest(seed=seed, round=round_, arguments=arguments, number=number):
                    n_ended += self.expect_orderly_end(arguments, number, chance.uniform(0, 0.3), stdin) != DONE
        self.assertGreater(n_ended, 12)

    def test_leave_a_session_file_of_before_or_after_and_nothing_else(self):
        seed = random.randrange(2**32)
        chance = random.Random(seed)
        self.expect_done(self.ask("First?"))
        turns = 1
        for round_ in range(15):
            number = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)[round_ % 3]
            with self.subTest(seed=seed, round=round_):
                before = self.session.read_bytes()
                arguments = ["run", MODEL, "More?", "-n", "30", "--session", self.session, *SLOW]
                self.expect_orderly_end(arguments, number, chance.uniform(0, 0.25))
                self.assertEqual(os.listdir(self.folder), ["session"])
                if self.session.read_bytes() != before:
                    turns += 1
        # Whatever came of it is a conversation that goes on.
        self.expect_done(self.ask())
        self.assertEqual(self.session.read_bytes().count(b'"role":"user"'), turns + 1)

    def test_control_c_twice_during_an_answer_leaves_at_once(self):
        """B49. Nobody takes the answer, so the program cannot end in order, which the first signal asks for."""
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        size = fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        os.write(writer, b"x" * (size - 64))
        process = start("complete", MODEL, "Once upon", "-n", "500", *SLOW, stdout=writer)
        self.addCleanup(process.kill)
        os.close(writer)
        # The write to the pipe is the one thing that its only thread ever sleeps in.
        self.wait_until(lambda: self.proc(process, "syscall").startswith(f"{WRITE} 0x1 "), "blocked")
        process.send_signal(signal.SIGINT)
        self.wait_until(lambda: not self.signals(process, "ShdPnd"), "told of the signal")
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual((process.returncode, errors), (INTERRUPTED, b"lockstep: interrupted\n"))

    def test_that_come_twice_for_one_event_are_one(self):
        """A shell passes SIGHUP on and its end sends another; timeout signals its child and then its group."""
        for number in (signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number=number):
                self.session.unlink(missing_ok=True)
                process = start("run", MODEL, "More?", "-n", "400", "--session", self.session, *SLOW)
                process.stdout.read(1)
                process.send_signal(number)
                self.wait_until(lambda: not self.signals(process, "ShdPnd"), "told of the signal")
                process.send_signal(number)
                _, errors = process.communicate(timeout=TIMEOUT_S)
                self.assertEqual(process.returncode, BY_SIGNAL + number, errors)
                self.assertIn(b"More?", self.session.read_bytes())

    def signal_amid(self, number, *arguments):
        """The exit status, and the seconds of processor time that the program took in all."""
        process = start(*arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        self.wait_for_handlers(process)
        time.sleep(1)
        process.send_signal(number)
        end = time.monotonic() + TIMEOUT_S
        ended = 0
        while not ended:
            self.assertLess(time.monotonic(), end, "the program goes on")
            time.sleep(0.01)
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors = process.stderr.read()
        self.assertIn(b"lockstep: ", errors)
        self.assertNotIn(b"error", errors)
        return process.returncode, usage.ru_utime + usage.ru_stime

    def test_a_long_prompt_that_is_being_read_ends_at_once(self):
        """Cut into tokens, this text takes more than half a minute. (The vocabulary cannot spell every byte: no text is
        refused for its length alone.)"""
        text = self.temporary_folder() / "zeros"
        with open(text, "wb") as file:
            file.truncate(64 << 20)
        for number in (signal.SIGTERM, signal.SIGINT):
            status, seconds = self.signal_amid(number, "complete", MODEL, "-f", text)
            self.assertEqual(status, BY_SIGNAL + number)
            self.assertLess(seconds, 10)

    def test_a_pipe_that_nobody_opens_is_not_waited_for(self):
        pipe = self.temporary_folder() / "pipe"
        os.mkfifo(pipe)
        for options in (("--logits", pipe), ("--tensor", f"embd={pipe}"), ("--tensor", f"embd={pipe.parent / 'file'}", "--logits", pipe)):
            with self.subTest(options=options):
                status, _ = self.signal_amid(signal.SIGTERM, "trace", MODEL, "hi", *options)
                self.assertEqual(status, BY_SIGNAL + signal.SIGTERM)
                self.assertEqual(os.listdir(pipe.parent), ["pipe"])

    def test_that_the_caller_has_ignored_stay_ignored(self):
        """nohup: the answer goes on."""
        def ignore():
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        process = start("complete", MODEL, "Once upon", "-n", "30", *SLOW, preexec_fn=ignore)
        process.stdout.read(1)
        process.send_signal(signal.SIGHUP)
        _, errors = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, DONE, errors)
        self.assertIn(b"generated 30 tokens", errors)


class EveryCommand(SignalsTest):
    """The signals of people and of supervisors, at a few moments of each command."""
    N_MOMENTS = 2
    LONGEST_S = 0.5

    def setUp(self):
        super().setUp()
        self.seed = random.randrange(2**32)
        self.chance = random.Random(self.seed)
        # What commands read lies elsewhere, so that the folder holds what they write.
        self.inputs = self.temporary_folder()

    def input_file(self, name, content):
        path = self.inputs / name
        path.write_bytes(content)
        return path

    def expect_orderly_ends(self, *arguments, stdin=b"", writes=None, ends=True):
        """`writes`: the file that the command replaces. `ends`: it takes no long time when nobody stops it."""
        old = b"lockbase: the old content"  # begins as a base does, which replaces no other file
        if writes:
            writes.write_bytes(old)
        begin = time.monotonic()
        if ends:
            self.expect_done(run(*arguments, stdin=stdin))
        longest = min(time.monotonic() - begin, self.LONGEST_S) if ends else self.LONGEST_S
        new = writes.read_bytes() if writes else None
        names = sorted(os.listdir(self.folder))
        for number in (signal.SIGINT, signal.SIGTERM) * (self.N_MOMENTS if ends else 1):
            with self.subTest(seed=self.seed, arguments=arguments, number=number):
                if writes:
                    writes.write_bytes(old)
                status = self.expect_orderly_end(arguments, number, self.chance.uniform(0, longest), stdin)
                self.assertEqual(sorted(os.listdir(self.folder)), names)
                if writes:
                    self.assertIn(writes.read_bytes(), (new,) if status == DONE else (old, new))

    def test_that_reads_a_model_and_no_more(self):
        conversation = self.input_file("input.json", b'{"messages":[{"role":"user","content":"Once upon a time"}]}')
        self.expect_orderly_ends("info", MODEL, "--json", "--full")
        self.expect_orderly_ends("tokenize", MODEL, "-p", "Once upon a time " * 1000)
        self.expect_orderly_ends("tokenize", MODEL, "--stdin-jsonl", stdin=b'{"text":"Once upon a time"}\n' * 50)
        self.expect_orderly_ends("detokenize", MODEL, "--ids", ",".join(["70"] * 2000))
        self.expect_orderly_ends("template", MODEL, "--input", conversation)

    def test_that_answers(self):
        self.expect_orderly_ends("complete", MODEL, "Once upon", "-n", "60", *SLOW)
        self.expect_orderly_ends("run", MODEL, "Once upon", "-n", "60", *SLOW)
        answer = self.expect_done(run("complete", MODEL, "Once upon", "-n", "30", "--json", *SLOW))
        self.expect_orderly_ends("replay", MODEL, self.input_file("recorded.jsonl", answer * 2), "--isa", "scalar", "-t", "1")

    def test_that_computes_and_writes(self):
        text = "Once upon a time " * 20
        base = self.folder / "base"
        self.expect_orderly_ends("perplexity", MODEL, "-p", text, "-c", "32", "--isa", "scalar", "--save-base", base, writes=base)
        base.unlink()
        for option, value in (("--logits", ""), ("--tensor", "attn_out-0=")):
            file = self.folder / "values"
            self.expect_orderly_ends("trace", MODEL, text, "--isa", "scalar", option, value + str(file), writes=file)

    def test_that_measures_and_compares(self):
        trace = self.expect_done(run("trace", MODEL, "Once upon a time"))
        self.expect_orderly_ends("verify", MODEL, "--against", self.input_file("trace.jsonl", trace))
        self.expect_orderly_ends("verify", MODEL, "--self", ends=False)
        self.expect_orderly_ends("bench", MODEL, ends=False)
        self.expect_orderly_ends("roofline", "-t", "1", ends=False)
        self.expect_orderly_ends("doctor", MODEL, ends=False)


if __name__ == "__main__":
    lockstep_program.main()
