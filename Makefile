# make run    set up .venv and answer the batch_norm question (5,000 trials on every backend)
# make test   set up .venv and pass the tests
# make lint   ruff and mypy --strict
# make bench  speed against a naive loop

PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
READY := .venv/.ready

.PHONY: run test lint bench clean

run: $(READY)
	$(BIN)/ulpfuzz run examples/batch_norm_outliers.toml

test: $(READY)
	$(BIN)/python -m pytest -n 2

lint: $(READY)
	$(INSTALL) ruff mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python benchmarks/speed.py

# A backend that cannot be installed here is left out; ulpfuzz says so and runs the others.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(INSTALL) -e '.[all,test]' || { $(INSTALL) -e '.[test]' && \
	  for extra in torch jax tvm certify; do $(INSTALL) -e ".[$$extra]" || echo "left out: $$extra"; done; }
	touch $(READY)

clean:
	rm -rf .venv build dist *.egg-info
