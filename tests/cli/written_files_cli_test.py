#!/usr/bin/env python3
"""Files that an option names (trace --logits and --tensor, roofline --csv, perplexity --save-base): as a whole or as
they were, whatever happens."""
import os
import pathlib
import resource
import signal
import threading
import time

import lockstep_program
from lockstep_program import DONE, FAILED, MODEL, N_VOCAB, TIMEOUT_S, USAGE, ProgramTest, ids_text, run, start

OLD = b"lockbase: what stood there before"  # begins as a base does, which replaces no other file
SLOW = ("--isa", "scalar", "-t", "1", "-b", "1")
IDS = ids_text(range(3, 203))
TEXT = " ".join(f"The {i} quick brown foxes jump over {i * 7} lazy dogs." for i in range(60))
ROOFLINE = ("roofline", "--format", "Q4_0", "--isa", "scalar", "-t", "1")
PERPLEXITY = ("perplexity", MODEL, "-p", TEXT, "-c", "64", *SLOW)

# What writes a file, all but the file's path, which comes last.
WRITERS = {
    "trace --logits": lambda path: ["trace", MODEL, "--ids", IDS, *SLOW, "--logits", path],
    "trace --tensor": lambda path: ["trace", MODEL, "--ids", IDS, *SLOW, "--tensor", f"result_output={path}"],
    "roofline --csv": lambda path: [*ROOFLINE, "--csv", path],
    "perplexity --save-base": lambda path: [*PERPLEXITY, "--save-base", path],
}


def refusals(path):
    return {
        "a bad id, logits": (FAILED, ["trace", MODEL, "--ids", str(N_VOCAB), "--logits", path]),
        "a bad id, tensor": (FAILED, ["trace", MODEL, "--ids", str(N_VOCAB), "--tensor", f"result_output={path}"]),
        "no such model": (FAILED, ["trace", "/no/such/model", "a", "--logits", path]),
        "another file cannot be": (FAILED, ["trace", MODEL, "a", "--logits", path, "--tensor", "result_output=/no/such/x"]),
        "no such tensor": (FAILED, ["trace", MODEL, "a", "--logits", path, "--tensor", f"no-such-tensor={path}2"]),
        "one file twice": (USAGE, ["trace", "/no/such/model", "a", "--logits", path, "--tensor", f"result_output={path.parent}/./results"]),
        "one for two tensors": (USAGE, ["trace", "/no/such/model", "a", "--tensor", f"embd={path}", "--tensor", f"result_output={path}"]),
        "no such format": (USAGE, ["roofline", "--format", "Q9_9", "--csv", path]),
        "a text too short": (FAILED, ["perplexity", MODEL, "-p", "a", "--save-base", path]),
    }


def smaller_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


class WrittenFiles(ProgramTest):
    def setUp(self):
        self.folder = self.temporary_folder()
        self.file = self.folder / "results"
        self.file.write_bytes(OLD)

    def expect_old_file(self):
        self.assertEqual(self.file.read_bytes(), OLD)
        self.assertEqual(os.listdir(self.folder), ["results"])

    def wait_until_written(self, process):
        """Until the program has a file in the folder open."""
        end = time.monotonic() + TIMEOUT_S
        while process.poll() is None and time.monotonic() < end:
            for descriptor in pathlib.Path(f"/proc/{process.pid}/fd").glob("*"):
                try:
                    if os.readlink(descriptor).startswith(str(self.folder)):
                        return
                except FileNotFoundError:
                    continue
            time.sleep(0.001)
        self.fail("the program never opened its file")

    def test_a_refusal_or_a_full_disk_leaves_the_old_file(self):
        for name, (status, arguments) in refusals(self.file).items():
            with self.subTest(refusal=name):
                self.expect_error(run(*arguments), status)
                self.expect_old_file()
        for name, arguments in WRITERS.items():
            with self.subTest(full_disk=name):
                process = run(*arguments(self.file), preexec_fn=smaller_files)
                self.assertEqual(process.returncode, FAILED, process.stderr_bytes)
                self.assertRegex(process.stderr_bytes, rb"lockstep: error: .*results: File too large")
                self.expect_old_file()

    def test_a_signal_midway_leaves_the_old_file(self):
        for name, arguments in WRITERS.items():
            for number in (signal.SIGTERM, signal.SIGKILL):
                with self.subTest(command=name, number=number):
                    process = start(*arguments(self.file))
                    self.wait_until_written(process)
                    process.send_signal(number)
                    _, errors = process.communicate(timeout=TIMEOUT_S)
                    self.assertIn(process.returncode, (128 + number, -number), errors)
                    self.expect_old_file()

    def test_a_result_takes_the_place_of_the_old_file(self):
        for name, arguments in WRITERS.items():
            with self.subTest(command=name):
                self.file.write_bytes(OLD)
                self.expect_done(run(*arguments(self.file)))
                self.assertNotIn(OLD, self.file.read_bytes())
                self.assertEqual(os.listdir(self.folder), ["results"])

    def test_a_file_of_another_kind_is_not_replaced(self):
        letter = b"Dear reader,"
        for arguments in ([*PERPLEXITY, "--save-base"], ["run", MODEL, "Hello", "-n", "2", "--session"]):
            with self.subTest(arguments=arguments):
                self.file.write_bytes(letter)
                self.expect_error(run(*arguments, self.file), FAILED, str(self.file), "of another kind")
                self.assertEqual(self.file.read_bytes(), letter)

    def test_a_pipe_gets_the_same_bytes(self):
        arguments = ("trace", MODEL, "--ids", "3,4,5", "--logits")
        self.expect_done(run(*arguments, self.file))
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        got = []
        reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
        reader.start()
        self.assertEqual(run(*arguments, pipe).returncode, DONE)
        reader.join(TIMEOUT_S)
        self.assertEqual(got, [self.file.read_bytes()])


if __name__ == "__main__":
    lockstep_program.main()
