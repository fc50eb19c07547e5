# Everything runs inside .venv; the only things needed beforehand are Python >= 3.11 and make.
# For another Python beside it: make test PYTHON=python3.13 VENV=.venv313
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
DEMO   := $(VENV)/.demo
# What an environment is made from. The install compiles the catalogues.
SOURCES := pyproject.toml hatch_build.py $(wildcard bot/i18n/locale/*.po)
# Two cores are the smallest machine this is meant for; a third worker works while others wait for
# processes and servers.
JOBS   ?= 3
# Which examples the slow suite tries: random, or fixed ones.
PROPERTIES ?= random
# Where this says not to keep bytecode, as in many containers, each worker and each process that a
# test starts would compile everything anew.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo test installed test-slow coverage check format docs hashes audit words pictures bench setup clean

setup: $(READY)

# What is missing, before anything is installed. Neither git nor a compiler is needed here.
LACKS = $(shell $(PYTHON) .ci/lacks $(PYTHON) 2>/dev/null \
  || echo "$(PYTHON) cannot be run; name a Python, as in: make demo PYTHON=python3.12")

# Each file that is installed has one of the hashes in requirements. These list everything, so pip
# resolves nothing: that of Python 3.11 refuses coverage[toml], though coverage is pinned, once a newer
# one is out. $(call install,FILES) names the packages as pip comes to them, then installs presagio.
define install
	$(if $(LACKS),$(error $(LACKS)))
	$(PYTHON) -m venv $(VENV)
	@{ $(BIN)/python -m pip install --disable-pip-version-check --progress-bar off \
	    --no-deps --require-hashes $(1:%=--requirement requirements/%.txt) || echo "pip failed"; } | awk ' \
	  function show(text) { printf "\r\033[K%s", text; fflush() } \
	  /^pip failed/ { failed = 1 } \
	  /^Collecting / { sub(/=.*/, "", $$2); show("  " ++count ". " $$2) } \
	  /^Installing collected/ { show("  Unpacking " count " packages") } \
	  END { show(""); exit failed }'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps \
	  --no-build-isolation --editable .
endef

$(DEMO): $(SOURCES) requirements/build.txt requirements/demo.txt
	@echo "Installing what the demo needs into $(VENV): a minute, once."
	$(call install,build demo)
	touch $@

$(READY): $(SOURCES) $(wildcard requirements/*.txt)
	@echo "Installing what presagio's tests need into $(VENV): a minute or two, once."
	$(call install,development)
	touch $(DEMO) $@

# Where the tests have been run, everything is there.
demo: $(if $(wildcard $(READY)),$(READY),$(DEMO))
	$(BIN)/presagio demo
	@echo 'To have the command at hand: export PATH="$$PWD/$(BIN):$$PATH"'

test: $(READY)
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not slow"

# The wheel as people install it, on every Python at hand; needs nothing of $(VENV).
installed:
	$(PYTHON) .ci/installed

# What takes long by nature: crowds, chaos, whole archives; and the properties on other examples each
# time, and more of them, where a failure says how to repeat it.
# CI says PROPERTIES=project: nobody's change fails there by luck.
test-slow: $(READY)
	PRESAGIO_TEST_PROPERTIES=$(PROPERTIES) $(BIN)/python -m pytest -n $(JOBS) --dist worksteal \
	  -m "$(if $(filter random,$(PROPERTIES)),slow or hypothesis,slow)"

# All tests on the same examples, watched line by line, which costs half as much again.
coverage: $(READY)
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal --cov --cov-report=term:skip-covered

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)
	$(BIN)/python -m bench.retrieval
	$(BIN)/python -m bench.chat

# Those of the README; needs Chromium.
pictures: $(READY)
	$(BIN)/python -m bench.pictures

# config.example.toml, and the tables of the docs that are taken from the code.
docs: $(READY)
	$(BIN)/python -m bench.docs

# After a change of constraints.txt or pyproject.toml: the hashes of what is installed.
hashes:
	$(PYTHON) .ci/hashes

# Known vulnerabilities of what is installed; says what it cannot check, as offline.
audit:
	$(PYTHON) .ci/audit

# After a change of what is said to people: then translate what is new in bot/i18n/locale/es.po.
# Its header names two plural forms, as the code does: Babel has three for Spanish from 2.19 on.
words: $(READY)
	$(BIN)/pybabel --quiet extract --mapping-file=pyproject.toml --no-default-keywords \
	  --keyword=say --keyword=count:1,2 \
	  --keyword=marked --keyword=marked_plural:1,2 --keyword=Message --no-location --sort-output --width=100 \
	  --omit-header --output-file=bot/i18n/locale/presagio.pot bot engine db
	$(BIN)/pybabel --quiet update --no-fuzzy-matching --ignore-obsolete --omit-header --width=100 \
	  --locale=es --input-file=bot/i18n/locale/presagio.pot --output-file=bot/i18n/locale/es.po
	@printf '%s\n' 'msgid ""' 'msgstr "Plural-Forms: nplurals=2; plural=(n != 1);\n"' '' \
	  | cat - bot/i18n/locale/es.po > bot/i18n/locale/es.po.new
	@mv bot/i18n/locale/es.po.new bot/i18n/locale/es.po

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
