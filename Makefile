# Each target first does whatever set-up is still missing (see setup/prepare.sh).

SHELL := /bin/sh
BIN := .venv/bin
.DEFAULT_GOAL := help
CHECKED := aggregates contract decorrelate distribute engine faults histories interface joins large loops model plans random
CHECKED += reduce results scalars slt sql trace_in trace_state transform windows
.NOTPARALLEL:
.PHONY: help demo test check docs lint slow fuzz churn soak bench lock kernels setup java clean

help:  ## this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

demo: java  ## TPC-H views kept up to date over a stream of changes, each proved equal to DuckDB
	@$(BIN)/ivm tpch run --sf 0.01 --stream refresh --batch 100 --views all --every 5

test: java  ## style, types and all tests that are not marked slow
	@$(BIN)/python -m tests.suite

check: java  ## the tests of what computes, with compiled code that looks after itself, about an hour; see IVM_CHECK
	@IVM_CHECK=1 MALLOC_PERTURB_=165 $(BIN)/python -m pytest -q -p no:cacheprovider $(or $(TESTS),$(CHECKED:%=tests/%))

docs: setup  ## the documentation, as pages in build/docs
	@$(BIN)/sphinx-build -q -W --keep-going -b html docs build/docs
	@echo "wrote build/docs/index.html"

lint: setup  ## style and types
	@$(BIN)/ruff check .
	@$(BIN)/mypy

slow: java  ## the tests that take minutes
	@$(BIN)/python -m tests.suite -m slow

fuzz: setup  ## random views, then random scripts, against DuckDB for SECONDS (600) each from SEED (1) on
	@$(BIN)/python -m tests.random --seconds $(or $(SECONDS),600) --seed $(or $(SEED),1)
	@$(BIN)/python -m tests.random.scripts --seconds $(or $(SECONDS),600) --seed $(or $(SEED),1)

churn: setup  ## memory under endlessly new texts, for MINUTES (60), against that of a fresh load
	@$(BIN)/python -m ivm.benchmarks.churn --minutes $(or $(MINUTES),60)

soak: setup  ## a database on disk under everything at once, for MINUTES (60): what grows, what a commit waits for
	@$(BIN)/python -m ivm.benchmarks.soak --minutes $(or $(MINUTES),60)
	@$(BIN)/python -m ivm.benchmarks.visitors --minutes $(or $(MINUTES),60)

bench: java  ## all that is measured, as a report in OUT (results/sf1), an hour and a half; SF=1 DATA=data PASSES=3
	@$(BIN)/python -m ivm.benchmarks.suite --sf $(or $(SF),1) --data $(or $(DATA),data) --passes $(or $(PASSES),3) \
		$(if $(OUT),--out $(OUT)) $(if $(SCALE),--scale $(SCALE)) $(if $(ONLY),--only $(ONLY)) $(if $(SIZE),--size $(SIZE))

lock: setup  ## pin the dependencies of pyproject.toml again (LOCK_ARGS=--upgrade for newer ones)
	@sh setup/lock.sh

setup:  ## .venv with the pinned packages
	@sh setup/prepare.sh

java:  ## the same, and Java for Spark
	@sh setup/prepare.sh --java

kernels: setup  ## list anew with which types the tests call kernels, which are compiled for them ahead
	@$(BIN)/python -m pytest -q --record-kernels
	@sh setup/prepare.sh

clean:  ## remove caches, compiled kernels and generated data; .venv stays
	@rm -rf data build ivm/kernels/machine *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis spark-warehouse
	@find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
