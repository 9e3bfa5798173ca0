# make demo   train a small English-Korean Transformer from scratch and look inside it
# make check  the quick tests: no training, no browser, no other process; 90 seconds
# make lint   linters, type checkers, and the rules of the house; make format changes the code
# make test   all of it, and all tests but the nightly ones
# make nightly  the long forms of tests, which `make test` leaves out
# make attack  a campaign of damaged files, requests and kills, on MODEL, at SCALE (1.0: a day)
# make bench  benchmarks against other toolkits
# make bench-gpu  training on a GPU, and checks of it, in 8 minutes
# make docs   the documents as a site with search, in docs/_site; MODEL=BUNDLE: with its page in it
# make lab    test the claims of the lectures, each as an experiment
# make wheels build the wheels of every system, with compiled libraries, and the sdist, in dist
# make matrix test the wheel in every installed Python from 3.11 to 3.14
#
# torch comes from a local wheel folder if PIP_FIND_LINKS names one; otherwise uv installs the CPU
# build, or the matching CUDA build if it finds a GPU driver.
TORCH ?= torch==2.13.0
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv

# UV_FIND_LINKS is uv's variable for a local wheel folder; bytecode makes later starts of torch 2x
# faster.
export UV_FIND_LINKS ?= $(PIP_FIND_LINKS)
export UV_LINK_MODE ?= copy
INSTALL = $(UV) pip install --quiet --python $(BIN)/python -c constraints.txt \
	$(if $(UV_FIND_LINKS),,--torch-backend=auto) "$(TORCH)"
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo check lint style scripts format test nightly attack bench bench-gpu docs lab wheels matrix sanitize clean
.DEFAULT_GOAL := help

help:
	@sed -n '1,/^# make matrix/s/^# //p' Makefile

$(UV):
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet uv

$(VENV)/.core: pyproject.toml constraints.txt | $(UV)
	$(INSTALL) -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	$(INSTALL) -e ".[argos,documents,formats,huggingface,images,track,ko,lab,notebook,plot,remote,research,serve,sweep,vectors]" --group dev
	@touch $@

# zig, of the wheels' environment, compiles the engine for pages.
WITH_ZIG = PATH="$$PATH:$$(echo $(abspath $(VENV))/wheels/lib/python*/site-packages/ziglang)"

demo: $(VENV)/.core $(VENV)/.wheels
	@$(WITH_ZIG) $(BIN)/jumok demo

# The compiler of the wheels, zig, in an environment of its own: where a person has it installed,
# jumok itself compiles with it, and tests of machines without a compiler would find it.
$(VENV)/.wheels: pyproject.toml constraints.txt | $(UV)
	$(UV) venv --quiet --allow-existing $(VENV)/wheels
	$(UV) pip install --quiet --python $(VENV)/wheels/bin/python -c constraints.txt --group wheels
	@touch $@

QUICK := alignment attention config data decoding documents models planning positions

# Every search of every model takes half of the time of all others together.
check: $(VENV)/.dev
	$(BIN)/pytest -n 2 --dist loadfile -m "not nightly and not process" $(QUICK:%=tests/%) tests/test_parts.py tests/test_kinds.py tests/web/test_modules.py \
		--ignore=tests/models/test_sequence_to_sequence.py

lint: style $(VENV)/.dev
	$(BIN)/pytest tests/lint

style: $(VENV)/.dev scripts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The types of web/ and its linter are packages of npm, in node_modules.
scripts: $(if $(shell command -v npm),node_modules/.package-lock.json)
	@if command -v npm >/dev/null; then npx tsc && npx eslint web docs/site tests/web eslint.config.js; \
		else echo "npm is missing: the JavaScript in web/ is not checked"; fi

node_modules/.package-lock.json: package.json package-lock.json
	npm ci --silent
	@touch $@

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

test: style $(VENV)/.wheels
	@# loadfile keeps the tests of a file with one process, which builds what they share once.
	$(WITH_ZIG) $(BIN)/pytest -n 2 --dist loadfile

nightly: $(VENV)/.dev $(VENV)/.wheels
	$(WITH_ZIG) $(BIN)/pytest -n 2 --dist loadfile -m nightly

SCALE ?= 1.0
MODEL ?= demo/smallworld-en-ko/model

attack: $(VENV)/.dev
	$(BIN)/python -m benchmarks.attack $(MODEL) --scale $(SCALE)

# Runs the kernels' tests with all memory accesses checked; needs gcc's libasan.
sanitize: $(VENV)/.dev
	LD_PRELOAD="$$(cc -print-file-name=libasan.so) $$(cc -print-file-name=libstdc++.so.6)" \
		ASAN_OPTIONS=detect_leaks=0 $(BIN)/pytest --capture=sys -p tests.sanitizing \
		tests/kernels tests/attention tests/layers tests/engine tests/fuzz/test_engine.py

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

bench-gpu: $(VENV)/.dev
	$(BIN)/python -m benchmarks.gpu

# The default of MODEL is that of attack; here it counts where it is given.
docs: $(VENV)/.dev
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python docs/site/build.py \
		$(if $(filter-out file,$(origin MODEL)),--model "$(MODEL)")

lab: $(VENV)/.dev
	$(BIN)/jumok lab --all --page lab/README.md

WHEELS := pure linux-x86_64 linux-aarch64 macos-x86_64 macos-aarch64 windows-x86_64

wheels: $(VENV)/.wheels
	$(VENV)/wheels/bin/python -m hatchling build -t sdist -d dist
	for system in $(WHEELS); do \
		JUMOK_WHEEL=$$system $(VENV)/wheels/bin/python -m hatchling build -t wheel -d dist || exit 1; \
	done
	$(VENV)/wheels/bin/auditwheel show dist/jumok-*-manylinux_2_28_x86_64.whl

matrix: $(VENV)/.dev
	$(BIN)/pytest -m nightly -rs tests/browser/test_wheel.py

clean:
	rm -rf $(VENV) runs demo lab benchmarks/.envs benchmarks/.work
