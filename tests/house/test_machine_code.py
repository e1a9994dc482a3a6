"""Kernels that were compiled ahead are preferred, and used only where they fit; all else is compiled as it is met."""

from __future__ import annotations

import inspect
import os
import platform
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import llvmlite.binding as llvm
import pytest

from ivm.kernels.compiling import archive, compiled, sources
from ivm.kernels.compiling.archive import Entry, key, open_archive, path_for, write_archive
from ivm.kernels.compiling.building import read_signatures, write_signatures
from ivm.kernels.compiling.calling import dispatcher_of
from ivm.kernels.compiling.notation import as_text, as_types
from ivm.kernels.compiling.sources import FOLDER
from ivm.kernels.compiling.targets import Target, host_target, targets
from tests.house.modules import ROOT

ENTRIES = {"a": Entry(b"about", b"code", b"bitcode", b""), "b": Entry(b"x" * 1000, b"", bytes(range(256)), b"y")}
SMALL = [
    ("hashing.index.mark_hashes", "uint64[::1], bool[::1], uint64[::1]"),
    ("memory.in_place.decimals_fit", "const int64[:, ::1], int64"),
]

# Calls a kernel that was compiled ahead and one that was not, and compiles a caller of the first; prints which of the
# two were found.
CALLS = """
import sys, types
package = sys.modules["ivm"] = types.ModuleType("ivm")
package.__path__ = [sys.argv[1]]
import numba, numpy as np
from ivm.kernels.hashing.index import hash_rows, mark_hashes
hashes, none, seen = np.array([7 << 32, 8 << 32], np.uint64), np.empty(0, np.bool_), np.zeros(1, np.uint64)
mark_hashes(hashes, none, seen)
assert seen[0] == 3 << 7
hash_rows(np.zeros((2, 1), np.int64), hashes)
kernels = [kernel.__self__.dispatcher for kernel in (mark_hashes, hash_rows)]
print([sum(kernel.stats.cache_hits.values()) for kernel in kernels])
assert numba.njit(lambda hashes, none, seen: mark_hashes(hashes, none, seen))(hashes[:0], none, seen) is None
"""


@pytest.fixture(scope="module")
def target() -> Target:
    found = host_target()
    if found is None:
        pytest.skip("kernels are always compiled for this kind of processor itself")
    return found


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory, target: Target) -> Path:
    """The kernels in a folder of their own, of which two were compiled ahead."""
    package = tmp_path_factory.mktemp("package") / "ivm"
    (package / "kernels").mkdir(parents=True)
    for path in FOLDER.rglob("*.py"):
        copy = package / "kernels" / path.relative_to(FOLDER)
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes(path.read_bytes())
    write_signatures(SMALL, package / "kernels" / "signatures.txt")
    assert [line.split()[:2] for line in run("setup/kernels.py", package)] == [
        [target.name, "1/2"],
        [target.name, "2/2"],
    ]
    return package


def run(program: str, package: Path, **environment: str) -> list[str]:
    """The lines that a program prints which is given the package's folder."""
    command = [sys.executable, *([str(ROOT / program)] if program.endswith(".py") else ["-c", program]), str(package)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    cache = {"IVM_CACHE_DIR": str(package / "cache")}
    done = subprocess.run(command, env=kept | cache | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_what_came_with_the_code_is_preferred_and_can_be_called_from_what_is_compiled_later(package, target):
    assert run(CALLS, package) == ["[1, 0]"]
    assert run(CALLS, package) == ["[1, 1]"]  # what was not there was kept
    path = path_for(target, package / "kernels")
    whole = path.read_bytes()
    behind = archive._HEADER + int(whole[: archive._HEADER].split(b"\t")[1])
    path.write_bytes(whole[:behind] + bytes(len(whole) - behind))  # all entries, none of the index
    try:
        assert run(CALLS, package) in (["[0, 1]"], ["[1, 1]"])
        path.write_bytes(whole[:200])
        assert run(CALLS, package) in (["[0, 1]"], ["[1, 1]"])
    finally:
        path.write_bytes(whole)
    assert run(CALLS, package, NUMBA_ENABLE_AVX="0") == ["[0, 0]"]


def test_only_what_has_changed_is_compiled_again(package, target):
    assert run("setup/kernels.py", package) == []
    with (package / "kernels" / "memory" / "in_place.py").open("a") as file:
        file.write("# another text\n")
    assert run("setup/kernels.py", package) == [f"{target.name} 1/1 100% memory.in_place.decimals_fit"]
    assert run("setup/kernels.py", package) == []


def test_what_cannot_be_compiled_is_named_and_the_rest_is_there(package, target):
    bad = [*SMALL, ("hashing.index.gone", "int64"), ("hashing.index.mark_hashes", "int64")]
    write_signatures(bad, package / "kernels" / "signatures.txt")
    command = [sys.executable, str(ROOT / "setup" / "kernels.py"), str(package)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == [f"{k}({types})" for k, types in bad[2:]]
    found = open_archive(path_for(target, package / "kernels"), package / "kernels")
    assert found is not None
    assert len(found._index) == 2


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks the system for a process's children")
def test_no_process_goes_on_compiling_for_one_that_was_killed(package, target):
    missing = ("hashing.index.hash_rows", "int64[:, ::1], uint64[::1]")
    write_signatures([*SMALL, missing], package / "kernels" / "signatures.txt")
    command = [sys.executable, str(ROOT / "setup" / "kernels.py"), str(package)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        deadline = monotonic() + 60
        while len(started := children.read_text().split()) < 2 and monotonic() < deadline:
            sleep(0.02)  # the first one is the standard library's, which only watches
        process.kill()
    assert len(started) == 2
    while any(map(_is_running, started)) and monotonic() < deadline:
        sleep(0.02)
    assert not any(map(_is_running, started))


def _is_running(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_an_archive_holds_what_was_written_or_nothing(tmp_path):
    path = tmp_path / "machine" / "x.kernels"
    assert open_archive(path, tmp_path) is None
    write_archive(path, ENTRIES)
    whole = path.read_bytes()
    found = open_archive(path, tmp_path)
    assert found is not None
    assert {name: found.entry(name) for name in ENTRIES} == ENTRIES
    assert found.entry("c") is None
    for at in range(len(whole)):
        for damaged in (whole[:at], whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]):
            path.write_bytes(damaged)
            found = open_archive(path, tmp_path)
            if found is not None:
                assert all(found.entry(name) in (None, ENTRIES[name]) for name in ENTRIES)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have owners")
def test_an_archive_that_another_may_have_made_is_not_read(tmp_path, monkeypatch):
    path = tmp_path / "machine" / "x.kernels"
    write_archive(path, ENTRIES)
    for spoilt, mode in ((path, 0o666), (path.parent, 0o777)):
        kept = spoilt.stat().st_mode
        spoilt.chmod(mode)
        assert open_archive(path, tmp_path) is None
        spoilt.chmod(kept)
    assert open_archive(path, tmp_path) is not None
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert open_archive(path, tmp_path) is None


def test_a_key_is_of_one_kernel_signature_version_and_baseline(target, monkeypatch):
    plain = key("memory.in_place.decimals_fit", "int64", target)
    other = Target("other", target.cpu, target.features)
    keys = {
        plain,
        key("memory.in_place.all_within", "int64", target),
        key("memory.in_place.decimals_fit", "int32", target),
    }
    keys.add(key("memory.in_place.decimals_fit", "int64", other))
    monkeypatch.setattr(archive, "environment", lambda: "numba 99")
    keys.add(key("memory.in_place.decimals_fit", "int64", target))
    monkeypatch.undo()
    monkeypatch.setattr(archive, "digest", lambda module: "another text")
    keys.add(key("memory.in_place.decimals_fit", "int64", target))
    assert len(keys) == 6
    for part in ("numba ", "llvmlite ", "numpy ", f"cpython 3.{sys.version_info.minor}"):
        assert part in sources.environment()


def test_a_processor_gets_the_best_baseline_that_it_fits(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    third, second = targets()
    for lacking, expected in ((set(), third), ({"avx2"}, second), ({"fma"}, second), ({"avx2", "popcnt"}, None)):
        host = dict.fromkeys(third.features - lacking, True) | dict.fromkeys(lacking, False)
        monkeypatch.setattr(llvm, "get_host_cpu_features", lambda host=host: host)
        assert host_target() == expected
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert host_target() is None


def test_without_a_baseline_nothing_is_found(monkeypatch):
    monkeypatch.setattr(compiled, "host_target", lambda: None)
    compiled._shelf.cache_clear()
    try:
        assert compiled.find_shipped("memory.in_place.decimals_fit", as_types(SMALL[1][1]), None) is None
    finally:
        compiled._shelf.cache_clear()


def test_the_list_names_kernels_and_types():
    listed = read_signatures()
    assert len(listed) > 90
    for kernel, text in listed:
        module, _, function = kernel.rpartition(".")
        found: Any = getattr(import_module(f"ivm.kernels.{module}"), function)
        types = as_types(text)
        assert as_text(types) == text
        assert len(types) == len(inspect.signature(dispatcher_of(found).py_func).parameters), kernel


def test_where_kernels_were_compiled_ahead_none_is_missing(target):
    found = open_archive(path_for(target), FOLDER)
    there = {
        kernel: found is not None and found.entry(key(*kernel, target)) is not None for kernel in read_signatures()
    }
    current = {kernel.rpartition(".")[0] for (kernel, _), is_there in there.items() if is_there}
    assert not [
        kernel for kernel, is_there in there.items() if not is_there and kernel[0].rpartition(".")[0] in current
    ]


# Calls kernels, with no memory left to load the first of them for some calls.
LIMITED = """
import resource
import numpy as np
import numba.core.codegen
from ivm.kernels.compiling import compiled
from ivm.kernels.hashing.index import mark_hashes
linked, said = compiled.linked, []

def tight(*given):
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 50_000, -1))
    try:
        return linked(*given)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (-1, -1))

compiled.linked = tight
call = lambda: mark_hashes(np.zeros(1, np.uint64), np.empty(0, np.bool_), np.zeros(1, np.uint64))
for _ in range(3):
    try:
        call()
    except MemoryError as error:
        said.append(str(error))
compiled.linked = linked
call()
print(len(said), *set(said))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
def test_where_no_memory_is_left_to_load_a_kernel_the_process_goes_on(target: Target) -> None:
    command = [sys.executable, "-c", LIMITED]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("3 cannot load machine code: this process may not have 4 MiB more"), done.stdout
    assert "raise its limit (ulimit -v)" in done.stdout
