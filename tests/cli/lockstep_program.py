"""Runs the program under test, which LOCKSTEP_BIN names, on the small models of tests/data/models."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.environ.get("LOCKSTEP_BIN", "")
MODELS = pathlib.Path(__file__).resolve().parent.parent / "data" / "models"
MODEL = str(MODELS / "mini-llama.Q4_0.gguf")
N_VOCAB = 2048
TIMEOUT_S = 120

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
BY_SIGNAL = 128

# A run that lasts long enough for something to happen meanwhile, and whose answer is always the same.
SLOW = ("--isa", "scalar", "--compute", "exact", "-t", "1", "--ignore-eos", "--temp", "0")


def outside_file(variable, *parts):
    """A file of the folder that an environment variable names; without one the test is skipped."""
    folder = os.environ.get(variable)
    if not folder:
        raise unittest.SkipTest(f"needs the folder that {variable} names")
    return pathlib.Path(folder, *parts)


def skip_on_this_machine(reason):
    """For what no reference data makes up for: tools/run_tests.py lets such a test be skipped."""
    raise unittest.SkipTest(f"this machine: {reason}")


def skip_with_sanitizers():
    """For limits of memory and address space, of which sanitizers take many times what the program wants."""
    if os.environ.get("LOCKSTEP_SANITIZED"):
        raise unittest.SkipTest("needs a build without sanitizers")


def golden(*parts):
    return outside_file("LOCKSTEP_GOLDEN", *parts)


def start(*arguments, **options):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([PROGRAM, *map(os.fsencode, map(os.fspath, arguments))], **{**pipes, **options})


def run(*arguments, stdin=b"", **options):
    """The finished process: returncode, stdout and stderr as bytes."""
    process = start(*arguments, **options)
    process.stdout_bytes, process.stderr_bytes = process.communicate(stdin, timeout=TIMEOUT_S)
    return process


def saved_messages(session_file):
    """The conversation in a session file."""
    content = session_file.read_bytes()
    text = content[content.index(b'{"messages"'):]
    return json.JSONDecoder().raw_decode(text.decode(errors="replace"))[0]["messages"]


def ids_text(ids):
    return ",".join(map(str, ids))


class ProgramTest(unittest.TestCase):
    """Expectations that name what the program said when they fail."""

    def temporary_folder(self):
        """One that goes with the test."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return pathlib.Path(folder.name)

    def expect_done(self, process):
        self.assertEqual(process.returncode, DONE, process.stderr_bytes)
        return process.stdout_bytes

    def json_of(self, *arguments, **options):
        """The one object that a successful run prints."""
        lines = self.expect_done(run(*arguments, **options)).splitlines()
        self.assertEqual(len(lines), 1, lines)
        return json.loads(lines[0])

    def expect_error(self, process, status, *words):
        """One line on standard error, `lockstep: error: ...`, with all words; returns it."""
        self.assertEqual(process.returncode, status, process.stderr_bytes)
        lines = process.stderr_bytes.decode().splitlines()
        self.assertEqual(len(lines), 1, lines)
        self.assertTrue(lines[0].startswith("lockstep: error: "), lines[0])
        for word in words:
            self.assertIn(word, lines[0])
        return lines[0].removeprefix("lockstep: error: ")

    def answers_of(self, command, requests, status=DONE, options=()):
        """The JSONL answers to requests: objects, or bytes taken as lines."""
        lines = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in requests]
        process = run(command, MODEL, "--stdin-jsonl", *options, stdin=b"\n".join(lines) + b"\n")
        self.assertEqual(process.returncode, status, process.stderr_bytes)
        answers = [json.loads(line) for line in process.stdout_bytes.splitlines()]
        self.assertEqual(len(answers), len(lines))
        return answers


class SessionTest(ProgramTest):
    """A folder, and in it a conversation on disk."""

    def setUp(self):
        self.folder = self.temporary_folder()
        self.session = self.folder / "session"

    def ask(self, question="And then?"):
        """One more turn, done."""
        return run("run", MODEL, question, "-n", "4", "--session", self.session, *SLOW)


def main():
    if not PROGRAM:
        sys.exit("LOCKSTEP_BIN: expected the path of the program under test")
    # Whoever runs tests in the background (a shell's &, nohup) may have these ignored, and programs would inherit that.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    result = unittest.main(exit=False).result
    # ctest knows the file only; tools/run_tests.py finds the tests that were skipped in it by these lines.
    for test, reason in result.skipped:
        print(f"SKIPPED {test.id().removeprefix('__main__.')}: {' '.join(reason.split())}")
    sys.exit(0 if result.wasSuccessful() else 1)
