# Everything a person or a machine does with this project: install, run, test, measure.
# Needs Python 3.11+ with venv; `make` targets install the rest into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Passed on to `odradek serve`, for example: make serve ARGS="my.properties --override num.partitions=3"
# or to `odradek cluster start`: make cluster ARGS="--brokers 5"
ARGS ?=
# Passed on to pytest by `make test`, for example: make test PYTEST_ARGS="tests/unit -x"
PYTEST_ARGS ?=
# Passed on to pytest by `make test-compiled`, in place of the tests that it runs by itself
COMPILED_ARGS ?=
# Passed on to the benchmarks, for example: make bench BENCH_ARGS="--quick"
BENCH_ARGS ?=

# What a broker runs from; odradek/ has links to the others, which are not followed.
SERVED_FOLDERS := broker config protocol storage odradek
SERVED_SOURCES := $(shell find $(SERVED_FOLDERS) -name '*.py')

.PHONY: serve cluster test types bytecode pytest compiled test-compiled wheel-compiled test-interop audit bench bench-peers bench-cluster bench-growth tools clean help

help:
	@echo "make serve         install and start a broker on 127.0.0.1:9092 (data in ./odradek-data)"
	@echo "make cluster       a controller and three brokers on this machine, from port 9092 on (data in ./odradek-cluster)"
	@echo "make test          install what tests need, then run ruff, mypy, import-linter and pytest"
	@echo "make test-interop  only the tests against Apache Kafka itself (Java 17+ and Maven)"
	@echo "make test-compiled only the tests that also run on the compiled build"
	@echo "make wheel-compiled a wheel for this machine whose hot path is compiled, in dist/ (needs a C compiler)"
	@echo "make audit         look for known vulnerabilities of what is installed (asks PyPI)"
	@echo "make bench         measure speed and memory beside their floors"
	@echo "make bench-peers   the same load against Apache Kafka and against odradek"
	@echo "make bench-cluster three brokers of each, with three replicas"
	@echo "make bench-growth  what it takes by connections, partitions, record size, consumers, groups and data"
	@echo "make clean         remove the virtual environment and caches, never data"

serve: $(VENV)/.compiled
	exec $(BIN)/odradek serve $(ARGS)

cluster: $(VENV)/.compiled
	exec $(BIN)/odradek cluster start $(ARGS)

test: $(VENV)/.installed-test tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	@$(MAKE) --no-print-directory -j 2 types bytecode $(if $(PYTEST_ARGS),,compiled)
	@$(if $(PYTEST_ARGS),,$(MAKE) --no-print-directory test-compiled)
	@$(MAKE) --no-print-directory pytest

# Before the tests: beside them it would take a core from those that start first, which have deadlines.
types:
	$(BIN)/mypy

# Beside the types, which take one core: three workers would each compile all tests. What is wrong with one is told later.
bytecode:
	@$(BIN)/pytest --collect-only -q -p no:randomly >/dev/null 2>&1 || true

# What test-compiled needs, once for each state of the sources: a minute of a core. `make test` has both only where it
# runs all tests.
compiled: $(VENV)/.installed-test
	@$(BIN)/python -m tests.support.compiled --only-compile

test-compiled: $(VENV)/.installed-test
	$(BIN)/python -m tests.support.compiled $(COMPILED_ARGS)

wheel-compiled: $(VENV)/.installed-test
	ODRADEK_COMPILE=1 $(BIN)/python -m build --no-isolation --wheel

# Three at once are for two cores: a third of what tests take is waiting for processes that start, answer or end.
pytest:
	$(BIN)/pytest -n 3 --dist loadgroup $(PYTEST_ARGS)

test-interop: $(VENV)/.installed-test tools
	$(BIN)/pytest -m interop tests/interop $(PYTEST_ARGS)

# Not among the tests: what PyPI knows of today is not what it knew of yesterday, and not every machine reaches it. Strict:
# a mirror that knows of no vulnerabilities at all is an error, where pip-audit by itself would say that there are none.
audit: $(VENV)/.installed-test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pip-audit>=2.9,<3'
	@mkdir -p build
	$(BIN)/python -m pip freeze --exclude-editable > build/installed.txt
	$(BIN)/pip-audit --strict --disable-pip --no-deps -r build/installed.txt

bench: $(VENV)/.installed-test
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

bench-cluster: $(VENV)/.installed-test
	$(BIN)/python -m benchmarks --peers --cluster $(BENCH_ARGS)

bench-growth: $(VENV)/.installed-test
	$(BIN)/python -m benchmarks.growth $(BENCH_ARGS)

bench-peers: $(VENV)/.installed-test
	$(BIN)/python -m benchmarks --peers $(BENCH_ARGS)

# What tests use beside Python packages: kcat, Redis, Kerberos and Chromium from the system's packages, Apache Kafka from Maven; and
# the lowest versions that the sources for Spark work with, and files with which the JVMs of both start quickly.
tools: $(VENV)/.installed-test
	@sh tests/support/install-kcat.sh
	@sh tests/support/install-redis.sh
	@sh tests/support/install-kerberos.sh $(BIN)/python
	@$(BIN)/python -m tests.support.chromium
	@$(BIN)/python -m tests.support.kafka_jars
	@$(BIN)/python -m tests.support.kafka_class_data >/dev/null
	@$(BIN)/python -m tests.support.lowest_spark >/dev/null
	@$(BIN)/python -m tests.support.class_data >/dev/null

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

# The bytecode of what a broker imports, once for each state of the sources and not at each start, since some
# environments forbid writing it at run time; pip writes that of the dependencies.
$(VENV)/.compiled: $(VENV)/.installed $(SERVED_SOURCES)
	@$(BIN)/python -m compileall -q $(SERVED_FOLDERS)
	@touch $@

$(VENV)/.installed-test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@ $(VENV)/.installed

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("odradek needs Python 3.11 or newer, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

clean:
	rm -rf $(VENV) .venv-spark-low build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
