"""Compiles the kernels ahead: when the package is built, and when a checkout is set up.

Every kernel is compiled for every signature that `ivm/kernels/signatures.txt` lists, for baselines of the processor, by
processes whose environment tells numba which; what was compiled before and has not changed is kept. The parent imports
nothing but the standard library, so that there is next to nothing to wait for when there is nothing to do.
"""

from __future__ import annotations

import json
import os
import pickle
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from ivm.kernels.compiling.archive import Entry, key, open_archive, path_for, write_archive
from ivm.kernels.compiling.signatures import read_signatures
from ivm.kernels.compiling.sources import FOLDER, size
from ivm.kernels.compiling.targets import Target

Kernel = tuple[str, str]
"""A kernel, and the types of its arguments."""

_MOST_PROCESSES = 6  # each takes some 550 MB

# The package is given a name and a place, and its own imports are left out: they need not be installed yet.
_MAIN = """
import sys, types
package = sys.modules["ivm"] = types.ModuleType("ivm")
package.__path__ = [sys.argv[1]]
from ivm.kernels.compiling.workbench import serve
serve()
"""


def build(target: Target, into: Path, tell: Callable[[str], None], processes: int = 0) -> tuple[int, list[str]]:
    """Bring the archive of a baseline up to date, in `into`, the folder of the kernels or a copy of it.

    Args:
        target: the baseline.
        into: where the folder `machine` is, or will be.
        tell: told how far it is after each kernel, from any thread.
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
    """Compile kernels, those of a module in one process, since they call the same ones."""
    modules: dict[str, list[Kernel]] = {}
    for kernel in kernels:
        modules.setdefault(kernel[0].rpartition(".")[0], []).append(kernel)
    shift = _Shift(target, len(kernels), tell)
    for module in sorted(modules, key=size, reverse=True):
        shift.modules.put(modules[module])
    threads = [threading.Thread(target=shift.work) for _ in range(min(processes, len(modules)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not shift.done and not shift.wrong:
        shift.wrong.append("no process could be started to compile in")
    return shift.done, shift.wrong


class _Shift:
    """The work of some threads, each of which drives a process that compiles."""

    def __init__(self, target: Target, count: int, tell: Callable[[str], None]) -> None:
        self.modules: queue.SimpleQueue[list[Kernel]] = queue.SimpleQueue()
        self.done: dict[Kernel, Entry] = {}
        self.wrong: list[str] = []
        self._target = target
        self._count = count
        self._tell = tell

    def work(self) -> None:
        """Take modules until there are no more, or the process ends."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
        environment |= {"NUMBA_CPU_NAME": self._target.cpu, "NUMBA_CPU_FEATURES": ""}
        command = [sys.executable, "-c", _MAIN, str(FOLDER.parent)]
        pipe = subprocess.PIPE
        with (
            tempfile.TemporaryFile() as errors,
            subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=errors, env=environment) as process,
        ):
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                while True:
                    for kernel in self.modules.get_nowait():
                        self._compile(kernel, process.stdin, process.stdout)
            except queue.Empty:
                process.stdin.close()
            except (OSError, ValueError):  # it has ended, and what it was at is missing
                process.wait()
                errors.seek(0)
                said = errors.read().decode(errors="replace").splitlines() or ["it said nothing"]
                self.wrong.append(f"the compiler's process ended with {process.returncode}: {said[-1]}")

    def _compile(self, kernel: Kernel, orders: IO[bytes], answers: IO[bytes]) -> None:
        orders.write(json.dumps(kernel).encode() + b"\n")
        orders.flush()
        answer = pickle.loads(answers.read(int(answers.readline())))
        if isinstance(answer, Entry):
            self.done[kernel] = answer
        else:
            self.wrong.append(answer)
        self._tell(f"{len(self.done) + len(self.wrong)}/{self._count} {kernel[0]}")
