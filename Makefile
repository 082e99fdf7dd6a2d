# `make help` lists the targets. Needs: Python 3.11 or newer with venv, git, make. Everything else comes into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
JOBS ?= auto

# uv serves this environment alone and never fetches an interpreter.
export UV_PYTHON_DOWNLOADS := never
# Set, this would leave the command without compiled bytecode, and slow.
unexport PYTHONDONTWRITEBYTECODE
unexport VIRTUAL_ENV

# The environment holds one of two locks: run, or dev, which contains run. Once dev, it stays dev.
HELD = $(if $(wildcard $(VENV)/.synced-dev),dev,run)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install dev up lint check test bench soak openapi lock sbom dist clean browser nginx caddy rsync promtool logrotate tcl schemas pictures

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

install: ## Make the environment and the command .venv/bin/ibi
	@$(MAKE) -q $(VENV)/.synced-$(HELD) || $(MAKE) --no-print-directory $(VENV)/.synced-$(HELD)
	@$(BIN)/python -m compileall -q src

dev: $(VENV)/.synced-dev ## The same, with the tools of development

up: install ## Start every service on http://127.0.0.1:8765
	$(BIN)/ibi up

lint: dev ## Format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

check: lint ## lint and the unit tests, with what they cover: the fast part
	-@$(BIN)/python -m tools.limits --hints
	$(BIN)/pytest -q -n $(JOBS) --cov --cov-report= tests/unit tests/architecture tests/docs

test: lint browser nginx caddy promtool logrotate tcl schemas ## Everything: lint and every test
	$(BIN)/pytest -q -n $(JOBS)

openapi: dev ## Write the description of the API anew
	$(BIN)/python -m tools.openapi

pictures: dev browser ## Take the pictures of the pages under docs/pictures anew
	IBI_PICTURES="$(CURDIR)/docs/pictures" $(BIN)/pytest -q -n 0 tests/browser/test_pictures.py

bench: dev nginx rsync ## Measure; fails on a missed aim
	$(BIN)/python -m bench.run

soak: dev ## The long runs: properties a hundred times over, a thousand kills of a server, a million labels, 100,000 simulated networks, every lie, earlier versions on what this one wrote, a harvest of 100,000 records, a ZIP of 20 GB, a folder of 5,000 files sent by a browser
	$(BIN)/pytest -q -n $(JOBS) -m hypothesis --hypothesis-profile=soak
	SOAK_KILLS=1000 $(BIN)/pytest -q tests/faults/test_mint_server_kills.py
	SOAK_LABELS=1 $(BIN)/pytest -q tests/faults/test_mint_beside_server.py
	SIMULATOR_SEEDS=100000 SOAK_TRANSFER=100000 $(BIN)/pytest -q -n $(JOBS) tests/simulator
	SOAK_LIES=full $(BIN)/pytest -q tests/scenarios/test_lying_archive.py
	SOAK_TRANSFER_KILLS=1 $(BIN)/pytest -q -n $(JOBS) tests/faults/test_transfer_crash_points.py tests/faults/test_transfer_servers.py tests/faults/test_repair_servers.py
	SOAK_FEED=1000 $(BIN)/pytest -q -n $(JOBS) tests/faults/test_feed_replay.py
	SOAK_FOLLOW=50 $(BIN)/pytest -q tests/faults/test_follow_kills.py
	SOAK_COPIES=1 $(BIN)/pytest -q -n $(JOBS) tests/faults/test_copy_crash_points.py
	SOAK_UPGRADE=1 $(BIN)/pytest -q -n $(JOBS) tests/scenarios/test_upgrade.py
	SOAK_BACKUP=20 $(BIN)/pytest -q tests/faults/test_backup_kills.py
	SOAK_BACKUP_LOAD=200 $(BIN)/pytest -q -s tests/scenarios/test_backup.py -k under_load
	SOAK_ZIP=1 $(BIN)/pytest -q tests/scenarios/test_zip_download.py
	SOAK_HARVEST=1 $(BIN)/pytest -q tests/scenarios/test_harvest.py
	SOAK_FOLDER=5000 $(BIN)/pytest -q tests/browser/test_deposit.py -k folder
	SOAK_WORKER_KILLS=1000 $(BIN)/pytest -q tests/scenarios/test_workers.py -k killed_under_load

# What no package index has. Where it cannot be installed, its tests are skipped and say so, and its reference is left out.
INSTALL = [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends

browser: ## Install a Chromium for the tests of the pages, where that is possible
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
	  { $(INSTALL) chromium fonts-dejavu-core >/dev/null 2>&1; } || echo 'no Chromium here, and none to be had: tests/browser will be skipped'

caddy: ## Install Caddy, in which a sample is tried, where that is possible
	@command -v caddy >/dev/null || \
	  { $(INSTALL) caddy >/dev/null 2>&1; } || echo 'no Caddy here, and none to be had: its tests will be skipped'

nginx: ## Install nginx to compare with and to try a sample in, where that is possible
	@command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || \
	  { $(INSTALL) nginx-light >/dev/null 2>&1; } || echo 'no nginx here, and none to be had: nothing is compared with it'

rsync: ## Install rsync to compare with, where that is possible
	@command -v rsync >/dev/null || \
	  { $(INSTALL) rsync >/dev/null 2>&1; } || echo 'no rsync here, and none to be had: Copies are not compared with it'

promtool: ## Install promtool, which judges the metrics in a test, where that is possible
	@command -v promtool >/dev/null || \
	  { $(INSTALL) prometheus >/dev/null 2>&1; } || echo 'no promtool here, and none to be had: its test will be skipped'

logrotate: ## Install logrotate, in which a sample is tried, where that is possible
	@command -v logrotate >/dev/null || [ -x /usr/sbin/logrotate ] || \
	  { $(INSTALL) logrotate >/dev/null 2>&1; } || echo 'no logrotate here, and none to be had: its test will be skipped'

tcl: ## Install Tcl, whose lists are compared with ours in a test, where that is possible
	@command -v tclsh >/dev/null || \
	  { $(INSTALL) tcl >/dev/null 2>&1; } || echo 'no Tcl here, and none to be had: its test will be skipped'

# Two packages carry them; none is installed, and their hashes say which files these are.
SCHEMAS := $(VENV)/schemas
schemas: dev ## Fetch the schemas of OAI-PMH, by which its answers are judged in tests, where that is possible
	@[ -e $(SCHEMAS)/OAI-PMH.xsd ] || { \
	  $(BIN)/uvx --quiet pip download --quiet --no-deps --require-hashes --no-binary pyoai \
	    --dest $(SCHEMAS) --requirement requirements/schemas.txt >/dev/null 2>&1 && \
	  $(BIN)/python -m zipfile -e $(SCHEMAS)/eulxml-*.whl $(SCHEMAS)/eulxml && \
	  cp $(SCHEMAS)/eulxml/eulxml/schema_data/oai_dc.xsd $(SCHEMAS)/ && \
	  tar -xzf $(SCHEMAS)/pyoai-*.tar.gz -C $(SCHEMAS) --strip-components 4 --wildcards '*/OAI-PMH.xsd'; \
	} || echo 'no schemas of OAI-PMH here, and none to be had: answers are judged by the rules in the tests alone'

# Universal: one lock for all platforms, with names, versions, hashes and markers, and no address of a registry.
# `make lock UPGRADE=` keeps the versions that still fit.
UPGRADE ?= --upgrade
COMPILE = $(UV) pip compile --quiet --universal --python $(BIN)/python --python-version 3.11 --generate-hashes \
	--no-header --no-annotate --no-emit-index-url --no-emit-find-links $(WHEELS) $(UPGRADE) pyproject.toml

lock: $(VENV)/.uv ## Renew requirements/run.txt and requirements/dev.txt
	$(COMPILE) --group build -o requirements/run.txt
	$(COMPILE) --group build --group dev -c requirements/run.txt -o requirements/dev.txt

sbom: install ## Write dist/ibi.cdx.json: what an installation consists of, in CycloneDX
	$(BIN)/python tools/sbom.py requirements/run.txt dist/ibi.cdx.json

dist: sbom ## Build wheel and source distribution into dist/, twice and alike, and try them in an empty environment
	$(BIN)/python -m tools.dist dist

clean: ## Remove the environment and everything generated
	rm -rf $(VENV) .coverage* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +

# --- the environment -------------------------------------------------------------------------------------------------

OLD := $(PYTHON) is missing or older than 3.11: install Python 3.11 or newer, or name one: make PYTHON=python3.12 install
NO_VENV := $(PYTHON) has no venv module: install it (Debian, Ubuntu: apt-get install python3-venv)
IS_NEW := import sys; sys.exit(sys.version_info < (3, 11))

# Wheels alone: the source of a package runs its own code when it is built.
WHEELS := --only-binary :all:

# The interpreter's own venv and pip fetch uv, at the version and hash that the lock gives it. Then pip goes: what is not
# there has no holes, and uv does the rest. Where it is needed again, the environment is made anew.
$(VENV)/.uv:
	@$(BIN)/python -c '$(IS_NEW)' 2>/dev/null && $(BIN)/python -m pip --version >/dev/null 2>&1 || { \
	  $(PYTHON) -c '$(IS_NEW)' 2>/dev/null || { echo '$(OLD)' >&2; exit 1; }; \
	  $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo '$(NO_VENV)' >&2; exit 1; }; \
	  $(PYTHON) -m venv --clear $(VENV); }
	@awk '/^[^ ]/ {keep = /^uv==/} keep' requirements/run.txt > $(VENV)/uv.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps $(WHEELS) -r $(VENV)/uv.txt
	@touch $@

# The build backend comes from the lock too, hence no isolation for the package itself.
$(VENV)/.synced-%: requirements/%.txt pyproject.toml | $(VENV)/.uv
	$(UV) pip sync --quiet --python $(BIN)/python --require-hashes --compile-bytecode $(WHEELS) $<
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@$(UV) pip uninstall --quiet --python $(BIN)/python pip setuptools
	@$(BIN)/python -m compileall -q src
	@touch $@
