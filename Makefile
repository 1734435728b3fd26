# make run    set up .venv and answer the batch_norm question (5,000 trials on every backend)
# make test   set up .venv and pass the tests
# make test-long  the tests that make test leaves out: further cases of what it covers
# make lint   ruff and mypy --strict
# make accuracy  docs/accuracy/16-bit.md anew: every float16 and bfloat16 number (some ten minutes)
# make accuracy32  docs/accuracy/float32.md anew: exp, tanh, erf at every float32 number (some 40 minutes on two free cores)
# make bench  speed against a naive loop

PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
READY := .venv/.ready
TABLE ?= ulpfuzz-runs/accuracy

.PHONY: run test test-long lint accuracy accuracy32 bench clean

run: $(READY)
	$(BIN)/ulpfuzz run examples/batch_norm_outliers.toml

test: $(READY)
	$(BIN)/python -m pytest -n 2

test-long: $(READY)
	$(BIN)/python -m pytest -n 2 -m long

lint: $(READY)
	$(INSTALL) ruff mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

accuracy: $(READY)
	$(BIN)/ulpfuzz run all --plan exhaustive --dtype float16 --dtype bfloat16 --workers 2 --fail-on none --out $(TABLE)
	$(BIN)/ulpfuzz table $(TABLE) --title 'Accuracy at every float16 and bfloat16 number (`make accuracy`)' \
	  --markdown docs/accuracy/16-bit.md --csv docs/accuracy/16-bit.csv

accuracy32: $(READY)
	$(BIN)/ulpfuzz run exp tanh erf --plan exhaustive --dtype float32 --workers 2 --fail-on none --out $(TABLE)32
	$(BIN)/ulpfuzz table $(TABLE)32 --title 'Accuracy at every float32 number (`make accuracy32`)' \
	  --markdown docs/accuracy/float32.md --csv docs/accuracy/float32.csv

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
