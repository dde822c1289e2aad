# Everything happens inside this clone: a virtual environment in .venv and pip's own cache.
PYTHON ?= python3
PY := .venv/bin/python
export PIP_DISABLE_PIP_VERSION_CHECK := 1
PIP := $(PY) -m pip install --quiet --constraint constraints.txt

.PHONY: demo test test-slow lint format docs clean

demo: .venv/ready-local
	$(PY) -m hatscore demo

test: .venv/ready-test lint
	$(PY) -m pytest -m "not slow"

test-slow: .venv/ready-test
	$(PY) -m pytest -m slow

lint: .venv/ready-test
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

format: .venv/ready-test
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

# the variable silences the theme's banner about its next major version
docs: .venv/ready-test
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "hatscore needs Python 3.11 or newer; set PYTHON=python3.12, for example" >&2; exit 1; }
	$(PYTHON) -m venv .venv || \
	  { echo "python -m venv failed; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }

.venv/ready-local: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --editable '.[local]'
	@touch $@

.venv/ready-test: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --editable '.[test]'
	@touch $@ .venv/ready-local

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis site
