# Every command shares one environment, .venv, made on first use. PYTHON picks the interpreter it is made from.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
PERTURB := .venvs/perturb
PY := $(VENV)/bin/python
# How many mutated files `make fuzz` shares out among the readers.
INPUTS ?= 100000
# Bytecode of packages comes with the first import: compiling all of it doubles the time of an install. Ours is compiled
# once, before two processes of tests do it each.
PIP := $(PY) -m pip install -q --disable-pip-version-check --no-compile -c constraints.txt

# A start of the command line compiles two seconds of modules where nothing may be kept, and tests start hundreds.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all fuzz cards check check-types check-rest bench docs clean
.DEFAULT_GOAL := help

help:
	@echo "make demo      audit masks of real photographs; writes auscult-demo/report.html"
	@echo "make test      the tests of the core, under 5 minutes with the install"
	@echo "make test-all  every extra alone, comparisons with other packages, slow tests"
	@echo "make fuzz      property tests with new examples, and mutated files for the readers: make fuzz INPUTS=100000"
	@echo "make cards     the judges measured again on all real material in AUSCULT_DATA; writes the default one's card"
	@echo "make check     formatting, types, imports between rooms, size budgets"
	@echo "make bench     speed beside other packages, in one run, as ratios"
	@echo "make docs      the documentation, in site/"

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "auscult needs Python 3.11 or newer, $(PYTHON) is older; try: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e '.[dev]'
	$(PY) -m compileall -q -j 0 src
	@touch $@

$(VENV)/.demo: $(VENV)/.core Makefile
	$(PIP) -e '.[dev,demo]'
	@touch $@

# The demo's packages are among these.
$(VENV)/.peers: $(VENV)/.core Makefile
	$(PIP) -e '.[dev,demo,train,video,sound,clip,chat,agent]' fastapi uvicorn tqdm datasets==5.2.0 requests soxr mir-eval pystoi \
	  fast-bss-eval pyloudnorm
	$(PIP) --no-deps vos-benchmark aac-metrics==0.6.0 pythonwrench==0.6.8 sentence-transformers==6.2.0 \
	  torchmetrics==1.9.0 lightning-utilities==0.15.3 nltk==3.10.4 \
	  label-studio-sdk==2.1.2 ijson==3.6.0 ujson==6.1.0 lxml==6.1.3 pyjwt==2.15.1 appdirs==1.4.4
	@touch $(VENV)/.demo $@

# Packages that need another OpenCV than ours: compared with from outside, see bench/peers.py.
$(PERTURB)/.done: Makefile
	$(PYTHON) -m venv $(PERTURB)
	$(PERTURB)/bin/python -m pip install -q --disable-pip-version-check --no-compile imagecorruptions==1.1.2 \
	  scikit-image==0.26.0 opencv-python==5.0.0.93 numpy==2.4.6 'audiomentations[extras]==0.43.1'
	@touch $@

demo: $(VENV)/.demo
	$(VENV)/bin/auscult demo --overwrite

# Tests run on every core already: threads of numerical libraries beside them only wait for one another.
test test-all: export OMP_NUM_THREADS = 1
test test-all: export OPENBLAS_NUM_THREADS = 1

test: $(VENV)/.core
	$(PY) -m pytest -n auto --dist worksteal -m "not slow and not peer and not extra_demo and not extra_train and not extra_docs and not extra_video and not extra_sound and not extra_clip and not extra_chat and not extra_inspect and not extra_agent"

test-all:
	@$(MAKE) --no-print-directory -j 2 $(VENV)/.peers $(PERTURB)/.done
	$(PY) tools/test_extras.py
	$(PY) -m pytest -n auto --dist worksteal -m "slow or peer"

fuzz: $(VENV)/.core
	$(PY) -m pytest -n auto --dist worksteal --hypothesis-profile search -m "hypothesis and not extra_demo and not extra_train and not extra_docs and not extra_video and not extra_sound and not extra_clip and not extra_chat and not extra_inspect and not extra_agent"
	$(PY) tests/fuzz_readers.py --inputs $(INPUTS) --seed $$(date +%s) --keep build/fuzz

# What git shows as changed afterwards is what a card says that is no longer so.
cards: $(VENV)/.demo
	@test -n "$(AUSCULT_DATA)" || { echo "AUSCULT_DATA is not set; give the folder of real material"; exit 2; }
	$(PIP) -e '.[dev,demo,train]'
	rm -rf build/cards && mkdir -p build/cards
	$(PY) tools/classical_families.py --data "$(AUSCULT_DATA)" --out build/cards/families.json.gz --part test --part unseen
	$(PY) tools/prompted_results.py --data "$(AUSCULT_DATA)" --families build/cards/families.json.gz --out build/cards --ship
	AUSCULT_CARDS=whole $(PY) -m pytest -n auto tests/train/test_card_is_true.py
	for judge in sound.cues.v1 sound.compact.v1; do \
		$(VENV)/bin/auscult train sound-card --model $$judge --data "$(AUSCULT_DATA)" --out build/cards/$$judge && \
		cp build/cards/$$judge/*.json src/auscult/judge/cards/ && cp build/cards/$$judge/*.md docs/cards/ || exit 1; done

check: $(VENV)/.core
	@$(MAKE) --no-print-directory -j 2 check-types check-rest

# Two at a time: mypy keeps one processor busy, and all the others together the second.
check-types:
	$(VENV)/bin/mypy

check-rest:
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/lint-imports
	$(PY) tools/check_budgets.py

bench: $(VENV)/.peers $(PERTURB)/.done
	$(PY) -m bench

docs: $(VENV)/.core
	$(PIP) -e '.[dev,docs]'
	$(PY) tools/stress_pages.py --text
	$(PY) tools/build_docs.py

clean:
	rm -rf $(VENV) .venvs site auscult-demo
