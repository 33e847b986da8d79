# One door for every task. `make run` and `make test` do all their own set-up.
PYTHON ?= python3
BIN := .venv/bin
# libglib2.0-bin stands for GLib, which Qt loads: the library's own package has another name in each release.
PACKAGES := xvfb libgl1 libegl1 libxcursor1 libxkbcommon-x11-0 libxcb-cursor0 libxcb-icccm4 libxcb-image0 \
	libxcb-keysyms1 libxcb-render-util0 libxcb-shape0 libdbus-1-3 libfontconfig1 libxrender1 libglib2.0-bin
# Draws where EGL cannot. New releases no longer have it, and then EGL has to do.
SPARE := libosmesa6
DEMO := assets/objects/plush_bear.glb
# What `make run` renders where there is no display.
DEMO_COMMAND := simulate $(DEMO) --pull "0.4,0.9,0;1,0,0.5;25;0.3;1.3" -o out/demo.mp4

# Installs system packages as root; tells everyone else the one command to run.
define install
if [ "$$(id -u)" = 0 ]; then apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(1); \
else echo "System packages are missing. Run: sudo apt-get install -y $(1)"; exit 1; fi
endef

.PHONY: run test check bench setup gallery format clean

run: .venv/installed .venv/system
	@if [ -n "$$DISPLAY$$WAYLAND_DISPLAY" ] || [ "$$(uname)" = Darwin ]; then \
		$(BIN)/python main.py; \
	else \
		mkdir -p out && $(BIN)/python main.py $(DEMO_COMMAND) && \
			echo "No display here: the demo clip is at $$(pwd)/out/demo.mp4"; \
	fi

test: .venv/developer .venv/system
	$(BIN)/python -m pytest -m "not slow"

check: .venv/developer .venv/system
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -m "not slow"

bench: .venv/developer .venv/system
	$(BIN)/python -m benchmarks $(ONLY)

setup: .venv/everything .venv/system

gallery: .venv/developer
	$(BIN)/python assets/build_gallery.py

format: .venv/developer
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv out build dist

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' || \
		{ echo "Python 3.11, 3.12 or 3.13 is needed: make run PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { $(call install,python3-venv); }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip

.venv/installed: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet -e .
	@touch $@

.venv/developer: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	@touch $@ .venv/installed

.venv/everything: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet -e '.[dev,data,train,usd]'
	@touch $@ .venv/installed .venv/developer

# The X server of the tests and what Qt and VTK load from the system; nothing to do but on Debian's family.
.venv/system: | .venv/bin/python
	@if command -v apt-get >/dev/null && ! dpkg -s $(PACKAGES) >/dev/null 2>&1; then $(call install,$(PACKAGES)); \
		if [ "$$(id -u)" = 0 ]; then apt-get install -y -qq $(SPARE) || true; fi; fi
	@touch $@
