#!/usr/bin/env python3
"""No control character of a file, a message or a model reaches a terminal: title, clear and clipboard sequences in the
vocabulary, in the template and in messages, and both streams a pseudo-terminal."""
import json
import os
import pathlib
import pty
import re
import subprocess

import lockstep_program
from lockstep_program import DONE, FAILED, MODEL, PROGRAM, TIMEOUT_S, ProgramTest, ids_text, run

TITLE, CLEAR, CLIPBOARD, C1_CLEAR = "\x1b]0;x\x07", "\x1b[2J", "\x1b]52;c;eA==\x07", "\x9b2J"
SEQUENCES = (TITLE, CLEAR, CLIPBOARD, C1_CLEAR)
EVERYTHING = "".join(SEQUENCES) + "\x00\x7f\x08\r" + "".join(map(chr, range(0x80, 0xa0)))
SHOWN = r"\x1B]0;x\x07"  # the title on a terminal

# What the program itself sends: its progress line and its dim lines.
OWN_CODES = re.compile(rb"\r\x1b\[K|\x1b\[2m|\x1b\[0m")
# But the line ends, which a terminal turns into CR LF, and tabs.
CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]|\r(?!\n)")

# Tokens of the model, as they are in its file, and what takes their place: the same number of bytes. The first four
# are the sequences in the byte-level alphabet (ESC is U+011B, BEL U+0107, 0x9B U+013D).
PATCHES = {"\u0120record": "\u011b]0;x\u0107", "\u0120dig": "\u011b[2J", "\u0120relationship": "\u011b]52;c;eA==\u0107",
           "\u0120away": "\u00c2\u013d2J", "<|im_end|>": TITLE + CLEAR, "random mini-llama": CLIPBOARD + "\x7f" + CLEAR}
TEMPLATE_PART = "You are a helpful AI assistant named"
HOSTILE_IDS = (2004, 2047, 1986, 2025)


def with_length(text):
    return len(text.encode()).to_bytes(8, "little") + text.encode()


def hostile_model(path):
    data = pathlib.Path(MODEL).read_bytes()
    for text, hostile in PATCHES.items():
        assert len(text.encode()) == len(hostile.encode()) and data.count(with_length(text)) == 1, text
        data = data.replace(with_length(text), with_length(hostile))
    part = (TITLE + CLEAR + CLIPBOARD + C1_CLEAR).encode()
    assert len(part) <= len(TEMPLATE_PART) and data.count(TEMPLATE_PART.encode()) == 1
    path.write_bytes(data.replace(TEMPLATE_PART.encode(), part.ljust(len(TEMPLATE_PART), b".")))
    return path


class Terminals(ProgramTest):
    def setUp(self):
        self.folder = self.temporary_folder()
        self.model = hostile_model(self.folder / "hostile.gguf")
        self.text = self.folder / "text"
        self.text.write_text(EVERYTHING)
        self.input = self.folder / "input.json"
        self.input.write_text(json.dumps({"messages": [{"role": "user", "content": EVERYTHING}]}))
        self.ids = ids_text(HOSTILE_IDS)
        self.likely = [part for id_ in HOSTILE_IDS for part in ("--logit-bias", f"{id_}+1000")]

    def on_terminal(self, *arguments, status=DONE):
        """Everything that the program sent, without its own codes."""
        outer, inner = pty.openpty()
        process = subprocess.Popen([PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=inner, stderr=inner,
                                   env={**os.environ, "TERM": "xterm"})
        self.addCleanup(process.kill)
        os.close(inner)
        seen = b""
        try:
            while part := os.read(outer, 65536):
                seen += part
        except OSError:  # EIO: the program has ended
            pass
        os.close(outer)
        self.assertEqual(process.wait(TIMEOUT_S), status, seen)
        return OWN_CODES.sub(b"", seen)

    def expect_harmless(self, seen, shown=SHOWN):
        found = CONTROLS.search(seen)
        self.assertIsNone(found, found and seen[max(0, found.start() - 40):found.end() + 40])
        self.assertIn(shown, seen.decode())

    def commands(self):
        generated = ("-n", "40", "--ignore-eos", "--seed", "1", *self.likely)
        return {"template": ("template", self.model, "--input", self.input),
                "complete": ("complete", self.model, "-f", self.text, *generated),
                "run": ("run", self.model, EVERYTHING.replace("\0", ""), *generated),
                "detokenize": ("detokenize", self.model, "--ids", self.ids),
                "tokenize": ("tokenize", self.model, "-f", self.text),
                "info": ("info", self.model)}

    def test_text_for_people_is_harmless(self):
        for name, arguments in self.commands().items():
            with self.subTest(command=name):
                # The vocabulary's pieces are parts of the text; the general.name is what info shows.
                shown = {"tokenize": r"\x1B", "info": r"\x1B]52;c;eA==\x07\x7F\x1B[2J"}.get(name, SHOWN)
                self.expect_harmless(self.on_terminal(*arguments), shown)

    def test_json_is_harmless_and_has_the_same_value(self):
        for name, arguments in self.commands().items():
            with self.subTest(command=name):
                self.expect_harmless(self.on_terminal(*arguments, "--json"), r"\u001b")
        text = "".join(SEQUENCES)
        seen = self.on_terminal("detokenize", self.model, "--ids", self.ids, "--json")
        self.assertEqual(json.loads(seen), {"text": text})
        answer = self.json_of("complete", self.model, "a", "--json", "-n", "40", "--seed", "1", "--ignore-eos", *self.likely)
        for sequence in SEQUENCES:
            self.assertIn(sequence, answer["text"])

    def test_refusals_are_harmless(self):
        template = self.folder / "raises.jinja"
        template.write_text("{{ raise_exception(messages[0].content) }}")
        arguments = ("template", "--chat-template-file", template, "--input", self.input)
        self.expect_harmless(self.on_terminal(*arguments, status=FAILED))
        self.expect_harmless(self.on_terminal(*arguments, "--json", status=FAILED))
        template.write_text("{{ messages[0].content }}{% " + EVERYTHING + " %}")
        self.expect_harmless(self.on_terminal(*arguments, status=FAILED), "error")

    def test_a_pipe_gets_the_text_as_it_is(self):
        out = self.expect_done(run("template", self.model, "--input", self.input))
        self.assertIn(EVERYTHING.encode(), out)
        self.assertEqual(self.expect_done(run("detokenize", self.model, "--ids", self.ids)), "".join(SEQUENCES).encode())


if __name__ == "__main__":
    lockstep_program.main()
