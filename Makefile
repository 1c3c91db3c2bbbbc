# drag-graph. `make demo` and `make test` work on a fresh machine with Python 3.11 or newer; `make help` lists the rest.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Processes that share the tests. Modules go to them in order of their names, so that the many short ones of `unit` come last.
WORKERS ?= 4
# Trust what the machine trusts: behind a company's proxy the bundled certificates are not enough.
export UV_SYSTEM_CERTS ?= true
# Hundreds of short processes load the same libraries: unless Python may keep what it compiled, each compiles them anew.
unexport PYTHONDONTWRITEBYTECODE
SHARED := $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadgroup --no-loadscope-reorder --ignore tests/browser
UV     := $(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test test-all unit torture check docs pictures models llm browser pins clean

help:  ## List the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

$(BIN)/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "drag-graph needs Python 3.11 or newer; set PYTHON=..." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt uv

$(VENV)/.base: pyproject.toml constraints.txt | $(BIN)/uv
	$(UV) -e .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/uv
	$(UV) -e '.[cluster,documents,gguf,integrations,local,privacy,service]' --group dev
	@touch $@ $(VENV)/.base

$(VENV)/.docs: pyproject.toml constraints.txt $(VENV)/.dev
	$(UV) --group docs
	@touch $@

demo: $(VENV)/.base  ## Distill the examples into an embedded store, ask, and print one full audit
	@BIN=$(BIN) bash examples/demo.sh

test: $(VENV)/.dev  ## What every change must pass, on the embedded store and a real Neo4j LTS (Java, Maven; no Docker)
	$(SHARED) -m 'not (browser or torture or neo4j_2026 or long or llm)'

test-all: $(VENV)/.dev  ## All tests: Neo4j 2026 (Java 21), `torture`, `browser` and the long storms, too
	$(SHARED) -m 'not (browser or torture or llm)'
	$(BIN)/python -m pytest -q -m 'browser or torture'

unit: $(VENV)/.dev  ## The tests that need no server
	$(BIN)/python -m pytest -q tests/unit

torture: $(VENV)/.dev  ## Hundreds of kills of us and of Neo4j, and long storms on the budget (docs/explanation/reliability.md)
	$(BIN)/python -m pytest -q -m torture

check: $(VENV)/.dev  ## Lint and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.docs  ## Write the generated reference and build the guide in build/site
	$(BIN)/python docs/generate.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

pictures: $(VENV)/.dev  ## Take the pictures of the guide in a real Chromium
	$(BIN)/python docs/pictures.py

models: $(VENV)/.dev  ## Fetch the real language models for `llm` and evaluations (1.4 GB, once)
	$(BIN)/python bench/fetch_models.py

llm: models  ## The tests with real language models
	$(UV) -e '.[evaluation]'
	$(BIN)/python -m pytest -q -m llm

browser: $(VENV)/.dev  ## The web page and Neo4j Browser in a real Chromium (apt install chromium)
	$(BIN)/python -m pytest -q -m browser

pins: | $(BIN)/uv  ## Pin what is new in constraints.txt; `make pins UPGRADE=--upgrade` raises all pins
	$(BIN)/uv pip compile --quiet --universal --all-extras --group dev --group docs --no-annotate --no-header $(UPGRADE) pyproject.toml -o constraints.txt

clean:  ## Remove what was built
	rm -rf $(VENV) build dist demo demo-edges .pytest_cache .mypy_cache .ruff_cache .hypothesis
