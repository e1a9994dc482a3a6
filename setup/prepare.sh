#!/bin/sh
# Makes the checkout ready to run: finds a Python, makes .venv, and hands over to prepare.py for the rest.
# Does nothing, in a few milliseconds, when all of it is there. PYTHON=... names an interpreter to prefer.
set -eu
cd "$(dirname "$0")/.."

fits='import sys; sys.exit(not sys.version_info >= (3, 11))'
has_pip='import ensurepip, venv'

fail() {
    echo "set-up: $1" >&2
    exit 1
}

# Prints the first interpreter that is new enough and can make an environment with pip in it.
find_python() {
    for python in ${PYTHON:-} python3 python3.13 python3.12 python3.11; do
        if "$python" -c "$fits; $has_pip" >/dev/null 2>&1; then
            echo "$python"
            return
        fi
    done
}

# Debian keeps venv's ensurepip in a package of its own; true if that was missing and could be installed.
install_venv() {
    python3 -c "$fits" >/dev/null 2>&1 || return 1
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || return 1
    echo "set-up: installing python3-venv with apt-get"
    apt-get update -qq >/dev/null 2>&1 || true
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv >/dev/null 2>&1
}

if ! .venv/bin/python -c "$fits" >/dev/null 2>&1 || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    python=$(find_python)
    if [ -z "$python" ] && install_venv; then
        python=$(find_python)
    fi
    if [ -z "$python" ]; then
        for old in python3 python3.13 python3.12 python3.11; do
            if "$old" -c "$fits" >/dev/null 2>&1; then
                fail "$old has no venv with pip; install it (Debian, Ubuntu: apt-get install python3-venv) and try again"
            fi
        done
        fail "no Python 3.11 or later found; install one (Debian, Ubuntu: apt-get install python3 python3-venv) and try again"
    fi
    echo "set-up: making .venv with $("$python" --version)"
    "$python" -m venv --clear .venv
fi
exec .venv/bin/python -m setup.prepare "$@"
