#!/usr/bin/env python3
"""Models of an Ollama store, made here, read in place."""
import hashlib
import json
import os
import pathlib
import shutil

import lockstep_program
from lockstep_program import FAILED, MODEL, ProgramTest, run


class OllamaStore(ProgramTest):
    def setUp(self):
        self.store = self.temporary_folder()
        (self.store / "blobs").mkdir()
        layers = [self.layer("model", pathlib.Path(MODEL).read_bytes()), self.layer("template", b"{{ .Prompt }}\x1b"),
                  self.layer("params", b'{"temperature":0.5}')]
        manifest = self.store / "manifests/host.example/library/mini/latest"
        manifest.parent.mkdir(parents=True)
        manifest.write_text(json.dumps({"schemaVersion": 2, "layers": layers}))
        self.environment = {"PATH": os.environ.get("PATH", ""), "OLLAMA_MODELS": str(self.store)}

    def layer(self, kind, content):
        digest = hashlib.sha256(content).hexdigest()
        (self.store / "blobs" / f"sha256-{digest}").write_bytes(content)
        return {"mediaType": f"application/vnd.ollama.image.{kind}", "digest": f"sha256:{digest}", "size": len(content)}

    def test_a_model_runs_by_its_name_as_by_its_path(self):
        arguments = ("Hi", "--json", "-n", "3", "--temp", "0")
        by_name = run("run", "ollama:mini", *arguments, env=self.environment)
        by_path = run("run", MODEL, *arguments)
        self.assertEqual(json.loads(self.expect_done(by_name).splitlines()[-1])["ids"],
                         json.loads(self.expect_done(by_path).splitlines()[-1])["ids"])

    def test_info_shows_what_the_manifest_has(self):
        info = self.json_of("info", "ollama:mini:latest", "--json", env=self.environment)
        self.assertEqual(info["ollama"], {"template": "{{ .Prompt }}\x1b", "parameters": '{"temperature":0.5}'})
        text = self.expect_done(run("info", "ollama:mini", env=self.environment)).decode()
        self.assertIn(r"{{ .Prompt }}\x1B", text)
        self.assertNotIn("ollama", self.json_of("info", MODEL, "--json"))

    def test_the_store_is_below_the_home_folder_when_nothing_is_said(self):
        home = self.store / "home"
        shutil.copytree(self.store / "blobs", home / ".ollama/models/blobs")
        shutil.copytree(self.store / "manifests", home / ".ollama/models/manifests")
        self.expect_done(run("info", "ollama:mini", env={"HOME": str(home)}))

    def test_an_unknown_name_lists_what_there_is(self):
        self.expect_error(run("info", "ollama:large", env=self.environment), FAILED, "ollama:large", "mini:latest")
        self.expect_error(run("info", "ollama:../../etc", env=self.environment), FAILED, "NAMESPACE")


class EndTokens(ProgramTest):
    def test_info_shows_the_tokens_that_end_an_answer(self):
        tokens = self.json_of("info", MODEL, "--json")["end_of_generation"]
        self.assertIn({"id": 2, "text": "<|im_end|>"}, tokens)
        self.assertIn("<|im_end|>", self.expect_done(run("info", MODEL)).decode().split("Tokens that end an answer")[1])


if __name__ == "__main__":
    lockstep_program.main()
