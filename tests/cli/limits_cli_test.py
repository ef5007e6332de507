#!/usr/bin/env python3
"""Memory, address space and threads that are not there: one line that names what was wanted, and a status."""
import os
import pathlib
import resource

import lockstep_program
from lockstep_program import DONE, FAILED, MODEL, ProgramTest, run

MEGABYTE = 1 << 20


def limited(kind, amount):
    return lambda: resource.setrlimit(kind, (amount, amount))


class AddressSpace(ProgramTest):
    """B50. What a limit leaves room for depends on the system, so many limits are tried."""

    # What the system's loader needs before there is a program of ours that could say anything.
    def least(self):
        for limit in range(8 * MEGABYTE, 1024 * MEGABYTE, 2 * MEGABYTE):
            if run("--version", preexec_fn=limited(resource.RLIMIT_AS, limit)).returncode == DONE:
                return limit
        self.fail("no limit is enough")

    def test_too_little_is_one_line_whatever_it_is_too_little_for(self):
        lockstep_program.skip_with_sanitizers()
        least = self.least()
        messages = set()
        for command in (("complete", MODEL, "a", "-n", "2"), ("info", MODEL), ("complete", MODEL, "a", "-n", "2", "-t", "8", "--json")):
            n_done = 0
            for extra in range(0, 256):
                process = run(*command, preexec_fn=limited(resource.RLIMIT_AS, least + extra * MEGABYTE))
                if process.returncode == DONE:
                    n_done += 1
                    if n_done == 3:
                        break
                    continue
                messages.add(self.expect_error(process, FAILED))
            self.assertGreater(n_done, 0, command)
        self.assertTrue(any("bytes wanted" in message for message in messages), messages)
        for message in messages:
            self.assertRegex(message, "memory|threads \\d+: the system lets only \\d+ be started")


class ControlGroup:
    """A memory control group of this test, with processes put into it."""

    def __init__(self, limit):
        self.path, limit_file = self.place()
        os.makedirs(self.path)
        (self.path / limit_file).write_text(str(limit))

    @staticmethod
    def place():
        for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, group = line.split(":", 2)
            name = f"lockstep-test-{os.getpid()}"
            if "memory" in controllers.split(","):
                return pathlib.Path("/sys/fs/cgroup/memory" + group) / name, "memory.limit_in_bytes"
            if not controllers and os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
                return pathlib.Path("/sys/fs/cgroup" + group) / name, "memory.max"
        raise OSError("no memory control group")

    def enter(self):
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def close(self):
        os.rmdir(self.path)


class ControlGroups(ProgramTest):
    def test_a_model_that_the_control_group_has_no_room_for_is_refused_before_it_is_read(self):
        lockstep_program.skip_with_sanitizers()
        model = pathlib.Path(os.environ.get("LOCKSTEP_MODELS", "/nowhere")) / "SmolLM2-135M-Instruct.Q4_1.gguf"
        if not model.exists():
            self.skipTest("LOCKSTEP_MODELS names no folder with SmolLM2")
        try:
            group = ControlGroup(48 * MEGABYTE)
        except OSError as error:
            lockstep_program.skip_on_this_machine(f"no control group can be made: {error}")
        self.addCleanup(group.close)
        process = run("complete", model, "a", "-n", "1", "-t", "1", preexec_fn=group.enter)
        self.expect_error(process, FAILED, "no memory for the weights", "bytes wanted", "the control group /")


if __name__ == "__main__":
    lockstep_program.main()
