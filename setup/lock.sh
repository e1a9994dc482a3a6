#!/bin/sh
# Rewrites requirements.lock and setup/build.lock from pyproject.toml: every package pinned, every file's hash,
# no index address. Pins already in the files stay unless LOCK_ARGS=--upgrade is given.
set -eu
cd "$(dirname "$0")/.."
venv=$(mktemp -d)
trap 'rm -rf "$venv"' EXIT
.venv/bin/python -m venv "$venv"
"$venv/bin/pip" install --quiet 'pip-tools==7.6.2'
compile() {
    CUSTOM_COMPILE_COMMAND='make lock' "$venv/bin/pip-compile" --quiet --generate-hashes --allow-unsafe --strip-extras \
        --no-annotate --no-emit-index-url --no-emit-trusted-host --no-emit-find-links ${LOCK_ARGS:-} "$@"
}
# What packages that come as source, and this one, are built with: it must be there first.
compile --only-build-deps --all-build-deps --output-file setup/build.lock pyproject.toml
compile --extra tpch --extra serve --extra delta --extra notebook --extra docs --extra dev --output-file requirements.lock pyproject.toml
echo "wrote requirements.lock ($(grep -c '==' requirements.lock) packages) and setup/build.lock"
