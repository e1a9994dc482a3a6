"""Compiles the kernels ahead: when the package is built, and when a checkout is set up.

Every kernel is compiled for every signature that `ivm/kernels/signatures.txt` lists, for baselines of the processor, by
processes whose environment tells numba which; what was compiled before and has not changed is kept. The parent imports
nothing but the standard library, so that there is next to nothing to wait for when there is nothing to do.

A line of the list is a kernel and the types of its arguments, in numba's notation (`int64[:, ::1]` is an array of two
dimensions, its rows one after the other; `const` is one that may not be written to). The tests fail where the engine
calls a kernel with types that are not there; `make kernels` adds them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from ivm.kernels.compiling.archive import Entry, key, open_archive, path_for, write_archive
from ivm.kernels.compiling.sources import FOLDER, shared, size
from ivm.kernels.compiling.targets import Target

Kernel = tuple[str, str]
"""A kernel, and the types of its arguments."""

LIST = FOLDER / "signatures.txt"
_MOST_PROCESSES = 6  # each takes some 550 MB
_ALIKE = 0.8

# How a process that compiles begins. The package is given a name and a place, and its own imports are left out: they
# need not be installed yet. The pool does not end its processes where it is killed itself.
_BEGIN = """
import multiprocessing, os, sys, threading, types
def end_with_parent(parent=multiprocessing.parent_process()):
    parent.join()
    os._exit(1)
threading.Thread(target=end_with_parent, daemon=True).start()
for name in [name for name in os.environ if name.startswith("NUMBA_")]:
    del os.environ[name]
os.environ |= {{"NUMBA_CPU_NAME": {cpu!r}, "NUMBA_CPU_FEATURES": ""}}
package = sys.modules["ivm"] = types.ModuleType("ivm")
package.__path__ = [{package!r}]
"""


def read_signatures(path: Path = LIST) -> list[tuple[str, str]]:
    """(kernel, types of its arguments) of each line; a kernel is `folder.module.function`."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        kernel, _, rest = line.partition("(")
        found.append((kernel, rest.removesuffix(")")))
    return found


def write_signatures(signatures: Iterable[tuple[str, str]], path: Path = LIST) -> None:
    """Write the lines in order, each once."""
    lines = sorted({f"{kernel}({types})\n" for kernel, types in signatures})
    path.write_text("".join(lines), encoding="utf-8")


def build(target: Target, into: Path, tell: Callable[[str], None], processes: int = 0) -> tuple[int, list[str]]:
    """Bring the archive of a baseline up to date, in `into`, the folder of the kernels or a copy of it.

    Args:
        target: the baseline.
        into: where the folder `machine` is, or will be.
        tell: told how far it is, of each kernel after those of its module: of how many it is which, how much of the
            work is done, and its name.
        processes: how many compile at the same time; by default as many as there are processors, at most 6.

    Returns:
        How many kernels were compiled, and a line for each that could not be.

    Raises:
        OSError: the archive cannot be written.
    """
    path = path_for(target, into)
    wanted = {kernel: key(*kernel, target) for kernel in read_signatures()}
    kept = _kept(path, into, wanted)
    missing = [kernel for kernel in wanted if kernel not in kept]
    if not missing:
        return 0, []
    compiled, wrong = _compiled(missing, target, tell, processes or min(os.cpu_count() or 1, _MOST_PROCESSES))
    write_archive(path, {wanted[kernel]: entry for kernel, entry in (kept | compiled).items()})
    return len(compiled), wrong


def _kept(path: Path, code: Path, wanted: Mapping[Kernel, str]) -> dict[Kernel, Entry]:
    """What is there and still right."""
    archive = open_archive(path, code)
    if archive is None:
        return {}
    found = {kernel: archive.entry(name) for kernel, name in wanted.items()}
    return {kernel: entry for kernel, entry in found.items() if entry is not None}


def _compiled(
    kernels: Sequence[Kernel], target: Target, tell: Callable[[str], None], processes: int
) -> tuple[dict[Kernel, Entry], list[str]]:
    done: dict[Kernel, Entry] = {}
    wrong: list[str] = []
    begin = _BEGIN.format(cpu=target.cpu, package=str(FOLDER.parent))
    tasks = _tasks(kernels)
    with ProcessPoolExecutor(min(processes, len(tasks)), get_context("spawn"), exec, (begin,)) as pool:
        sizes = {pool.submit(compile_all, task): sum(size(_module(each)) for each in task) for task in tasks}
        whole, so_far = sum(sizes.values()), 0
        for answers in as_completed(sizes):
            so_far += sizes[answers]
            try:
                for kernel, answer in answers.result():
                    if isinstance(answer, Entry):
                        done[kernel] = answer
                    else:
                        wrong.append(answer)
                    tell(f"{len(done) + len(wrong)}/{len(kernels)} {so_far / whole:.0%} {kernel[0]}")
            except BrokenExecutor as error:  # what it was at is missing, and what was to come
                wrong.append(f"a process that compiles has ended: {error}")
                break
    return done, wrong


def _tasks(kernels: Sequence[Kernel]) -> list[list[Kernel]]:
    """Kernels that one process compiles, since they are made of the same parts, which it compiles once; large ones
    first. They are those of modules of about one size, which share most of their text.
    """
    tasks: dict[str, list[Kernel]] = {}
    for kernel in sorted(kernels, key=lambda each: size(_module(each)), reverse=True):
        module = _module(kernel)
        alike = (first for first in tasks if shared(module, first) >= _ALIKE * size(first))
        tasks.setdefault(next(alike, module), []).append(kernel)
    return list(tasks.values())


def _module(kernel: Kernel) -> str:
    return kernel[0].rpartition(".")[0]


def compile_all(kernels: Sequence[Kernel]) -> list[tuple[Kernel, Entry | str]]:
    """What a process that compiles answers: for each kernel an entry, or what was wrong."""
    from ivm.kernels.compiling.workbench import compiled_entry  # noqa: PLC0415  the parent may have no numba

    return [(kernel, compiled_entry(*kernel)) for kernel in kernels]
