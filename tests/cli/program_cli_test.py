#!/usr/bin/env python3
"""The program as a whole: help, exit statuses, finding models, closed pipes, full disks, interrupts."""
import json
import os
import shutil
import signal

import lockstep_program
from lockstep_program import DONE, FAILED, INTERRUPTED, MODEL, SLOW, TIMEOUT_S, USAGE, ProgramTest, run, start

ENVIRONMENT = {"PATH": os.environ.get("PATH", "")}


class Help(ProgramTest):
    def test_without_arguments_the_commands_are_listed(self):
        text = self.expect_done(run()).decode()
        for word in ("complete", "info", "tokenize", "detokenize", "trace", "Examples:"):
            self.assertIn(word, text)
        self.assertEqual(self.expect_done(run("--help")).decode(), text)

    def test_every_command_shows_its_options_with_defaults(self):
        for command, words in (("complete", ("--temp", "0.8", "--kv-type", "f16", "--compute", "fast", "--top-k", "40")),
                               ("trace", ("--logits", "exact", "f32")), ("info", ("--full",)), ("tokenize", ("--no-special",)),
                               ("detokenize", ("--ids",))):
            with self.subTest(command=command):
                text = self.expect_done(run(command, "--help")).decode()
                for word in words:
                    self.assertIn(word, text)

    def test_the_version_is_told(self):
        self.assertRegex(self.expect_done(run("--version")).decode(), r"^lockstep \d+\.\d+\.\d+\n$")

    def test_what_is_wrong_with_a_command_line_is_named(self):
        self.expect_error(run("compleet", MODEL), USAGE, "compleet", "complete")
        self.expect_error(run("complete", MODEL, "a", "--tmep", "1"), USAGE, "--tmep")
        self.expect_error(run("--frob"), USAGE, "--frob")
        self.expect_error(run("info", MODEL, "--full"), USAGE, "--json")
        self.expect_error(run("info", "-m", MODEL, "other"), USAGE, "other")


class Models(ProgramTest):
    def setUp(self):
        self.folder = self.temporary_folder()
        self.models = self.folder / "kept"
        self.models.mkdir()
        os.symlink(MODEL, self.models / "tiny.gguf")

    def tokenize(self, name, **environment):
        return run("tokenize", name, "-p", "a", cwd=self.folder, env={**ENVIRONMENT, **environment})

    def test_a_name_is_found_with_and_without_its_ending(self):
        for name in ("tiny", "tiny.gguf", self.models / "tiny.gguf", "kept/tiny.gguf"):
            with self.subTest(name=name):
                self.expect_done(self.tokenize(name, LOCKSTEP_MODELS=str(self.models)))

    def test_the_folders_are_the_user_s_and_the_one_at_hand(self):
        local = self.folder / ".local/share/lockstep/models"
        shutil.copytree(self.models, local, symlinks=True)
        self.expect_done(self.tokenize("tiny", HOME=str(self.folder)))
        shutil.copytree(self.models, self.folder / "models", symlinks=True)
        self.expect_done(self.tokenize("tiny"))

    def test_an_unknown_name_lists_what_there_is(self):
        self.expect_error(self.tokenize("huge", LOCKSTEP_MODELS=str(self.models)), FAILED, "huge", "tiny", str(self.models))
        self.expect_error(self.tokenize("huge"), FAILED, "huge", "no models")
        self.expect_error(self.tokenize(""), FAILED, "model")
        process = run("info", "huge", "--json", cwd=self.folder, env=ENVIRONMENT)
        self.assertEqual(json.loads(process.stdout_bytes)["error"]["code"], "not_found")

    def test_what_is_no_model_is_refused(self):
        (self.folder / "text.gguf").write_text("This is no model.")
        os.mkfifo(self.folder / "fifo.gguf")
        for name, word in (("text.gguf", "text.gguf"), ("fifo.gguf", "regular file"), (".", "regular file")):
            with self.subTest(name=name):
                self.expect_error(self.tokenize(name), FAILED, word)


class Streams(ProgramTest):
    COMMANDS = (["complete", MODEL, "a", "-n", "50", "--ignore-eos"], ["complete", MODEL, "a", "-n", "2", "--json"],
                ["info", MODEL], ["info", MODEL, "--json"], ["tokenize", MODEL, "a"], ["--help"])

    def test_a_full_disk_is_an_error(self):
        if not os.path.exists("/dev/full"):
            lockstep_program.skip_on_this_machine("no /dev/full")
        for command in self.COMMANDS:
            with self.subTest(command=command), open("/dev/full", "wb") as full:
                process = start(*command, stdout=full)
                _, process.stderr_bytes = process.communicate(timeout=TIMEOUT_S)
                self.expect_error(process, FAILED, "standard output", "space")

    def test_a_closed_pipe_ends_the_program_quietly(self):
        for command in self.COMMANDS:
            with self.subTest(command=command):
                reader, writer = os.pipe()
                os.close(reader)
                process = start(*command, stdout=writer)
                os.close(writer)
                _, errors = process.communicate(timeout=TIMEOUT_S)
                self.assertEqual((process.returncode, errors), (FAILED, b""))

    def test_closed_standard_streams_are_no_crash(self):
        process = start("complete", MODEL, "--stdin-jsonl", stdin=None, preexec_fn=lambda: os.close(0))
        process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, DONE)
        process = start("complete", MODEL, "a", stdout=None, preexec_fn=lambda: os.close(1))
        process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, FAILED)

    def test_the_place_of_a_closed_stream_is_taken_before_a_file_can_have_it(self):
        """Else messages are written into the next file that is opened."""
        if not os.path.isdir("/proc/self/fd"):
            lockstep_program.skip_on_this_machine("no /proc")
        process = start("complete", MODEL, "--stdin-jsonl", preexec_fn=lambda: os.close(2))
        process.stdin.write(b'{"text":"a","n_predict":1}\n')
        process.stdin.flush()
        process.stdout.readline()
        self.assertEqual(os.readlink(f"/proc/{process.pid}/fd/2"), "/dev/null")
        process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, DONE)

    def test_files_are_whole_without_standard_streams(self):
        folder = self.temporary_folder()
        arguments = ("trace", MODEL, "hi", "--filter", "^embd$", "--logits", folder / "logits", "--tensor")
        self.expect_done(run(*arguments, f"embd={folder / 'whole'}"))
        for closed in ((2,), (0, 2), (1,), (0, 1, 2)):
            with self.subTest(closed=closed):
                process = start(*arguments, f"embd={folder / 'file'}", preexec_fn=lambda: [os.close(stream) for stream in closed])
                process.communicate(timeout=TIMEOUT_S)
                self.assertEqual(process.returncode, FAILED if 1 in closed else DONE)
                self.assertEqual((folder / "file").read_bytes(), (folder / "whole").read_bytes())
                (folder / "file").unlink()


class Interrupts(ProgramTest):
    def test_generation_stops_after_the_step_and_prints_what_there_is(self):
        process = start("complete", MODEL, "a", *SLOW)
        first = process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, INTERRUPTED, errors)
        self.assertIn(b"finish: cancelled", errors)
        self.assertTrue(first)

    def test_requests_stop_too(self):
        process = start("complete", MODEL, "--stdin-jsonl", *SLOW)
        process.stdin.write(b'{"text":"a","n_predict":1}\n' + b'{"text":"a"}\n' * 9)
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, INTERRUPTED, errors)
        self.assertLess(len(rest.splitlines()), 9)

    def test_waiting_for_input_ends_at_once(self):
        process = start("complete", MODEL, "--stdin-jsonl")
        process.stdin.write(b'{"text":"a","n_predict":1}\n')
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=TIMEOUT_S), INTERRUPTED)
        process.communicate()


if __name__ == "__main__":
    lockstep_program.main()
