# Two commands for a stranger: `make reproduce` and `make test`. Both set up .venv first.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
  $$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null \
  && echo $$p && break; done)
SCALE ?= quick
PAGES ?=
WORKERS ?= $(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
# `make test PYTHON=python3.13` and `make test CONSTRAINTS=lowest` set up and use environments of their own.
VENV := .venv$(if $(filter command line,$(origin PYTHON)),-$(notdir $(PYTHON)))$(if $(CONSTRAINTS),-$(CONSTRAINTS))
PINNED := constraints$(if $(CONSTRAINTS),-$(CONSTRAINTS)).txt
EXTRAS := $(if $(CONSTRAINTS),test,dev)
DOCS := docs

.PHONY: setup reproduce redraw test test-long lint without bench bench-check mutants page-checks pages docs documented clean

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml $(PINNED)
	@test -n "$(PYTHON)" || { echo "schedlab needs Python 3.11, 3.12 or 3.13 on the PATH (or PYTHON=...)"; exit 2; }
	@echo "setting up $(VENV), one to five minutes"
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c $(PINNED) -e '.[$(EXTRAS),dask]'
	@touch $@

reproduce: setup  ## the five papers; PAGES=all: our studies, too; SCALE=quick (default) or SCALE=paper
	$(VENV)/bin/schedlab reproduce $(PAGES) --scale $(SCALE) --workers $(WORKERS)

redraw: setup  ## committed pages again, from the runs that they keep: PAGES=rental
	rm -rf build/paper && mkdir -p build && cp -r results/paper build/paper
	$(VENV)/bin/schedlab reproduce $(PAGES) --scale paper --from build/paper --out results/paper
	rm results/paper/report.html
	grep -v 'href="report.html"' results/paper/index.html >build/lines
	printf %s "$$(cat build/lines)" >build/index.html && mv build/index.html results/paper

test: setup  ## the tests but those of more than a second or two
	$(VENV)/bin/python -m pytest -n $(WORKERS) --dist worksteal -m 'not slow and not documented and not long'

test-long: setup  ## the tests of more than a second or two
	$(VENV)/bin/python -m pytest -n $(WORKERS) --dist worksteal -m 'long and not slow and not documented'

lint: setup  ## style, types and import directions
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

without: setup  ## lint and tests on a copy without one family: FAMILY=synergy (docs/architecture.md lists them)
	$(VENV)/bin/python -m benchmarks.without $(FAMILY) -n $(WORKERS) --dist worksteal

bench: setup  ## CPU seconds of the parts where speed counts
	$(VENV)/bin/python -m benchmarks

page-checks:  ## axe-core, with which the tests look for accessibility faults of pages; needs npm
	cd tests/web && npm ci --silent --no-audit --no-fund

mutants: setup  ## small mistakes put into one package of the core: which does no test see? PACKAGE=statistics
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[mutants]'
	$(VENV)/bin/python -m benchmarks.mutants $(PACKAGE)

bench-check: setup  ## ratios of CPU times that must not grow
	$(VENV)/bin/python -m benchmarks --check

pages: setup  ## the pages of docs/ that are made from the code
	$(VENV)/bin/python -m experiments.scenario.keys_page >docs/keys.md
	$(VENV)/bin/python -m policies.registry.page >docs/policies.md
	$(VENV)/bin/python -m experiments.scenario.files_page >docs/files.md

docs: setup  ## the documentation as a site: build/docs/index.html
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c $(PINNED) -e '.[$(DOCS)]'
	$(VENV)/bin/python docs/site/build.py build/docs

documented: DOCS := docs,notebook
documented: docs  ## the commands and code that the documentation shows, as it shows them, and the notebooks
	$(VENV)/bin/python -m pytest -n $(WORKERS) --dist worksteal -m 'not slow' tests/classroom/test_notebooks.py tests/test_docs.py

clean:
	rm -rf .venv .venv-* results/quick .pytest_cache .mypy_cache .ruff_cache
