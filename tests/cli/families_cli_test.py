#!/usr/bin/env python3
"""Every command that computes, on a small model of every family (golden data): that it works, not how well."""
import json

import lockstep_program
from lockstep_program import DONE, MODELS, ProgramTest, golden, ids_text, run

FAMILIES = ["gemma2", "gemma3", "granite", "linear", "llama31", "mixtral", "olmo2", "phi3", "qwen3", "qwen3moe",
            "smollm3", "yarn"]
MEASURED = {"gemma3", "phi3", "qwen3moe"}  # windows, fused matrices, experts: what bench counts differently
TEMPLATE = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
GREEDY = ("--json", "--temp", "0", "--ignore-eos", "-n", "6")
IDS = [504, 1575, 282, 49, 314, 17, 900, 3] * 8  # beyond the windows of 32


class EveryFamily(ProgramTest):
    def setUp(self):
        self.folder = self.temporary_folder()
        self.template = self.folder / "template.jinja"
        self.template.write_text(TEMPLATE)

    def check(self, model):
        complete = self.json_of("complete", model, *GREEDY, "--ids", ids_text(IDS))
        self.assertEqual(len(complete["ids"]), 6)
        self.check_run(model)
        self.check_trace(model)
        self.check_perplexity(model)
        report = self.json_of("verify", model, "--self", "--json")
        self.assertIs(report["equal"], True, report)

    def check_bench(self, model):
        bench = self.json_of("bench", model, "--json", "-p", "40", "-n", "4", "-r", "1")
        self.assertEqual([entry["test"] for entry in bench], ["pp40", "tg4"])
        self.assertTrue(all(entry["tps"]["median"] > 0 for entry in bench), bench)

    def check_run(self, model):
        process = run("run", model, "Hello", "--chat-template-file", self.template, *GREEDY)
        done = json.loads(self.expect_done(process).splitlines()[-1])
        complete = self.json_of("complete", model, *GREEDY, "--ids", ids_text(done["prompt_ids"]))
        self.assertEqual(done["ids"], complete["ids"])

    def check_trace(self, model):
        trace = self.expect_done(run("trace", model, "--ids", ids_text(IDS)))
        names = [json.loads(line)["name"] for line in trace.splitlines()[1:]]
        self.assertEqual(len({name for name in names if name.startswith("l_out-")}), 1 + int(names[-4].split("-")[1]))
        path = self.folder / "trace"
        path.write_bytes(trace)
        process = run("verify", model, "--against", path, "--json", "-t", "1", "--isa", "scalar")
        report = json.loads(process.stdout_bytes)
        self.assertEqual((process.returncode, report["worst"]["rel"]), (DONE, 0), report)

    def check_perplexity(self, model):
        options = ("-f", MODELS / "README.md", "-c", "64", "--chunks", "2", "--json", "--against", "exact")
        report = self.json_of("perplexity", model, *options)
        self.assertGreater(report["ppl"], 1)
        self.assertEqual(report["kld"]["max"], 0)  # float weights are the same in both modes


def add_test(family):
    def test(self):
        model = golden("mini", f"mini-{family}.F16.gguf")
        self.check(model)
        if family in MEASURED:
            self.check_bench(model)

    setattr(EveryFamily, f"test_{family}", test)


for name in FAMILIES:
    add_test(name)

if __name__ == "__main__":
    lockstep_program.main()
