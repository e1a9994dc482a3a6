#!/bin/sh
# Makes the checkout ready to run: finds a Python, and hands over to prepare.py for the rest.
# Does nothing, in a few milliseconds, when all of it is there. PYTHON=... names an interpreter to prefer.
set -eu
cd "$(dirname "$0")/.."

fits='import sys; assert sys.version_info >= (3, 11)'

if .venv/bin/python -c "$fits" >/dev/null 2>&1 && .venv/bin/python -m pip --version >/dev/null 2>&1; then
    exec .venv/bin/python -m setup.prepare "$@"
fi
echo "set-up: looking for Python 3.11 or later"
# The first that can make an environment with pip in it; else the first that could if it had the package for that.
for check in "$fits; import ensurepip, venv" "$fits"; do
    for python in ${PYTHON:-} python3 python3.13 python3.12 python3.11; do
        if "$python" -c "$check" >/dev/null 2>&1; then
            exec "$python" -m setup.prepare --environment "$@"
        fi
    done
done
echo "set-up: none found; install one (Debian, Ubuntu: apt-get install python3 python3-venv) and try again" >&2
exit 1
