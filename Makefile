# Every routine of the project: `make help` lists them. `.ci/run` runs those that a change must pass.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/ready
DEV := $(VENV)/dev
RELEASE := .venv-release/ready
# For real GPUs: the wheels of CUDA 12 or 13.
CUDA ?= 12
GPU := .venv-gpu$(CUDA)
GPU_PY := $(GPU)/bin/python
PEERS := .venv-peers/ready
TRAINED := .venv-peers/twofold
TORCH := .venv-torch/ready
VISION := .venv-torch/torchvision
ARCHITECTURES := .venv-torch/architectures

JOBS ?= 2
ARGS ?=
N ?= 2000
REV ?= HEAD~1
SHARE ?= $(shell date +%-d)

# The shared data beside the checkout, where there is any; a TWOFOLD_DATA of your own goes first.
DATA := $(or $(TWOFOLD_DATA),$(wildcard ../shared/data))
WITH_DATA := $(if $(DATA),TWOFOLD_DATA=$(DATA))

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help venv dev release test test-ci test-cluster test-all test-libraries test-numpy-libraries test-mnist test-free-threaded test-hosts test-gpu-share demo demo-cluster example-torch lint format types contracts layers code-lines public-api walks docs tune test-gpu-sim test-gpu test-gpu-sanitizer bench bench-busy bench-cliffs bench-cluster bench-data bench-gpu bench-library-calls bench-loops bench-model-zoo bench-mxnet bench-peers bench-scripts bench-small bench-training stubs asv asv-compare asv-pages campaign fuzz mutants gallery clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' $(MAKEFILE_LIST) | expand -t 20

# ------------------------------------------------------------------------------------------------------- environment

venv: $(READY) ## Make .venv and install the package into it, editable, with what the demo needs

dev: $(DEV) ## The same with all extras, tests, linters and type checkers

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "make venv: needs Python 3.11 or newer, got %d.%d; name one: make venv PYTHON=python3.12" % sys.version_info[:2])'
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[demo,jit]'
	@touch $@

$(DEV): $(READY)
	$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

$(RELEASE): pyproject.toml
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check build cyclonedx-bom hatchling twine
	@touch $@

$(GPU)/ready: pyproject.toml
	@test -x $(GPU_PY) || $(PYTHON) -m venv $(GPU)
	$(GPU_PY) -m pip install --quiet --disable-pip-version-check --editable '.[demo,safetensors,test,viz,cuda$(CUDA),cudnn]' nvidia-cudnn-cu$(CUDA)
	@touch $@

# ------------------------------------------------------------------------------------------------------------- tests

test: $(DEV) ## Run the quick tests, in some five minutes (ARGS="tests/formats -k params")
	@$(WITH_DATA) FUZZ_CASES=100 $(PY) -m pytest -n $(JOBS) --dist worksteal -m "not ci and not slow and not mnist" $(ARGS)

test-ci: $(DEV) ## Run the tests that CI runs: also whole trainings, clusters that lose processes, longer searches
	@$(WITH_DATA) $(PY) -m pytest -n $(JOBS) --dist worksteal --durations 30 --durations-min 8 -m "not slow and not mnist" $(ARGS)

test-all: $(DEV) ## Run every test, in hours
	@$(WITH_DATA) $(PY) -m pytest -n $(JOBS) --dist worksteal $(ARGS)

test-mnist: $(DEV) ## Run the tests that train on the real digits
	@$(WITH_DATA) $(PY) -m pytest -m mnist $(ARGS)

campaign: $(DEV) ## Run the random searches for hours and go on next time (ARGS="--minutes 30 --only params,symbol", "--list", "--again", "--write")
	@nice -n 15 $(PY) -m tests.campaign $(ARGS)

test-cluster: $(DEV) ## Kill and stop processes of a cluster at many points; print a table (ARGS=5 for five points each)
	@$(PY) -m pytest -q tests/cluster
	@$(PY) tests/cluster/faults.py $(ARGS)

test-hosts: $(DEV) ## Start jobs on hosts of Linux namespaces, as root; strike their network with faults (ARGS="--seeds 2 --only '1 %'")
	@$(PY) -m pytest -q -rs tests/hosts
	@$(PY) tests/hosts/faults.py $(ARGS)

test-free-threaded: ## Run the tests of threads on a Python without a global lock, where there is one (FREE=python3.14t)
	@$(PYTHON) tests/free_threaded.py $(FREE)

test-libraries: $(DEV) ## Try libraries built on MXNet beside MXNet 1.9.1, in hours (ARGS="--only gluonnlp --parts imports", "--write")
	@$(PY) -m tools.libraries $(ARGS)

test-numpy-libraries: $(DEV) ## Run the tests of pandas, SciPy, numba and others with folding arrays, in hours (ARGS="--only pandas", "--write")
	@$(PY) -m tools.numpy_libraries $(ARGS)

fuzz: $(DEV) ## Run the random searches with N cases each (N=2000)
	@FUZZ_CASES=$(N) $(PY) -m pytest -n $(JOBS) --dist worksteal -m fuzz $(ARGS)

test-gpu-sim: $(DEV) ## Run every test of the CuPy adapter, and the front ends' suites, on simulated GPUs
	@$(PY) -m pytest -n $(JOBS) --dist worksteal tests/cupy tests/fakes $(ARGS)
	@$(PY) -m pytest -n $(JOBS) --dist worksteal -p tests.on_gpu $$($(PY) -m tests.on_gpu) $(ARGS)

test-gpu-share: $(DEV) ## Run a sixth of the front ends' suites on simulated GPUs: by default that of the day of the month (SHARE=2)
	@$(PY) -m pytest -n $(JOBS) --dist worksteal -p tests.on_gpu --every 6 --share $(SHARE) -m "not slow and not mnist and not oracle and not fuzz" \
		$$($(PY) -m tests.on_gpu) $(ARGS)

test-gpu: $(GPU)/ready ## Run the same tests on a real GPU, those that need one, and, where it is installed, compute-sanitizer (CUDA=13)
	@failed=0; export TWOFOLD_TEST_GPU=device; \
	$(GPU_PY) -m pytest tests/cupy $(ARGS) || failed=1; \
	$(GPU_PY) -m pytest -p tests.on_gpu $$($(GPU_PY) -m tests.on_gpu) $(ARGS) || failed=1; \
	$(if $(ARGS),,$(GPU_PY) -m tests.sanitizer --optional || failed=1;) exit $$failed

test-gpu-sanitizer: $(GPU)/ready ## Run some of them under NVIDIA's compute-sanitizer (ARGS="--tool racecheck -x")
	@$(GPU_PY) -m tests.sanitizer $(ARGS)

mutants: $(DEV) ## Remove each ownership and ordering rule once; some test must fail
	@$(PY) -m tests.mutants $(ARGS)

# ------------------------------------------------------------------------------------------------------------ checks

lint: $(DEV) ## Check style and format
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .

format: $(DEV) ## Mend what `lint` can mend by itself
	@$(PY) -m ruff check --fix .
	@$(PY) -m ruff format .

types: $(DEV) ## Check the types of src and backends
	@$(PY) -m pyright

contracts: $(DEV) ## Check who imports whom
	@$(PY) tools/contracts.py

layers: $(DEV) ## Write the table of layers in docs/inside/architecture.md anew
	@$(PY) tools/layers.py

stubs: $(DEV) ## Write the .pyi files anew (ARGS=--check only says which are stale)
	@$(PY) -m twofold.testing.stubs $(ARGS)

code-lines: $(DEV) ## Print lines of code by folder and the marks of the house, beside the last tag (or REV) (ARGS=--lower)
	@$(PY) tools/code_lines.py $(ARGS) $(if $(filter command,$(origin REV)),$(REV),$$(git describe --tags --abbrev=0 2>/dev/null))

public-api: $(DEV) ## Keep the public names and parameters as they are now in tests/house/public_api.txt
	@$(PY) tools/public_api.py --write

walks: $(DEV) ## Count the Python functions that typical calls enter, beside their goals and ceilings (ARGS=--lower)
	@$(PY) tools/walks.py $(ARGS)

docs: $(DEV) ## Build the documentation into docs/_build/html, and check it
	@$(PY) -m sphinx -j auto -W --keep-going -q -b html docs docs/_build/html
	@$(PY) tools/site_checks.py

gallery: $(DEV) ## Run the examples and write their pages (ARGS="arithmetic toy_autodiff")
	@$(WITH_DATA) $(PY) tools/gallery.py $(ARGS)

# ------------------------------------------------------------------------------------------------------- measurement

demo: $(READY) ## Train digits in four ways and print the report
	@$(WITH_DATA) $(PY) -m twofold demo $(ARGS)

demo-cluster: $(DEV) ## Train digits in two processes; draw their trace (ARGS="--epochs 2")
	@$(WITH_DATA) $(PY) -m twofold launch -n 2 --trace cluster.json examples/digits_cluster.py $(ARGS)

$(TORCH): asv_benchmarks/peers/environment.py pyproject.toml
	@$(PYTHON) asv_benchmarks/peers/environment.py $(@D) torch
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --editable .
	@$(@D)/bin/python -c 'import torch'
	@touch $@

example-torch: $(TORCH) ## Train a net on torch's arrays and on NumPy's, in an environment of its own
	@$(<D)/bin/python examples/on_torch.py torch

tune: $(DEV) ## Measure the algorithms of convolution, on one core, and write the table that chooses among them (ARGS=--direct: only for machine code)
	@env -u OPENBLAS_CORETYPE OPENBLAS_NUM_THREADS=1 $(PY) -m twofold_numpy.tune $(ARGS)

bench: $(DEV) ## Measure against NumPy in one process and print ratios (ARGS=--smoke for a quick run)
	@$(PY) asv_benchmarks/ratios.py $(ARGS)

$(PEERS): asv_benchmarks/peers/environment.py
	@$(PYTHON) asv_benchmarks/peers/environment.py $(@D)
	@touch $@

bench-busy: $(DEV) ## Measure the speed that is kept beside busy processes (ARGS=--smoke for a quick run)
	@$(PY) asv_benchmarks/busy.py $(ARGS)

bench-cliffs: $(DEV) ## Measure operations and patterns at every size beside NumPy (ARGS="--smoke", "--only 'sorting;A.T' --sizes 1e5,1e6")
	@$(PY) -m asv_benchmarks.cliffs $(ARGS)

bench-cluster: $(DEV) ## Time sums over two workers and a server beside bare MPI and MXNet's ps-lite (ARGS="--tcp")
	@$(PY) asv_benchmarks/cluster.py $(ARGS)

$(VISION): asv_benchmarks/peers/environment.py
	@$(PYTHON) asv_benchmarks/peers/environment.py $(@D) torchvision
	@touch $@

$(ARCHITECTURES): asv_benchmarks/peers/environment.py
	@$(PYTHON) asv_benchmarks/peers/environment.py $(@D) torch transformers diffusers
	@touch $@

bench-data: $(DEV) $(VISION) ## Measure what feeds training against decoding alone, MXNet and torch (ARGS="--only images --rounds 5")
	@$(PY) -m asv_benchmarks.feeding $(ARGS)

bench-gpu: $(GPU)/ready ## Measure a real GPU against CuPy, and torch and JAX where installed (ARGS="--only chains,rows --json figures.json")
	@$(GPU_PY) -m asv_benchmarks.gpu $(ARGS)

bench-peers: $(DEV) $(PEERS) ## Measure against NumPy, torch, JAX, numexpr, numba and MXNet (ARGS="--quick --only chains")
	@$(PY) -m asv_benchmarks.peers $(ARGS)

bench-model-zoo: $(DEV) ## Time the model zoo's networks by Twofold, MXNet and ONNX Runtime (ARGS="--only alexnet --batches 1", "--write")
	@$(PY) -m asv_benchmarks.model_zoo $(ARGS)

bench-mxnet: $(DEV) ## Time sparse data, boxes, 8-bit layers and LSTMs by Twofold, MXNet and SciPy (ARGS="--only 'csr;LSTM'", "--write")
	@$(PY) -m asv_benchmarks.beside_mxnet $(ARGS)

bench-scripts: $(DEV) ## Run NumPy scripts by NumPy and by Twofold (ARGS="--smoke", "--only chains --rounds 3")
	@$(PY) -m asv_benchmarks.scripts $(ARGS)

bench-library-calls: $(DEV) ## Time calls of libraries with folding arrays and with NumPy's (ARGS="--only pandas", "--write")
	@$(PY) -m asv_benchmarks.library_calls $(ARGS)

bench-loops: $(DEV) ## Time loops over elements, rows and parts by twofold.np against NumPy (ARGS="--only lu")
	@$(PY) asv_benchmarks/loops.py $(ARGS)

bench-small: $(DEV) ## Time single operations on small arrays against NumPy (ARGS=--smoke for a quick run)
	@$(PY) asv_benchmarks/small.py $(ARGS)

$(TRAINED): $(PEERS) pyproject.toml
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[jit]'
	@touch $@

bench-training: $(TRAINED) ## Time the training of networks beside torch, MXNet and JAX (ARGS="--only resnet,lstm --rounds 3", "--write")
	@PYTHONPATH=src:backends:. $(<D)/bin/python asv_benchmarks/training.py $(ARGS)

asv: $(DEV) ## Run the benchmarks of this revision
	@cd asv_benchmarks && ../$(PY) -m asv run $(ARGS)

asv-compare: $(DEV) ## Run the benchmarks of REV and of HEAD and compare (REV=v0.1.0)
	@cd asv_benchmarks && ../$(PY) -m asv continuous $(REV) HEAD $(ARGS)

asv-pages: $(DEV) ## Write pages from the figures kept in asv_benchmarks/results (ARGS="--out FOLDER")
	@$(PY) -m asv_benchmarks.pages $(ARGS)

release: $(RELEASE) ## Build and check what is released, in dist, by every Python that is found (ARGS="--pythons python3.12,python3.13")
	@$(<D)/bin/python tools/release.py $(ARGS)

clean: ## Remove what was built and cached; .venv stays
	@rm -rf build dist docs/_build docs/api .hypothesis .import_linter_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
