#!/usr/bin/env python3
"""A terminal that goes away, disks that are full, a model file that changes: a message and a status
of the program's own, and the files of before."""
import fcntl
import json
import os
import pathlib
import pty
import resource
import shutil
import signal
import subprocess
import termios
import time

import lockstep_program
from lockstep_program import BY_SIGNAL, DONE, FAILED, MODEL, PROGRAM, SLOW, TIMEOUT_S, SessionTest, run, saved_messages, start


class Terminals(SessionTest):
    """The other end of a pseudo-terminal is closed: SIGHUP, and errors of every read and write."""

    def start_in_terminal(self, *arguments, ignores_signal=False):
        outer, inner = pty.openpty()

        def own_the_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            if ignores_signal:
                signal.signal(signal.SIGHUP, signal.SIG_IGN)

        process = subprocess.Popen([PROGRAM, *map(str, arguments)], stdin=inner, stdout=inner, stderr=inner,
                                   env={**os.environ, "TERM": "dumb"}, preexec_fn=own_the_terminal)
        os.close(inner)
        return process, outer

    def read_until(self, outer, *texts):
        """Until all of them have come, one after another."""
        seen = b""
        for text in texts:
            while text not in seen:
                seen += os.read(outer, 4096)
            seen = seen.split(text, 1)[1]

    def test_that_go_away_end_the_conversation_and_leave_its_file(self):
        for ignores_signal, statuses in ((False, (BY_SIGNAL + signal.SIGHUP,)), (True, (DONE, FAILED))):
            for in_answer in (False, True):
                with self.subTest(ignores_signal=ignores_signal, in_answer=in_answer):
                    self.session.unlink(missing_ok=True)
                    process, outer = self.start_in_terminal("run", MODEL, "--session", self.session, *SLOW,
                                                            ignores_signal=ignores_signal)
                    self.addCleanup(process.kill)
                    self.read_until(outer, b">>>")
                    os.write(outer, b"/set n_predict 3\n")
                    self.read_until(outer, b"is set")
                    os.write(outer, b"What is a river?\n")
                    self.read_until(outer, b"generated 3")
                    if in_answer:
                        os.write(outer, b"/set n_predict 400\nAnd the sea?\n")
                        self.read_until(outer, b"sea?")
                        time.sleep(0.2)
                    os.close(outer)
                    self.assertIn(process.wait(TIMEOUT_S), statuses)
                    self.assertIn(b"What is a river?", self.session.read_bytes())
                    self.assertEqual(os.listdir(self.folder), ["session"])
                    self.expect_done(self.ask())


    def test_that_go_away_leave_what_commands_have_changed(self):
        process, outer = self.start_in_terminal("run", MODEL, "-n", "3", "--session", self.session, *SLOW)
        self.addCleanup(process.kill)
        self.read_until(outer, b">>>")
        for line, answer in ((b"What is a river?", b"generated 3"), (b"And a sea?", b"generated 3"), (b"/undo", b"taken back")):
            os.write(outer, line + b"\n")
            self.read_until(outer, answer, b">>>")
        os.close(outer)
        process.wait(TIMEOUT_S)
        self.assertEqual([message["content"] for message in saved_messages(self.session)][:1], ["What is a river?"])
        self.assertNotIn(b"sea?", self.session.read_bytes())


class Disks(SessionTest):
    def test_that_are_full_leave_the_old_session(self):
        """A small file system of its own."""
        small = self.folder / "small"
        small.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", small], capture_output=True)
        if mounted.returncode != 0:
            lockstep_program.skip_on_this_machine("no file system can be mounted")
        self.addCleanup(subprocess.run, ["umount", small], check=True)
        self.session = small / "session"
        self.expect_done(self.ask("First?"))
        saved = self.session.read_bytes()
        (small / "filler").write_bytes(b"x" * (1024 * 1024 - len(saved) - len(saved) % 4096 - 4 * 4096))
        process = self.ask("word " * 200)
        self.assertEqual(process.returncode, FAILED, process.stderr_bytes)
        self.assertRegex(process.stderr_bytes, rb"lockstep: error: .*session: No space left on device")
        self.assertEqual(self.session.read_bytes(), saved)
        self.assertEqual(sorted(os.listdir(small)), ["filler", "session"])
        (small / "filler").unlink()
        self.expect_done(self.ask())

    def test_that_are_full_are_told_of_when_nobody_reads_the_answer(self):
        process = start("run", MODEL, "a", "-n", "100", "--session", self.session, *SLOW,
                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
        process.stdout.close()
        with process.stderr:
            errors = process.stderr.read()
        process.stdin.close()
        self.assertEqual(process.wait(TIMEOUT_S), FAILED)
        self.assertRegex(errors, rb"lockstep: error: .*session: File too large")

    def test_a_device_is_no_place_for_a_session(self):
        for place in ("/dev/full", "/dev/null"):
            process = run("run", MODEL, "a", "-n", "1", "--session", place)
            self.expect_error(process, FAILED, place, "not a regular file")


class ChangingModels(SessionTest):
    """B12: weights are in memory, so a file that is cut, replaced or removed later changes no answer."""

    def setUp(self):
        super().setUp()
        self.model = self.folder / "model.gguf"
        shutil.copy(MODEL, self.model)

    CHANGES = {"cut": lambda path: os.truncate(path, path.stat().st_size // 2), "replaced": lambda path: path.write_text("no model"),
               "removed": lambda path: path.unlink()}

    def test_an_answer_goes_on_and_the_next_is_the_same(self):
        request = b'{"text":"Once upon","n_predict":5,"seed":1}\n'
        for name, change in self.CHANGES.items():
            with self.subTest(change=name):
                shutil.copy(MODEL, self.model)
                process = start("complete", self.model, "--stdin-jsonl", *SLOW)
                process.stdin.write(request)
                process.stdin.flush()
                first = json.loads(process.stdout.readline())
                change(self.model)
                rest, errors = process.communicate(request * 2, timeout=TIMEOUT_S)
                self.assertEqual(process.returncode, DONE, errors)
                for answer in map(json.loads, rest.splitlines()):
                    self.assertEqual((answer["ids"], answer["receipt"]), (first["ids"], first["receipt"]))
                self.assertEqual(len(rest.splitlines()), 2)

    def test_a_change_before_the_first_answer_is_no_other_receipt(self):
        whole = self.json_of("complete", MODEL, "Once upon", "-n", "100", "--json", *SLOW, "--seed", "1")
        process = start("complete", self.model, "Once upon", "-n", "100", *SLOW, "--seed", "1", "--json")
        time.sleep(0.3)
        self.model.unlink()
        out, errors = process.communicate(timeout=TIMEOUT_S)
        if process.returncode == FAILED:  # it was not even opened
            process.stderr_bytes = errors
            self.assertRegex(self.expect_error(process, FAILED), "model.gguf: (No such file|neither a file)")
            return
        self.assertEqual(json.loads(out)["receipt"], whole["receipt"], errors)


if __name__ == "__main__":
    lockstep_program.main()
