# make demo   train a small English-Korean Transformer from nothing and look at it
# make test   lint, types, architecture and every test
# make bench  this project against its peers, in one run
# make lab    the claims of the lectures, each as an experiment
# make matrix the wheel in every Python from 3.11 to 3.14 that is installed
#
# torch: a local wheel folder (PIP_FIND_LINKS) decides if there is one; else uv takes the CPU
# build where it finds no GPU driver, and the right CUDA build where it finds one.
TORCH ?= torch==2.13.0
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv

# uv reads its own name for a local wheel folder; bytecode makes the second start of torch 2x faster.
export UV_FIND_LINKS ?= $(PIP_FIND_LINKS)
export UV_LINK_MODE ?= copy
INSTALL = $(UV) pip install --quiet --python $(BIN)/python -c constraints.txt \
	$(if $(UV_FIND_LINKS),,--torch-backend=auto) "$(TORCH)"
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test bench lab matrix lint sanitize clean
.DEFAULT_GOAL := help

help:
	@sed -n '1,5s/^# //p' Makefile

$(UV):
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet uv

$(VENV)/.core: pyproject.toml constraints.txt | $(UV)
	$(INSTALL) -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	$(INSTALL) -e ".[documents,formats,huggingface,images,track,ko,lab,notebook,plot,vectors]" --group dev
	@touch $@

demo: $(VENV)/.core
	@$(BIN)/jumok demo

test: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n 2

lint: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The kernels' tests with every access to memory checked; needs gcc's libasan.
sanitize: $(VENV)/.dev
	LD_PRELOAD="$$(cc -print-file-name=libasan.so)" ASAN_OPTIONS=detect_leaks=0 \
		$(BIN)/pytest -p tests.sanitizing tests/kernels tests/attention tests/layers

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

lab: $(VENV)/.dev
	$(BIN)/jumok lab --all --page lab/README.md

matrix: $(VENV)/.dev
	$(BIN)/pytest -m slow -rs tests/browser/test_wheel.py

clean:
	rm -rf $(VENV) runs demo lab benchmarks/.envs benchmarks/.work
