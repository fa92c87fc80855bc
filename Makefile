# Every target works from a fresh clone: it makes .venv and installs what it needs first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DATA ?= ../shared/data

.PHONY: install demo test test-slow test-data lint bench paper docs dist clean

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --upgrade pip
	$(BIN)/pip install -q -e '.[dev]'
	touch $@

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/pip install -q -e '.[docs]'
	touch $@

demo: install
	$(BIN)/segvote demo -o demo-out

test: install
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

test-slow: install
	$(BIN)/python -m pytest -q -m slow

test-data: install
	SEGVOTE_DATA=$(abspath $(DATA)) $(BIN)/python -m pytest -q -m real_data

lint: install
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy

bench: install
	@for file in benchmarks/bench_*.py; do echo "== $$file"; $(BIN)/python $$file --quick || exit 1; done

# The comparison of docs/paper.md, on the sets below DATA; stopped, it goes on where it was.
paper: install
	$(BIN)/python benchmarks/paper.py $(DATA)

docs: $(VENV)/.docs
	$(BIN)/sphinx-build -W -q -b html docs docs/_build/html
	@echo docs/_build/html/index.html

dist: install
	$(BIN)/pip install -q build
	$(BIN)/python -m build

clean:
	rm -rf $(VENV) demo-out docs/_build docs/auto_gallery dist
