# Every target does all of its own set-up; a machine needs Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CODE := reference traces analysis replay tests benchmarks docs

FUZZ_SECONDS ?= 600

.PHONY: accuracy demo test check format pictures bench fuzz readme record-demo record-servers clean

define install
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "coldturn needs Python 3.11 or newer: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable "$(1)"
	touch $@
endef

$(VENV)/.stamp: pyproject.toml constraints.txt
	$(call install,.[dev])

# A first look needs no inference engine and no type checker.
$(VENV)/.plain: pyproject.toml constraints.txt
	$(call install,.[notebooks])

demo: $(VENV)/.plain
	$(BIN)/coldturn demo --out coldturn-demo

test: $(VENV)/.stamp
	$(BIN)/python -m pytest -n 2

check: $(VENV)/.stamp
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy $(CODE)
	$(BIN)/lint-imports

format: $(VENV)/.stamp
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

pictures: $(VENV)/.stamp
	$(BIN)/python -m docs.pictures

bench: $(VENV)/.stamp
	$(BIN)/python -m benchmarks

# Ten minutes by default; FUZZ_SECONDS=60 for a shorter look.
fuzz: $(VENV)/.stamp
	PYTHONPATH=tests $(BIN)/python -m fuzz.endless $(FUZZ_SECONDS)

readme: $(VENV)/.stamp
	$(BIN)/python docs/update_readme.py
	$(BIN)/python docs/update_pages.py
	$(BIN)/python docs/update_frames.py
	$(BIN)/python docs/update_explain.py
	$(BIN)/python docs/update_causes.py

# COLDTURN_CORPUS names a folder of published recordings, which are not part of the project.
accuracy: $(VENV)/.stamp
	$(BIN)/python -m benchmarks.accuracy

record-demo: $(VENV)/.stamp
	$(BIN)/python -m coldturn.replay.demo_recording.record

record-servers: $(VENV)/.stamp
	$(BIN)/python tests/recordings/record_servers.py

clean:
	rm -rf $(VENV) dist coldturn-demo
