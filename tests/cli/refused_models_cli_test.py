#!/usr/bin/env python3
"""Model files and templates that are refused: one line that begins with the file's path, in every command that reads them."""
import json
import os

import lockstep_program
from lockstep_program import FAILED, MODEL, ProgramTest, run

MESSAGE = '{"messages":[{"role":"user","content":"a"}]}'
VOCABULARY = ("tokenize -p a", "detokenize --ids 1")
COMPUTING = ("run a", "complete a", "trace a", "verify --self", "perplexity -p a", "bench -p 1 -n 0 -r 1")


def with_value(content, key, value):
    """The file with another 32-bit value of a key."""
    at = content.index(key) + len(key) + 4
    return content[:at] + value.to_bytes(4, "little") + content[at + 4:]


def renamed(content, old, new):
    assert len(old) == len(new) and old in content
    return content.replace(old, new, 1)


# What is changed, what the line says of it, and the commands that meet it.
CHANGES = {
    "a size of 0": (lambda c: with_value(c, b"llama.context_length", 0), "llama.context_length is 0", COMPUTING),
    "no such architecture": (lambda c: renamed(c, b"\x05\0\0\0\0\0\0\0llama", b"\x05\0\0\0\0\0\0\0lllll"), '"lllll"', COMPUTING),
    "a tensor less": (lambda c: renamed(c, b"token_embd.weight", b"token_embd.weighs"), "tensor token_embd.weight is missing", COMPUTING),
    "a NaN": (lambda c: c[:-64] + b"\xff" * 64, "NaN", COMPUTING),
    "no merges": (lambda c: renamed(c, b"tokenizer.ggml.merges", b"tokenizer.ggml.mergez"), "tokenizer.ggml.merges is missing",
                  (*VOCABULARY, *COMPUTING)),
    "a broken template": (lambda c: renamed(c, b"{% for", b"{% fro"), "the chat template is malformed", ("run a", "template --input INPUT")),
}


class RefusedModels(ProgramTest):
    def setUp(self):
        self.folder = self.temporary_folder()
        self.input = self.folder / "input.json"
        self.input.write_text(MESSAGE)

    def expect_named_once(self, file, command, *words, json_too=True):
        name, *arguments = (str(self.input) if word == "INPUT" else word for word in command.split())
        for form in ((), ("--json",)) if json_too else ((),):
            process = run(name, file, *arguments, *form)
            message = self.expect_error(process, FAILED, *words)
            shown = os.fsdecode(file).replace("\x1b", "\\x1B")
            self.assertTrue(message.startswith(f"{shown}: "), message)
            self.assertEqual(message.count(shown), 1, message)
            if form:
                self.assertEqual(json.loads(process.stdout_bytes)["error"]["message"], message)

    def test_every_refusal_names_the_file_once(self):
        with open(MODEL, "rb") as model:
            content = model.read()
        file = self.folder / "es\x1bcape.gguf"
        for name, (change, words, commands) in CHANGES.items():
            file.write_bytes(change(content))
            for command in commands:
                with self.subTest(change=name, command=command):
                    self.expect_named_once(file, command, words, json_too=not command.startswith("trace"))

    def test_a_template_file_is_named_instead_of_the_model(self):
        file = self.folder / "broken.jinja"
        for text, words in (("{% fro %}", "malformed"), ("{{ raise_exception('no') }}", "refuses the conversation: no")):
            file.write_text(text)
            for command in ("run a", "template --input INPUT"):
                with self.subTest(text=text, command=command):
                    name, *arguments = (str(self.input) if word == "INPUT" else word for word in command.split())
                    message = self.expect_error(run(name, MODEL, *arguments, "--chat-template-file", file), FAILED, words)
                    self.assertTrue(message.startswith(f"{file}: the chat template"), message)

    def test_a_model_without_a_template_is_named(self):
        with open(MODEL, "rb") as model:
            content = model.read()
        file = self.folder / "plain.gguf"
        file.write_bytes(renamed(content, b"tokenizer.chat_template", b"tokenizer.chat_templatz"))
        self.expect_named_once(file, "run a", "has no chat template", "--chat-template-file")


if __name__ == "__main__":
    lockstep_program.main()
