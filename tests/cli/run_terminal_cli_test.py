#!/usr/bin/env python3
"""The conversation of `lockstep run`, typed into a terminal (tmux)."""
import contextlib
import fcntl
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import termios
import time
import unittest

import lockstep_program
from lockstep_program import FAILED, MODEL, PROGRAM, TIMEOUT_S, ProgramTest, run, saved_messages, start

PATIENCE_S = 100
GREEDY = ("--temp", "0", "--ignore-eos")
SLOW = ("--isa", "scalar", "--compute", "exact", "-t", "1")
# Long enough that nothing is wrapped.
COLUMNS, ROWS = 300, 60


class Terminal:
    """A tmux server of its own with one window, in which a command runs."""

    n_made = 0

    def __init__(self, folder, arguments, environment=()):
        Terminal.n_made += 1  # a server that is leaving may still hold its socket
        self.socket = str(folder / f"tmux{Terminal.n_made}")
        command = shlex.join([*environment, PROGRAM, *map(str, arguments)])
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS),
                  f"env {command}; echo status $?; sleep 1000")

    def tmux(self, *arguments):
        done = subprocess.run(["tmux", "-S", self.socket, *arguments], capture_output=True, text=True, check=True, timeout=PATIENCE_S)
        return done.stdout

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True, timeout=PATIENCE_S)

    def screen(self):
        return self.tmux("capture-pane", "-p", "-S", "-500")

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def type_line(self, text):
        self.tmux("send-keys", "-l", text)
        self.press("Enter")

    def wait_for(self, pattern, n=1):
        """The screen once `pattern` stands there n times."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            screen = self.screen()
            if len(re.findall(pattern, screen)) >= n:
                return screen
            time.sleep(0.05)
        raise AssertionError(f"{pattern!r} not {n} times on the screen:\n{self.screen()}")


@unittest.skipUnless(shutil.which("tmux"), "tmux is not installed (tools/install_deps.sh tests)")
class Conversation(ProgramTest):
    def setUp(self):
        self.folder = self.temporary_folder()

    def terminal(self, *arguments, environment=()):
        terminal = Terminal(self.folder, ["run", MODEL, *arguments], environment)
        self.addCleanup(terminal.close)
        terminal.wait_for(r"(?m)^>>> *$")
        return terminal

    def leave(self, terminal, status=0):
        screen = terminal.wait_for(r"status \d+")
        self.assertIn(f"status {status}", screen)

    def test_questions_are_answered_with_what_was_said_before(self):
        terminal = self.terminal("-n", "5", *GREEDY)
        terminal.type_line("What is a river?")
        terminal.wait_for(r"generated 5 tokens.*finish: length")
        terminal.type_line("And a sea?")
        screen = terminal.wait_for(r"generated 5 tokens", n=2)
        self.assertRegex(screen, r"prompt \d+ tokens \(\d+ reused\)")
        terminal.type_line("/stats")
        terminal.wait_for(r"2 answers: prompts \d+ tokens computed, \d+ reused; 10 generated")
        terminal.press("C-d")
        self.leave(terminal)

    def test_control_c_stops_the_answer_and_the_conversation_goes_on(self):
        terminal = self.terminal(*GREEDY, *SLOW)
        terminal.type_line("Tell me everything")
        time.sleep(1)
        terminal.press("C-c")
        terminal.wait_for(r"finish: cancelled|stopped before the answer began")
        terminal.type_line("/set n_predict 3")
        terminal.wait_for(r"n_predict is set")
        terminal.type_line("shortly")
        terminal.wait_for(r"generated 3 tokens")
        terminal.type_line("/bye")
        self.leave(terminal)

    def test_control_c_twice_leaves(self):
        terminal = self.terminal(*GREEDY)
        terminal.press("some", "Space", "text", "C-c")  # gives up the line
        terminal.wait_for(r"(?m)^>>>", n=2)
        terminal.press("C-c")
        terminal.wait_for(r"Control-C again")
        terminal.press("C-c")
        self.leave(terminal, 130)

    def test_several_lines_are_one_message_and_lines_can_be_edited_and_recalled(self):
        terminal = self.terminal("-n", "3", *GREEDY, "--session", self.folder / "session")
        terminal.type_line('"""first line')
        terminal.wait_for(r"(?m)^\.\.\. *$")
        terminal.type_line("second line")
        terminal.type_line('third line"""')
        terminal.wait_for(r"generated 3 tokens")
        terminal.type_line("/shwo")
        terminal.wait_for(r"/shwo: no such command")
        terminal.press("Up", "BSpace", "BSpace", "BSpace", "h", "o", "w", "Enter")
        terminal.wait_for(r"context  1 turns")
        terminal.press("C-d")
        self.leave(terminal)
        self.assertIn(b"first line\\nsecond line\\nthird line", (self.folder / "session").read_bytes())

    def test_undo_save_restart_load(self):
        saved = self.folder / "saved"
        terminal = self.terminal("-n", "6", *GREEDY)
        terminal.type_line("What is a river?")
        terminal.wait_for(r"generated 6 tokens")
        terminal.type_line("nonsense")
        terminal.wait_for(r"generated 6 tokens", n=2)
        terminal.type_line("/undo")
        terminal.wait_for(r"taken back; 1 turns")
        terminal.type_line(f"/save {saved}")
        terminal.wait_for(r"saved to .*: 1 turns")
        terminal.type_line("And a sea?")
        first = self.answer_to(terminal, "And a sea?", 3)
        terminal.type_line("/regen")
        self.assertEqual(self.answer_to(terminal, "/regen", 4), first)
        terminal.press("C-d")
        self.leave(terminal)
        terminal.close()

        terminal = self.terminal("-n", "6", *GREEDY)
        terminal.type_line(f"/load {saved}")
        terminal.wait_for(r"loaded from .*: 1 turns, \d+ tokens in the cache")
        terminal.type_line("And a sea?")
        self.assertEqual(self.answer_to(terminal, "And a sea?", 1), first)
        self.assertRegex(terminal.screen(), r"\(\d+ reused\)")
        terminal.type_line("/bye")
        self.leave(terminal)

    def answer_to(self, terminal, line, n_answers):
        """What stands between the line and the statistics of the n-th answer."""
        screen = terminal.wait_for(r"generated 6 tokens", n=n_answers)
        return re.split(r"\n.*prompt \d+ tokens", screen.rsplit(f">>> {line}\n", 1)[1])[0]

    def test_the_commands_do_what_help_says(self):
        terminal = self.terminal("-n", "2", *GREEDY, "-sys", "Be brief.")
        terminal.type_line("/help")
        screen = terminal.wait_for(r"Control-C +stops the answer")
        for command in ("/help", "/clear", "/undo", "/regen", "/system", "/set", "/show", "/save", "/load", "/stats", "/bye"):
            self.assertRegex(screen, rf"(?m)^{command}\b")
        for line, answer in (("/undo", "no question yet"), ("/regen", "no answer yet"), ("/save", "no FILE"), ("/set heat 3", "no such option"),
                             ("/set temp warm", "not a number"), ("/set top_k 5", "top_k is set"), ("/set top-p 0.5", "top_p is set"),
                             ("/load /no/such/file", "/no/such/file"), ("/clear now", "takes nothing"), ("/clear", "is forgotten"),
                             ("/system Speak.", "system text is set")):
            terminal.type_line(line)
            terminal.wait_for(answer)
        terminal.type_line("/show")
        screen = terminal.wait_for(r"set +top_k 5, top_p 0.5")
        self.assertRegex(screen, r"system +Speak\.")
        terminal.type_line("/bye")
        self.leave(terminal)

    def test_an_error_does_not_end_the_conversation(self):
        """B27, B33: a template that refuses, a message that does not fit."""
        refusing = self.folder / "refusing.jinja"
        refusing.write_text("{% if messages|length > 1 %}{{ raise_exception('one message only') }}{% endif %}{{ messages[0].content }}")
        terminal = self.terminal("-n", "2", "-c", "64", *GREEDY, "--chat-template-file", refusing)
        terminal.type_line("first")
        terminal.wait_for(r"generated 2 tokens")
        terminal.type_line("second")
        terminal.wait_for(r"one message only")
        terminal.type_line("/clear")
        terminal.type_line("word " * 50 + "?")
        terminal.wait_for(r"do not fit the context of 64")
        terminal.type_line("third")
        terminal.wait_for(r"generated 2 tokens", n=2)
        terminal.type_line("/bye")
        self.leave(terminal)

    def test_escape_codes_of_the_model_are_shown_not_sent(self):
        """B49."""
        escape = self.json_of("tokenize", MODEL, "--json", "--no-special", "-p", "\x1b")["ids"][0]
        terminal = self.terminal("-n", "3", *GREEDY, "--logit-bias", f"{escape}+1000")
        terminal.type_line("a")
        terminal.wait_for(r"\\x1B\\x1B\\x1B")
        terminal.type_line("/bye")
        self.leave(terminal)

    def test_what_the_program_says_is_dim_unless_colours_are_unwanted(self):
        for environment, is_dim in (((), True), (("NO_COLOR=1",), False)):
            terminal = self.terminal(*GREEDY, environment=environment)
            colours = terminal.tmux("capture-pane", "-p", "-e")
            self.assertEqual("\x1b[2m/help" in colours, is_dim, colours)
            terminal.press("C-d")
            self.leave(terminal)
            terminal.close()


class ClosedTerminal(ProgramTest):
    """The terminal's window is closed amid an answer: writing fails from then on."""

    QUESTION = "What is a river?"

    def closed_in_an_answer(self, session_file, hangup):
        """The exit status; `hangup` is what SIGHUP does."""
        def take_terminal():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            signal.signal(signal.SIGHUP, hangup)

        window, terminal = pty.openpty()
        process = start("run", MODEL, *GREEDY, *SLOW, "--session", session_file, stdin=terminal, stdout=terminal, stderr=terminal,
                        start_new_session=True, preexec_fn=take_terminal)
        os.close(terminal)
        self.read_until(window, rb">>> $")
        os.write(window, self.QUESTION.encode() + b"\n")
        self.read_until(window, rb"river\?\r\n.{20}")
        os.close(window)
        return process.wait(TIMEOUT_S)

    def read_until(self, window, pattern):
        text = b""
        while not re.search(pattern, re.sub(rb"\x1b\[[\d;?]*[a-zA-Z]", b"", text), re.DOTALL):
            text += os.read(window, 4096)

    def test_the_question_and_the_answer_so_far_are_saved(self):
        for hangup, status in ((signal.SIG_DFL, 128 + signal.SIGHUP), (signal.SIG_IGN, FAILED)):
            with self.subTest(hangup=hangup):
                file = self.temporary_folder() / "session"
                self.assertEqual(self.closed_in_an_answer(file, hangup), status)
                question, answer = saved_messages(file)
                self.assertEqual((question["role"], question["content"]), ("user", self.QUESTION))
                self.assertNotEqual(answer["content"], "")

    def test_a_full_disk_is_told_as_what_it_is(self):
        """The answers go to a file; the conversation is on the terminal all the same."""
        window, terminal = pty.openpty()
        with open("/dev/full", "wb") as full:
            process = start("run", MODEL, *GREEDY, "-n", "3", stdin=terminal, stdout=full, stderr=terminal)
        os.close(terminal)
        os.write(window, self.QUESTION.encode() + b"\n")
        said = b""
        with contextlib.suppress(OSError):  # nobody has the terminal any more
            while True:
                said += os.read(window, 4096)
        os.close(window)
        self.assertEqual(process.wait(TIMEOUT_S), FAILED)
        self.assertEqual(re.findall(rb"error: .*\w", said), [b"error: writing to standard output: No space left on device"])


if __name__ == "__main__":
    lockstep_program.main()
