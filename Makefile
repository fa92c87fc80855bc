# Every target works from a fresh clone: it makes .venv and installs what it needs first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DATA ?= ../shared/data
# CONSTRAINTS=constraints.txt installs the versions that the tests passed with; without it the newest.
CONSTRAINTS ?=
PIP_CONSTRAINTS := $(if $(CONSTRAINTS),-c $(abspath $(CONSTRAINTS)))

.PHONY: install constraints demo test test-slow test-judges test-trainers test-torch test-s3 test-data test-oldest test-pythons trust lint bench suite paper licences audit docs docs-pictures dist clean

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --upgrade pip
	$(BIN)/pip install -q $(PIP_CONSTRAINTS) -e '.[dev]'
	$(BIN)/pip check
	touch $@

# After `make test` has passed: the versions it passed with.
constraints: install
	head -n 2 constraints.txt > $(VENV)/constraints.txt
	$(BIN)/pip freeze --exclude-editable >> $(VENV)/constraints.txt
	mv $(VENV)/constraints.txt constraints.txt

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/pip install -q -e '.[docs]'
	touch $@

demo: install
	$(BIN)/segvote demo -o demo-out

test: install
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

test-slow: install
	$(BIN)/python -m pytest -q -m slow

# The tests of object stores against a server on this machine that speaks the protocol of S3 (moto).
$(VENV)/.s3: $(VENV)/.installed
	$(BIN)/pip install -q -e '.[s3-test]'
	touch $@

test-s3: $(VENV)/.s3
	SEGVOTE_NEED_S3=1 $(BIN)/python -m pytest -q tests/steps/test_annotate_stores.py -k s3

# Exports opened by the tools they are for, in an environment of their own.
JUDGES := .venv-judges
test-judges:
	test -x $(JUDGES)/bin/python || $(PYTHON) -m venv $(JUDGES)
	$(JUDGES)/bin/pip install -q -e '.[judges]'
	$(JUDGES)/bin/python -m pytest -q --noconftest -m slow tests/io/test_export_judges.py

# An epoch of Ultralytics (AGPL, so no extra of ours) and FiftyOne's importers on exports; torch from PyPI is 3 GB.
TRAINERS := .venv-trainers
test-trainers:
	test -x $(TRAINERS)/bin/python || $(PYTHON) -m venv $(TRAINERS)
	$(TRAINERS)/bin/pip install -q -e . fiftyone hypothesis pycocotools pytest pytest-timeout ultralytics
	$(TRAINERS)/bin/python -m pytest -q --noconftest -m slow tests/io/test_export_trainers.py tests/io/test_export_judges.py -k 'ultralytics or fiftyone'

# Backbones by transformers and torch, tiny ones with random weights, in an environment of their own.
TORCH := .venv-torch
test-torch:
	test -x $(TORCH)/bin/python || $(PYTHON) -m venv $(TORCH)
	$(TORCH)/bin/pip install -q -e '.[torch-test]'
	SEGVOTE_NEED_TORCH=1 $(TORCH)/bin/python -m pytest -q tests/features/test_hugging_face.py

test-data: install
	SEGVOTE_DATA=$(abspath $(DATA)) $(BIN)/python -m pytest -q -m real_data

# The lowest version of every package that pyproject.toml allows, in an environment of their own.
OLDEST := .venv-oldest
TEST_TOOLS := httpx hypothesis pytest pytest-timeout PyYAML
OLDEST_TESTS := tests/kernels tests/method tests/masks tests/features/test_backbone.py tests/features/test_lite0.py \
	tests/io/test_files.py tests/io/test_images.py tests/io/test_masks.py tests/io/test_videos.py \
	tests/review/test_review_guard.py tests/run/test_opened_run.py tests/cli/test_command_line.py tests/steps/test_annotate.py
test-oldest: install
	test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	$(BIN)/python tests/trust/supply.py oldest > $(OLDEST)/oldest.txt
	$(OLDEST)/bin/pip install -q -r $(OLDEST)/oldest.txt
	$(OLDEST)/bin/pip install -q --no-deps -e .
	$(OLDEST)/bin/python -m pytest -q -W default -p no:cacheprovider $(OLDEST_TESTS)

# A few quick tests with each other Python that is installed here; none is no error.
PYTHONS := 3.12 3.13
PYTHONS_TESTS := tests/io/test_files.py tests/io/test_images.py tests/io/test_names.py tests/run/test_correction_log.py \
	tests/kernels tests/cli/test_command_line.py tests/review/test_review_guard.py tests/steps/test_workers.py
test-pythons:
	@for version in $(PYTHONS); do \
	  python=$$(ls -d $$HOME/.pyenv/versions/$$version.*/bin/python 2>/dev/null | tail -n 1); \
	  python=$${python:-$$(command -v python$$version || true)}; \
	  if [ -z "$$python" ]; then echo "Python $$version: not installed, not tried"; continue; fi; \
	  echo "== Python $$version ($$python)"; \
	  test -x $(VENV)-$$version/bin/python || $$python -m venv $(VENV)-$$version || exit 1; \
	  $(VENV)-$$version/bin/pip install -q $(PIP_CONSTRAINTS) -e '.[all]' $(TEST_TOOLS) || exit 1; \
	  $(VENV)-$$version/bin/pip check || exit 1; \
	  $(VENV)-$$version/bin/python -m pytest -q -p no:cacheprovider $(PYTHONS_TESTS) || exit 1; \
	done

# All robustness tests of docs/reliability.md, the slow ones too.
trust: install
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m 'not real_data' tests/trust

lint: install
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy

# Those that can be quick; the others need a data set or a while.
bench: install
	@for name in voters scale runs; do echo "== $$name"; $(BIN)/python benchmarks/bench_$$name.py --quick || exit 1; done

# The whole pipeline on every set below DATA, one table; stopped, it goes on where it was.
suite: install
	$(BIN)/python benchmarks/suite.py $(DATA)

# The comparison of docs/paper.md, on the sets below DATA; stopped, it goes on where it was.
paper: install
	$(BIN)/python benchmarks/paper.py $(DATA)

docs: $(VENV)/.docs
	$(BIN)/sphinx-build -W -q -b html docs docs/_build/html
	@echo docs/_build/html/index.html

# Screenshots of the report and the review page, by headless Chromium, for the pages that show them.
docs-pictures: install
	$(BIN)/python docs/make_pictures.py

licences: install
	$(BIN)/python tests/trust/supply.py licences docs/licences.md

# Known vulnerabilities of the installed packages, from the database of PyPI; fails where one could not be looked up.
audit: install
	$(BIN)/pip install -q pip-audit
	$(BIN)/pip freeze --exclude-editable > $(VENV)/audited.txt
	$(BIN)/python -m pip_audit --strict --no-deps --disable-pip -r $(VENV)/audited.txt

# Wheel and source archive, checked as PyPI does, and the wheel tried in an environment with nothing else in it.
dist: install
	$(BIN)/pip install -q build twine
	rm -rf dist $(VENV)-wheel
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	$(PYTHON) -m venv $(VENV)-wheel
	$(VENV)-wheel/bin/pip install -q dist/*.whl
	cd dist && ../$(VENV)-wheel/bin/segvote demo -o demo
	rm -rf $(VENV)-wheel dist/demo

clean:
	rm -rf $(VENV) $(VENV)-wheel $(addprefix $(VENV)-,$(PYTHONS)) $(OLDEST) $(JUDGES) $(TORCH) demo-out docs/_build docs/auto_examples docs/auto_gallery dist
